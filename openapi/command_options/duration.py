"""Read durations of command-line options, such as `500ms`, `60s`, `5m` or `1h30m`."""

from __future__ import annotations

import re
from typing import Final

import click

DURATION: Final = re.compile(r"\d+(?:\.\d+)?|(?:\d+(?:\.\d+)?(?:ms|s|m|h))+")
PART: Final = re.compile(r"([\d.]+)(ms|s|m|h)?")
SECONDS: Final = {"ms": 1e-3, "s": 1.0, "m": 60.0, "h": 3600.0, None: 1.0}
UNITS: Final = (("h", 3600), ("m", 60), ("s", 1))


def parse_duration(text: str, *, positive: bool = False) -> float:
    """Return a duration in seconds; a number without a unit is one of seconds.

    Raise ValueError for anything else. positive: 0 is invalid, too.
    """
    if DURATION.fullmatch(text.strip()) is None:
        raise ValueError(f"invalid duration {text!r}: expected for example 60s, 1m30s or 500ms")
    seconds = sum(float(number) * SECONDS[unit or None] for number, unit in PART.findall(text))
    if positive and not seconds:
        raise ValueError(f"invalid duration {text!r}: expected more than 0, for example 60s")
    return seconds


def format_duration(seconds: float) -> str:
    """Return a duration as `parse_duration` reads it, with whole seconds if it has one or more: `1h30m`, `500ms`."""
    if 0 < seconds < 1:
        return f"{seconds * 1000:g}ms"
    left, text = round(seconds), ""
    for unit, size in UNITS:
        number, left = divmod(left, size)
        text += f"{number}{unit}" if number else ""
    return text or "0s"


class Duration(click.ParamType[float]):
    """The type of an option that takes a duration. positive: 0 is invalid."""

    name = "duration"

    def __init__(self, *, positive: bool = False) -> None:
        self._positive = positive

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """Return the duration in seconds."""
        if isinstance(value, float | int):
            return float(value)
        try:
            return parse_duration(str(value), positive=self._positive)
        except ValueError as error:
            self.fail(str(error), param, ctx)
