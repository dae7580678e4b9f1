"""Derive the values at the limits of a schema: the ends of its range, just inside, just outside, and other types."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.contract import Expect

HUMAN_STEP: Final = 0.1  # a person leaves a fractional range with 2.1, not with the next float
INSIDE: Final = 0.01  # how far inside a fractional range a value is that must be accepted
SMALL: Final = (1e-4, 1e-9)
"""Positive values in a range that begins at 0. The second one is serialized with an exponent."""
BEYOND_DOUBLES: Final = (2**53 + 1, 10**18)
"""The first whole number that a double changes, and one that printers of doubles write with an exponent."""
TINY: Final = 2.0**-126  # smallest normal float32; anything smaller may be zero for a server that uses float32
ENDS: Final = ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum")
LOOKALIKES: Final[dict[str, tuple[Any, ...]]] = {
    "number": ("1", True, [], {}),
    "integer": ("1", 1.5, True, [], {}),
    "boolean": ("true", 1, [], {}),
    "string": (1, True, [], {}),
    "array": ("x", 1, {}),
    "object": ("x", 1, []),
}


def list_values(schema: dict[str, Any]) -> Iterator[tuple[str, Expect, Any]]:
    """Yield (keyword, expectation, value) for each limit and type at the top level of the schema."""
    kind = schema.get("type")
    yield from _ends(schema)
    if "enum" in schema:
        yield from (("enum", "accept", value) for value in schema["enum"])
    if kind == "boolean":
        yield "type", "accept", True
        yield "type", "accept", False
    yield from _numbers_inside(schema) if kind == "number" else _integers_inside(schema) if kind == "integer" else ()
    if isinstance(kind, str):
        yield from (("type", "reject", value) for value in LOOKALIKES[kind])


def list_valid_ends(schema: dict[str, Any]) -> list[Any]:
    """Return the valid values at the ends of a range, and just inside of the upper one."""
    ends = [value for _, expect, value in _ends(schema) if expect == "accept"]
    return list(dict.fromkeys([*ends, *_just_below(schema)]))


def list_small_values(schema: dict[str, Any]) -> tuple[float, ...]:
    """Return valid values just above 0 of a range that begins there; empty for other ranges."""
    if schema.get("type") != "number" or 0 not in (schema.get("minimum"), schema.get("exclusiveMinimum")):
        return ()
    return tuple(value for value in SMALL if value < schema.get("maximum", math.inf))


def _ends(schema: dict[str, Any]) -> Iterator[tuple[str, Expect, Any]]:
    whole = schema.get("type") == "integer"
    if "minimum" in schema:
        low = schema["minimum"]
        yield "minimum", "accept", low
        yield from (("minimum", "reject", value) for value in _below(low, whole))
    if "maximum" in schema:
        high = schema["maximum"]
        yield "maximum", "accept", high
        yield from (("maximum", "reject", value) for value in _above(high, whole))
    if "exclusiveMinimum" in schema:
        low = schema["exclusiveMinimum"]
        yield "exclusiveMinimum", "accept", low + 1 if whole else _neighbour(low, up=True)
        yield "exclusiveMinimum", "reject", low
        yield from (("exclusiveMinimum", "reject", value) for value in _below(low, whole)[-1:])
    if "exclusiveMaximum" in schema:
        high = schema["exclusiveMaximum"]
        yield "exclusiveMaximum", "accept", high - 1 if whole else _neighbour(high, up=False)
        yield "exclusiveMaximum", "reject", high


def _numbers_inside(schema: dict[str, Any]) -> Iterator[tuple[str, Expect, Any]]:
    """Yield valid numbers that careless servers refuse: just inside an end, close to 0, and whole ones."""
    low = "minimum" if "minimum" in schema else "exclusiveMinimum"
    least, high = schema.get(low, -math.inf), schema.get("maximum", math.inf)
    small = list_small_values(schema)
    if small:
        # An exclusive range has its least float as a value already, which is written with an exponent too.
        yield from ((low, "accept", value) for value in (small if low == "minimum" else small[:1]))
    elif low == "exclusiveMinimum" in schema and least + INSIDE < high:
        yield low, "accept", round(least + INSIDE, 6)
    yield from (("maximum", "accept", value) for value in _just_below(schema))
    if least < 0 and high < math.inf:
        yield "type", "accept", -1 if least <= -1 else 0
    elif "maximum" in schema and least < 1 <= high:
        yield "type", "accept", 1


def _integers_inside(schema: dict[str, Any]) -> Iterator[tuple[str, Expect, Any]]:
    """Yield valid integers that careless servers refuse: 0 among negative ones, and those that doubles change."""
    low, high = schema.get("minimum", math.inf), schema.get("maximum", -math.inf)
    if low < 0 and schema.get("maximum", math.inf) > 0:
        yield "minimum", "accept", 0
    yield from (("maximum", "accept", value) for value in BEYOND_DOUBLES if low < value < high)


def _just_below(schema: dict[str, Any]) -> list[float]:
    """Return a valid number just inside the upper end of a range, if it has one."""
    if schema.get("type") != "number" or "maximum" not in schema:
        return []
    low = max(schema.get(name, -math.inf) for name in ("minimum", "exclusiveMinimum"))
    inside = round(schema["maximum"] - INSIDE, 6)
    return [inside] if inside > low else []


def _below(low: float, whole: bool) -> list[Any]:
    return [low - 1] if whole else [_neighbour(low, up=False), round(low - HUMAN_STEP, 6)]


def _above(high: float, whole: bool) -> list[Any]:
    return [high + 1] if whole else [_neighbour(high, up=True), round(high + HUMAN_STEP, 6)]


def _neighbour(value: float, *, up: bool) -> float:
    """Return the next float32. Documents say float and many servers use float32, so a nearer value shows nothing."""
    if abs(value) < TINY:
        return TINY if up else -TINY
    (bits,) = struct.unpack("<i", struct.pack("<f", value))
    neighbour: float = struct.unpack("<f", struct.pack("<i", bits + (1 if up == (value > 0) else -1)))[0]
    return neighbour
