"""Which values of inherited parameters must be accepted or refused, if a dialect states keywords at some paths only."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any, Final

import jsonschema_rs
import pytest
import yaml

from conformance.plan.scenarios import boundaries
from conformance.plan.scenarios.schemathesis_cases import Draw, draw
from openapi.contract.contract import Keyword, load
from openapi.schema.json_schema import REFERENCE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from conformance.scenario import Subject
    from openapi.contract.contract import Contract

SEEDS: Final = range(16)
DRAWN: Final = 200
BESIDE_VALUES: Final = ("required", "null", "left-out", "-kept")
BOUNDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "minItems", "maxItems", "enum")
CONTAINERS: Final = ("properties", "items", "anyOf", "oneOf", "allOf", "$ref")
NOTES: Final = ("description", "discriminator", "default", "format")
Limit = tuple[str, str, str, Any]
"""The path of a field, the place of a keyword in the tree, the keyword, and its value there."""


def list_limits(contract: Contract) -> list[Limit]:
    """Return each keyword of each schema below each parameter, with its place and the path of its values."""

    def walk(schema: dict[str, Any], path: str, place: str, within: tuple[str, ...]) -> Iterator[Limit]:
        name = schema.get("$ref", "").removeprefix(REFERENCE)
        if name and name not in within:
            yield from walk(contract.schemas[name], path, f"schemas/{name}", (*within, name))
        for key, value in schema.items():
            if key == "required":
                yield from ((path, f"{place}/required/{field}", key, [field]) for field in value)
            elif key not in (*CONTAINERS, *NOTES) and not key.startswith("x-") and not isinstance(value, dict):
                yield path, f"{place}/{key}", key, value
        for keyword in ("anyOf", "oneOf", "allOf"):
            for at, branch in enumerate(schema.get(keyword, ())):
                yield from walk(branch, path, f"{place}/{keyword}/{at}", within)
        for field, inner in schema.get("properties", {}).items():
            yield from walk(inner, f"{path}.{field}", f"{place}/properties/{field}", within)
        for keyword, step in (("items", "[]"), ("additionalProperties", ".*")):
            if isinstance(schema.get(keyword), dict):
                yield from walk(schema[keyword], f"{path}{step}", f"{place}/{keyword}", within)

    found = (
        limit
        for name, row in contract.parameters.items()
        for limit in walk(row.schema, name, f"parameters/{name}/schema", ())
    )
    return list({limit[:2]: limit for limit in found}.values())


def list_values(value: Any, path: str, name: str) -> list[Any]:
    """Return what a value of a parameter has at the path of a field."""
    values = [value]
    for step in re.findall(r"\[\]|[^.\[\]]+", path.removeprefix(name)):
        if step == "[]":
            values = [item for one in values if isinstance(one, list) for item in one]
        elif step == "*":
            values = [item for one in values if isinstance(one, dict) for item in one.values()]
        else:
            values = [one[step] for one in values if isinstance(one, dict) and step in one]
    return values


def is_violated(limit: Limit, value: Any, name: str) -> bool:
    """Return whether a value violates a keyword. A type, or a list of values, says nothing about null."""
    path, _, key, bound = limit
    values = [
        item for item in list_values(value, path, name) if item is not None or key not in ("type", "enum", "const")
    ]
    return not all(jsonschema_rs.is_valid({key: bound}, item) for item in values)


def is_touched(limit: Limit, value: Any, name: str) -> bool:
    """Return whether a keyword says something about a value, by the type of what is at its path."""
    kinds = {"Items": list, "Length": str, "pattern": str, "enum": str, "required": dict, "additionalProperties": dict}
    kind = next((kinds[word] for word in kinds if word in limit[2]), object)
    return any(isinstance(item, kind) for item in list_values(value, limit[0], name))


def write_dialect(stated: list[Limit], written: list[Limit], path: Path) -> Contract:
    """Return a dialect that extends openai: a sentence states some keywords, and a delta writes others again."""
    sentences = [
        {
            "id": f"stated-{number}",
            "says": f"{field}: {key}",
            "source": f"#request/{re.split(r'[.[]', field)[0]}",
            "keyword": "MUST",
            "home": {"schema": place},
        }
        for number, (field, place, key, _) in enumerate(stated)
    ]
    content = {"id": "own", "title": "Own", "document": "none", "extends": "openai", "sentences": sentences}
    path.write_text(yaml.safe_dump({**content, "replace": {place: bound for _, place, _, bound in written}}))
    return load(str(path))


def write_own(own: list[Limit], chance: random.Random, path: Path) -> Contract:
    """Return a dialect that states some keywords, a few of those that a delta can reach by a delta."""
    judged = {
        f"parameters/{name}/schema/{key}" for name, row in load("openai").parameters.items() for key in row.levels
    }
    reachable = [
        limit for limit in own if limit[2] != "required" and not re.search(r"/\d", limit[1]) and limit[1] not in judged
    ]
    written = {limit[1] for limit in reachable if chance.random() < 0.3}
    return write_dialect(
        [limit for limit in own if limit[1] not in written], [limit for limit in own if limit[1] in written], path
    )


def list_binding(contract: Contract, *, with_drawn: bool) -> list[Subject]:
    """Return what a plan demands of the values of parameters with MUST."""
    drawn = draw(contract, Draw(coverage=DRAWN)) if with_drawn else ()
    subjects = [scenario.subject for scenario in (*boundaries.generate(contract), *drawn)]
    return [
        subject
        for subject in subjects
        if subject is not None
        and subject.keyword is Keyword.MUST
        and not subject.requirement.endswith(BESIDE_VALUES)
        and subject.parameter in contract.parameters
    ]


def value_of(subject: Subject) -> Any:
    """Return the tested value: a drawn scenario has it in a whole request."""
    is_drawn = subject.requirement.startswith("drawn.")
    return subject.value.get(subject.parameter) if is_drawn and isinstance(subject.value, dict) else subject.value


@pytest.mark.takes_turns
@pytest.mark.parametrize("seed", SEEDS)
def test_a_value_binds_only_as_far_as_the_keywords_stated_at_its_paths_settle_it(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    limits = list_limits(load("openai"))
    share = chance.choice([0.02, 0.2, 0.6, 0.95])
    places = {place for place in dict.fromkeys(limit[1] for limit in limits) if chance.random() < share}
    own = [limit for limit in limits if limit[1] in places]
    contract = write_own(own, chance, tmp_path / "own.yaml")
    for subject in list_binding(contract, with_drawn=seed < 2):
        name, value = subject.parameter, value_of(subject)
        if value is None:
            continue  # whether null is accepted is not a fact of the schema
        if subject.expect == "reject":
            stated = [limit for limit in own if re.split(r"[.\[]", limit[0])[0] == name]
            assert [] != [limit for limit in stated if is_violated(limit, value, name)], subject
        elif name == "messages" and subject.requirement.startswith("drawn."):
            assert "messages" in {path for path, _, key, _ in own if key == "type"}, subject  # a plain conversation
        elif (keyword := subject.requirement.rpartition(".")[2].removesuffix("-inside")) in BOUNDS:
            assert (name, keyword) in {(path, key) for path, _, key, _ in own}, subject
        else:
            of_parameter = [limit for limit in limits if re.split(r"[.\[]", limit[0])[0] == name]
            touched = {(limit[0], limit[2]) for limit in of_parameter if is_touched(limit, value, name)}
            assert set() == touched - {(path, key) for path, _, key, _ in own}, subject


@pytest.mark.parametrize("seed", SEEDS)
def test_a_value_that_must_be_refused_still_binds_if_one_stated_keyword_refuses_it(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    base = load("openai")
    limits = list_limits(base)
    field, key = chance.choice(sorted({(limit[0], limit[2]) for limit in limits if "." in limit[0]}))
    own = [limit for limit in limits if (limit[0], limit[2]) == (field, key)]
    contract = write_own(own, chance, tmp_path / "own.yaml")
    name = re.split(r"[.\[]", field)[0]
    before, after = (
        {probe.name: probe for probe in one.parameters[name].probes if probe.expect == "reject"}
        for one in (base, contract)
    )
    settled = {
        probe.name
        for probe in before.values()
        if probe.keyword is Keyword.MUST and all(is_violated(limit, probe.value, name) for limit in own)
    }
    assert settled == {probe.name for probe in after.values() if probe.keyword is Keyword.MUST} & {*settled}
    assert set() == {p.name for p in after.values() if p.keyword is Keyword.MUST} - {
        p.name for p in before.values() if any(is_violated(limit, p.value, name) for limit in own)
    }


@pytest.mark.parametrize(
    ("places", "binding"),
    [
        (["schemas/UserMessage/properties/name/type"], {"name-number"}),
        (["schemas/ToolMessage/required/tool_call_id"], {"tool-without-call-id"}),
        (["schemas/ToolFunction/properties/name/maxLength"], {"name-of-65"}),
        (["parameters/tools/schema/items/oneOf/0/properties/function/properties/name/maxLength"], {"name-of-65"}),
    ],
)
def test_a_statement_about_one_field_binds_the_test_values_of_that_field_alone(
    places: list[str], binding: set[str], tmp_path: Path
) -> None:
    user = "messages" if "Message" in places[0] else "tools"
    contract = write_dialect([(user, place, "", None) for place in places], [], tmp_path / "own.yaml")
    probes = contract.parameters[user].probes
    assert binding == {probe.name for probe in probes if probe.keyword is Keyword.MUST}
