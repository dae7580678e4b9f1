"""Generate a few requests with the features of JSON Schema that clients send, many in one schema.

A server that refuses a feature, fails at it or ignores it does so in a schema with others as well. Then, and only then,
each of them is sent alone, which shows which one it is. Schemas whose root is not a plain object are sent alone anyway.
The features are data in `schema_features.yaml`. Every second request asks for a stream.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, Final

import yaml

from conformance.plan.scenarios.combinations.allowed_bodies import find_allowed_bodies
from conformance.scenario import Scenario, Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from openapi.contract.contract import Contract

    Json = dict[str, Any]

SCHEMAS: Final = "schemas"
"""Begins the id of each of the scenarios."""
SUMMARY: Final = "schemas as clients generate them"
ASKED: Final = "Give me a JSON object with name Anna and age 30"
STORED: Final = "Store the note."
FUNCTION: Final = "store_note"
ROOM: Final = 20
"""Tokens that an answer may take besides those of its text, such as a little reasoning or the head of a call."""
SHARE: Final = 0.5
"""Tokens for each character of an answer, of which digits count twice: names and brackets take more than prose."""


@dataclass(frozen=True, slots=True)
class Feature:
    """One feature: a schema, what it needs at the root, an answer that fits and one that ignores the feature.

    key: the name of the property that has the schema.
    """

    name: str
    key: str
    schema: Json
    right: Any
    wrong: Any = None
    root: Json = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Pack:
    """Features that are sent together. called: also as parameters of a function."""

    name: str
    features: tuple[Feature, ...]
    strict: bool = False
    called: bool = False


@cache
def read_features() -> tuple[tuple[Pack, ...], tuple[Feature, ...]]:
    """Return the packs, and the features that are roots."""
    text = files(__package__).joinpath("schema_features.yaml").read_text(encoding="utf-8")
    data = yaml.load(text, Loader=yaml.CSafeLoader)
    packs = tuple(
        Pack(row["name"], tuple(map(_feature, row["features"])), row.get("strict", False), row.get("called", False))
        for row in data["packs"]
    )
    return packs, tuple(map(_feature, data["roots"]))


def generate(contract: Contract) -> tuple[Scenario, ...]:
    """Return the scenarios that the contract allows: forms with structured output, and forced calls with tools."""
    allowed = find_allowed_bodies(contract)
    known = {name for name, item in contract.parameters.items() if not item.lacking}
    packs, roots = read_features()
    forms = [*_packed(packs, _form, ""), *_alone(roots)]
    calls = [*_packed((pack for pack in packs if pack.called), _call, "called-")]
    kinds = {"structured_output": forms, "tools": calls}
    return tuple(
        scenario
        for capability, scenarios in kinds.items()
        for scenario in scenarios
        if capability in contract.capabilities
        for body in [dict(scenario.steps[0].body or {})]
        if body.keys() <= known and allowed.allows(body)
    )


def schema_of(features: Iterable[Feature]) -> Json:
    """Return the schema of an object with a property for each of the features."""
    features = list(features)
    schema: Json = {
        "type": "object",
        "properties": {item.key: item.schema for item in features},
        "required": [item.key for item in features],
        "additionalProperties": False,
    }
    for item in features:
        for key, value in item.root.items():
            schema[key] = {**schema.get(key, {}), **value} if isinstance(value, dict) else value
    return schema


def _feature(row: Mapping[str, Any]) -> Feature:
    schema = dict(row["schema"])
    if "values" in row:
        schema["enum"] = [f"value-{number}" for number in range(row["values"])]
    if "fields" in row:
        schema["properties"] = {f"p{number}": {"const": number} for number in range(row["fields"])}
    return Feature(
        row["name"], row.get("property", row["name"]), schema, row["right"], row.get("wrong"), row.get("root", {})
    )


def _packed(packs: Iterable[Pack], write: Callable[..., Json], prefix: str) -> Iterator[Scenario]:
    """Yield a request for each pack, and one for each of its features that is sent only if that one shows nothing."""
    for number, pack in enumerate(packs):
        shared = f"{prefix}{pack.name}"
        fields = {"stream": True} if number % 2 else {}
        yield _scenario(shared, "", {**write(_join(pack.features), strict=pack.strict), **fields})
        for place, item in enumerate(pack.features, 1):
            body = {**write(_join([item]), strict=pack.strict), **fields}
            yield _scenario(f"{shared}-{place}", item.name, body, unless_answered=f"{SCHEMAS}-{shared}")


def _alone(roots: Iterable[Feature]) -> Iterator[Scenario]:
    for number, item in enumerate(roots):
        fields = {"stream": True} if number % 2 else {}
        yield _scenario(f"root-{item.name}", item.name, {**_form(item), **fields})


def _join(features: Iterable[Feature]) -> Feature:
    """Return an object with a property for each feature as one feature."""
    features = list(features)
    return Feature(FUNCTION, FUNCTION, schema_of(features), {item.key: item.right for item in features})


def _scenario(name: str, feature: str, body: Json, unless_answered: str = "") -> Scenario:
    summary = f"{SUMMARY}: {feature}" if feature else SUMMARY
    step = Step(body=body, expect="either")
    return Scenario(f"{SCHEMAS}-{name}", summary, (step,), unless_answered=unless_answered)


def _form(feature: Feature, *, strict: bool = False) -> Json:
    """Return a request for JSON that fits the schema of a feature."""
    named = {"name": "entry", "schema": feature.schema, **({"strict": True} if strict else {})}
    return {**_question(feature), "response_format": {"type": "json_schema", "json_schema": named}}


def _call(feature: Feature, **_: bool) -> Json:
    """Return a request for a call whose arguments fit the schema of a feature. Only with strict do they have to."""
    function = {"name": FUNCTION, "description": "Store a note.", "strict": True, "parameters": feature.schema}
    return {
        **_question(feature, STORED),
        "tools": [{"type": "function", "function": function}],
        "tool_choice": {"type": "function", "function": {"name": FUNCTION}},
    }


def _question(feature: Feature, text: str = ASKED) -> Json:
    right = json.dumps(feature.right, ensure_ascii=False)
    limit = ROOM + round(SHARE * (len(right) + sum(map(str.isdigit, right))))
    return {"messages": [{"role": "user", "content": text}], "max_tokens": limit, "temperature": 0}
