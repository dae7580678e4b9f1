"""Values for the nested parts of a schema: union branches, lengths, lists, enums, fields and magnitudes.

`boundaries.py` makes the values for limits at the top level of a schema, which are MUSTs. Documents rarely define the
nested values one by one, so a value that a server should refuse is at most a SHOULD, and a value that only shows how a
server handles it is a MAY. A server must survive all of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.plan.scenarios.foreign_words import UNKNOWN, choose_foreign
from openapi.contract.contract import Keyword

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi.contract.contract import Expect

HUGE_INTEGER = 2**64
HUGE_NUMBER = 1e308  # finite as a double, but beyond the range of a float32
LONGEST = 4096  # most characters of a string or items of a list; longer ones cost more than they show
KINDS: dict[str, Any] = {"string": UNKNOWN, "number": 1.5, "boolean": True, "array": [], "object": {}}

Value = tuple[str, "Expect", Any, Keyword]
"""The keyword of the schema, the expected reaction, the value, and how binding the expectation is."""


def values(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[Value]:
    """Yield the values to send for a schema. Some may be covered by probes of the contract, or violate other rules."""
    branches = [_resolved(branch, document) for branch in schema.get("anyOf", (schema,))]
    kinds = {kind for branch in branches for kind in _kinds(branch)}
    if "anyOf" in schema and kinds:
        yield from (
            ("type", "reject", value, Keyword.SHOULD)
            for kind, value in KINDS.items()
            if kind not in kinds and not (kind == "number" and "integer" in kinds)
        )
    enums = [value for branch in branches for value in branch.get("enum", ())]
    if enums:
        yield "enum", "reject", choose_foreign(enums), Keyword.SHOULD
        yield from (("enum", "reject", value.upper(), Keyword.MAY) for value in enums[:1] if isinstance(value, str))
    for branch in branches:
        yield from _of_branch(branch, document)


def _resolved(schema: Mapping[str, Any], document: Mapping[str, Any]) -> Mapping[str, Any]:
    if "$ref" in schema:
        resolved: Mapping[str, Any] = document["components"]["schemas"].get(schema["$ref"].rpartition("/")[2], {})
        return resolved
    return schema


def _kinds(branch: Mapping[str, Any]) -> set[str]:
    kind = branch.get("type")
    if kind is None and isinstance(branch.get("const"), str):
        return {"string"}
    return {kind} if isinstance(kind, str) else set(kind or ())


def _of_branch(branch: Mapping[str, Any], document: Mapping[str, Any]) -> Iterator[Value]:
    kind = branch.get("type")
    if kind == "string":
        yield from _lengths(branch, "Length", lambda size: "a" * size)
    elif kind == "array":
        item = _resolved(branch.get("items", {}), document)
        if item.get("type") == "string":
            yield from _lengths(branch, "Items", lambda size: [f"text {number}" for number in range(size)])
            invalid: tuple[Any, ...] = (1, None, [])
            yield from (("items", "reject", [value], Keyword.MAY) for value in invalid)
        elif item.get("type") == "integer":
            yield from _lengths(branch, "Items", lambda size: list(range(1, size + 1)))
            invalid = ("1", 1.5, None)
            yield from (("items", "reject", [value], Keyword.MAY) for value in invalid)
    elif kind == "object":
        for name, field in branch.get("properties", {}).items():
            wrong: Any = {} if _kinds(_resolved(field, document)) != {"object"} else []
            yield "properties", "reject", {name: wrong}, Keyword.MAY
    elif kind == "integer":
        yield "type", "accept", float(_least(branch)), Keyword.MAY
        if not {"maximum", "exclusiveMaximum"} & set(branch):
            yield "type", "reject", HUGE_INTEGER, Keyword.MAY
    elif kind == "number" and not {"maximum", "exclusiveMaximum"} & set(branch):
        yield "type", "reject", HUGE_NUMBER, Keyword.MAY


def _least(branch: Mapping[str, Any]) -> int:
    """Return a small integer that is in range and not 0."""
    return int(max(2, branch.get("minimum", 2), branch.get("exclusiveMinimum", 1) + 1))


def _lengths(branch: Mapping[str, Any], noun: str, make: Any) -> Iterator[Value]:
    """Yield values on both sides of the minimum and the maximum length."""
    least, most = branch.get(f"min{noun}"), branch.get(f"max{noun}")
    if least:
        yield f"min{noun}", "accept", make(least), Keyword.SHOULD
        yield f"min{noun}", "reject", make(least - 1), Keyword.SHOULD
    if most and most <= LONGEST:
        yield f"max{noun}", "accept", make(most), Keyword.SHOULD
        yield f"max{noun}", "reject", make(most + 1), Keyword.SHOULD
