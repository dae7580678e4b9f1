"""Make the attributes of a fact of the statements about one subject; those that contradict each other are not read."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from openapi.reading.facts.fact import RANGES, is_stated
from openapi.reading.grammar.interval import meet, same_values
from openapi.reading.grammar.statement import UNSTATED, DescribedDefault

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from openapi.reading.grammar.statement import Statement

_SWITCHED: Final = {"on": True, "off": False, "enabled": True, "disabled": False, "yes": True, "no": False}
_NUMBERS: Final = frozenset({"integer", "number"})
_JSON_TYPES: Final = {str: "string", int: "integer", bool: "boolean"}


def agree_attributes(statements: Iterable[Statement]) -> tuple[dict[str, Any], list[str]]:
    """Convert statements about one subject to attributes; return the texts of contradicting statements separately."""
    by_attribute: dict[str, list[Statement]] = {}
    for statement in statements:
        by_attribute.setdefault(statement.attribute, []).append(statement)
    also = tuple(name for statement in by_attribute.pop("also", ()) for name in statement.value)
    by_attribute.pop("exists", None)
    attributes: dict[str, Any] = {}
    contradictions: list[str] = []
    exception = next((item for item in by_attribute.get("required", ()) if item.value.startswith("unless")), None)
    if exception:  # one cell states a rule and another one its exception
        by_attribute["required"] = [exception]
    for attribute, stated in by_attribute.items():
        agreed = _agreed(attribute, stated)
        if agreed is None:
            contradictions.append(" / ".join(dict.fromkeys(statement.text for statement in stated)))
        else:
            attributes[attribute] = agreed.value
    if also:
        attributes["types"] = tuple(sorted({*attributes.get("types", ()), *also}))
    if "types" not in attributes and attributes.get("enum"):
        types = {_JSON_TYPES.get(type(value)) for value in attributes["enum"]}
        attributes.update({"types": tuple(sorted(types))} if None not in types else {})  # type: ignore[type-var]
    default = attributes.get("default")
    if isinstance(default, DescribedDefault) and str(default) in attributes.get("enum", ()):
        attributes["default"] = str(default)  # the word is one of the values
    if isinstance(default, DescribedDefault) and attributes.get("types") == ("boolean",):
        attributes["default"] = _SWITCHED.get(default.lower(), default)
    if isinstance(default, DescribedDefault) and attributes.get("types") != ("string",):
        attributes["default"] = _parse_json(default)
    if is_stated("default", attributes.get("default", UNSTATED)) and "required" not in attributes:
        attributes["required"] = "no"  # a parameter with a default is optional
    types = attributes.get("types", ())
    if isinstance(attributes.get("default"), int) and "number" in types and "integer" not in types:
        attributes["default"] = float(attributes["default"])
    return attributes, contradictions


def _parse_json(default: DescribedDefault) -> Any:
    """Return a default that is written as a list or an object of JSON; another one as it is."""
    try:
        value = json.loads(default)
    except ValueError:
        return default
    return value if isinstance(value, (list, dict)) else default


def _agreed(attribute: str, statements: Sequence[Statement]) -> Statement | None:
    """Return the most precise statement, or None if the statements contradict each other."""
    best, *others = statements
    for statement in others:
        if attribute in RANGES and (both := meet(best.value, statement.value)) is not None:
            best = replace(best, value=both, text=f"{best.text}; {statement.text}")
        elif attribute in RANGES and same_values(best.value, statement.value, whole=False):
            best = min(best, statement, key=lambda item: str(item.value).count("None"))
        elif attribute == "types" and (narrow := narrow_numbers(best.value, statement.value)) is not None:
            best = replace(best, value=narrow)
        elif attribute == "default" and _is_same_number(best.value, statement.value):
            continue
        elif type(statement.value) is not type(best.value) or statement.value != best.value:
            return None
    return best


def _is_same_number(one: Any, other: Any) -> bool:
    return {type(one), type(other)} <= {int, float} and one == other


def narrow_numbers(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the more precise of two lists of types, of which one leaves open whether a number is an integer."""
    for wide, narrow in ((one, other), (other, one)):
        if _NUMBERS <= set(wide) and set(wide) - _NUMBERS == set(narrow) - _NUMBERS and _NUMBERS & set(narrow):
            return narrow
    return None
