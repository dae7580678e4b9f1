"""Features of schemas are sent together, and each of them is told from its absence."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from conformance.plan.scenarios.combinations import schema_features
from openapi.contract.contract import load

if TYPE_CHECKING:
    from conformance.plan.scenarios.combinations.schema_features import Feature, Pack

PACKS, ROOTS = schema_features.read_features()
PACKED = [(pack, item) for pack in PACKS for item in pack.features]
MOST_TOKENS = 228


def _schema(body: dict[str, Any]) -> Any:
    form = body.get("response_format")
    return form["json_schema"]["schema"] if form else body["tools"][0]["function"]["parameters"]


@pytest.mark.parametrize(("pack", "item"), PACKED, ids=lambda value: value.name)
def test_a_feature_tells_the_right_answer_from_one_that_ignores_it(pack: Pack, item: Feature) -> None:
    for features in ([item], pack.features):
        others = {other.key: other.right for other in features}
        validator = jsonschema_rs.validator_for(schema_features.schema_of(features))
        assert [True, False] == [validator.is_valid({**others, item.key: value}) for value in (item.right, item.wrong)]


def test_the_names_of_keywords_are_properties_of_forms_and_calls() -> None:
    called = {item.key for pack in PACKS if pack.called for item in pack.features}
    keywords = {"title", "type", "description", "default", "properties", "required", "enum", "items", "format", "const"}
    assert keywords == called & keywords


@pytest.mark.parametrize("item", [root for root in ROOTS if root.schema], ids=lambda item: item.name)
def test_a_root_tells_the_right_answer_from_one_that_ignores_it(item: Feature) -> None:
    validator = jsonschema_rs.validator_for(item.schema)
    assert [True, False] == [validator.is_valid(value) for value in (item.right, item.wrong)]


@pytest.mark.parametrize("dialect", ["vllm", "openai", "mindie-2.3"])
def test_each_feature_of_a_request_is_sent_alone_unless_that_one_is_answered(dialect: str) -> None:
    scenarios = {scenario.id: scenario for scenario in schema_features.generate(load(dialect))}
    alone: dict[str, list[str]] = {}
    for scenario in scenarios.values():
        if scenario.unless_answered:
            (name,) = _schema(dict(scenario.steps[0].body or {}))["properties"]
            alone.setdefault(scenario.unless_answered, []).append(name)
    assert alone
    for identity, names in alone.items():
        assert list(_schema(dict(scenarios[identity].steps[0].body or {}))["properties"]) == names


def test_few_requests_with_few_tokens_send_everything() -> None:
    sent = [item.steps[0].tokens for item in schema_features.generate(load("vllm")) if not item.unless_answered]
    assert max(sent) <= MOST_TOKENS
    assert len(sent) <= 16


def test_a_strict_schema_has_closed_objects_with_required_properties_only() -> None:
    def parts(value: Any) -> list[Any]:
        items = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        return [value, *(part for item in items for part in parts(item))]

    for pack in PACKS:
        objects = [part for part in parts(schema_features.schema_of(pack.features)) if isinstance(part, dict)]
        closed = all(
            part.get("additionalProperties") is False
            and set(part.get("required", ())) == set(part.get("properties", ()))
            for part in objects
            if part.get("type") == "object"
        )
        assert closed or not pack.strict, pack.name


@pytest.mark.parametrize(("dialect", "expected"), [("ovms-2024", 0), ("mindie-2.3", 1)])
def test_nothing_is_sent_that_a_contract_does_not_have(dialect: str, expected: int) -> None:
    sent = [item for item in schema_features.generate(load(dialect)) if not item.unless_answered]
    assert expected == len(sent)
    assert not [item for item in sent if "response_format" in (item.steps[0].body or {})]
