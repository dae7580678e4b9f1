"""Arrivals: when requests leave, by a plan that a seed decides. Pure.

A profile says how many per second (or how many users) at each moment; an open loop's requests are a point process of
that intensity: gaps of mean one are drawn (constant, exponential, gamma) and stretched by the profile.
"""

from __future__ import annotations

import csv
import json
import math
import random
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, Literal

from loadtests.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

Process = Literal["constant", "poisson", "gamma"]


@dataclass(frozen=True, slots=True)
class Leg:
    """A part of a profile: `seconds` long, from one level to another in a straight line."""

    seconds: float
    start: float
    end: float

    @property
    def area(self) -> float:
        """Requests in it, or user-seconds."""
        return self.seconds * (self.start + self.end) / 2

    def when(self, area: float) -> float:
        """Seconds from its start until so much of its area has passed."""
        slope = (self.end - self.start) / self.seconds
        if abs(slope) < 1e-12:
            return area / self.start
        return (math.sqrt(max(0.0, self.start**2 + 2 * slope * area)) - self.start) / slope


@dataclass(frozen=True, slots=True)
class Profile:
    """Levels over time: requests per second in an open loop, users in a closed one."""

    legs: tuple[Leg, ...]

    @property
    def seconds(self) -> float:
        """How long it is."""
        return sum(leg.seconds for leg in self.legs)

    def level(self, at_s: float) -> float | None:
        """The level at a moment, None after the end."""
        for leg in self.legs:
            if at_s < leg.seconds:
                return leg.start + (leg.end - leg.start) * at_s / leg.seconds
            at_s -= leg.seconds
        return None

    def stretch(self, areas: Iterator[float]) -> Iterator[float]:
        """The moments at which the profile has passed each of these growing areas, as far as it reaches."""
        legs = iter(self.legs)
        leg, began_s, passed = next(legs), 0.0, 0.0
        for area in areas:
            while area > passed + leg.area:
                passed, began_s = passed + leg.area, began_s + leg.seconds
                following = next(legs, None)
                if following is None:
                    return
                leg = following
            yield began_s + leg.when(area - passed)


def steady(level: float, seconds: float) -> Profile:
    """One level all the time: also a soak, when it is long."""
    return Profile((Leg(seconds, level, level),))


def ramp(level: float, seconds: float) -> Profile:
    """From nothing to the level, evenly."""
    return Profile((Leg(seconds, 0.0, level),))


def steps(level: float, seconds: float, count: int = 5) -> Profile:
    """Stairs of equal height and length up to the level."""
    return Profile(tuple(Leg(seconds / count, level * at / count, level * at / count) for at in range(1, count + 1)))


def spike(level: float, seconds: float, base: float = 0.2) -> Profile:
    """A fifth of the level, with the level itself in the middle tenth of the time."""
    low = level * base
    return Profile((Leg(seconds * 0.45, low, low), Leg(seconds * 0.1, level, level), Leg(seconds * 0.45, low, low)))


SHAPES: Final = {"steady": steady, "ramp": ramp, "steps": steps, "spike": spike, "soak": steady}


def arrivals(profile: Profile, process: Process, seed: int, burstiness: float = 1.0) -> Iterator[float]:
    """Seconds from the start at which requests leave.

    `burstiness` is the shape of the gamma process: 1 is Poisson, less comes in bursts, more is evener.
    """
    rng = random.Random(seed)
    draw = {
        "constant": lambda: 1.0,
        "poisson": lambda: rng.expovariate(1.0),
        "gamma": lambda: rng.gammavariate(burstiness, 1 / burstiness),
    }[process]
    return profile.stretch(accumulate(iter(draw, None)))


@dataclass(frozen=True, slots=True)
class Traced:
    """A request of a recorded trace: when it left, and how long its prompt and its answer were, in tokens."""

    at_s: float
    prompt_tokens: int
    completion_tokens: int


MOST_TOKENS: Final = 1_000_000
LATEST: Final = 1e15
"""Of a time in a trace, which may be counted from 1970."""
TRACE_KEYS: Final = (
    ("timestamp", 1e-3, "input_length", "output_length"),  # Mooncake: milliseconds
    ("Timestamp", 1.0, "Request tokens", "Response tokens"),  # BurstGPT: seconds
)


def trace(path: Path) -> list[Traced]:
    """A recorded trace in the form of Mooncake or of BurstGPT, one JSON object per line or, where the file's name ends
    in .csv, one line of a table with a head; from its first request on.

    Raises UsageError with the line that cannot be read.
    """
    found = []
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--trace {path}: {getattr(error, 'strerror', error)}") from error
    table = path.suffix.lower() == ".csv"
    items: Iterable[str | dict[str, Any]] = csv.DictReader(lines) if table else lines
    for number, item in enumerate(items, 2 if table else 1):
        if not isinstance(item, str) or item.strip():
            found.append(_traced(item, f"--trace {path}, line {number}"))
    if not found:
        raise UsageError(f"--trace {path} holds no request")
    found.sort(key=lambda each: each.at_s)
    first_s = found[0].at_s
    return [Traced(each.at_s - first_s, each.prompt_tokens, each.completion_tokens) for each in found]


def _traced(line: str | dict[str, Any], where: str) -> Traced:
    try:
        item = json.loads(line) if isinstance(line, str) else line
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: is no JSON: {error}") from error
    if not isinstance(item, dict):
        raise UsageError(f"{where}: is no object")
    for at, unit_s, prompt, completion in TRACE_KEYS:
        if at in item:
            counts = (_number(item, name, where, MOST_TOKENS) for name in (prompt, completion))
            return Traced(_number(item, at, where, LATEST) * unit_s, *(max(1, round(count)) for count in counts))
    raise UsageError(f"{where}: has neither `timestamp` (Mooncake) nor `Timestamp` (BurstGPT)")


def _number(item: dict[str, Any], name: str, where: str, most: float) -> float:
    """A number of a trace, where a table has it as text."""
    try:
        value = float(item[name])
    except KeyError:
        raise UsageError(f"{where}: has no {name!r}") from None
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not 0 <= value <= most:
        raise UsageError(f"{where}: {name!r} is {item[name]!r}; write a number from 0 to {most:g}")
    return value
