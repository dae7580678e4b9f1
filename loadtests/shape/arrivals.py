"""Generate the times at which requests are sent, from a profile and a seed, or read them from a trace.

A profile states the rate (or the number of users) at each moment. The requests of an open loop are a point process
with that intensity: gaps with mean one are drawn (constant, exponential or gamma) and mapped to times by the profile.
Does no I/O except to read a trace.
"""

from __future__ import annotations

import csv
import json
import math
import random
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final, Literal

from loadtests.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

Process = Literal["constant", "poisson", "gamma"]


@dataclass(frozen=True, slots=True)
class ProfileSegment:
    """A part of a profile, in which the level changes linearly from `start` to `end`."""

    seconds: float
    start: float
    end: float

    @property
    def area(self) -> float:
        """The number of requests in it, or of user-seconds."""
        return self.seconds * (self.start + self.end) / 2

    def seconds_until(self, area: float) -> float:
        """Return the seconds from its start until the given part of its area has passed."""
        slope = (self.end - self.start) / self.seconds
        if abs(slope) < 1e-12:
            return area / self.start
        return (math.sqrt(max(0.0, self.start**2 + 2 * slope * area)) - self.start) / slope


@dataclass(frozen=True, slots=True)
class Profile:
    """The level over time: requests per second in an open loop, users in a closed loop."""

    segments: tuple[ProfileSegment, ...]

    @property
    def seconds(self) -> float:
        """Its duration."""
        return sum(segment.seconds for segment in self.segments)

    def level(self, at_s: float) -> float | None:
        """Return the level at a time, None after the end."""
        for segment in self.segments:
            if at_s < segment.seconds:
                return segment.start + (segment.end - segment.start) * at_s / segment.seconds
            at_s -= segment.seconds
        return None

    def map_areas(self, areas: Iterator[float]) -> Iterator[float]:
        """Yield the time at which each of these increasing areas has passed, until the end of the profile."""
        segments = iter(self.segments)
        segment, began_s, passed = next(segments), 0.0, 0.0
        for area in areas:
            while area > passed + segment.area:
                passed, began_s = passed + segment.area, began_s + segment.seconds
                following = next(segments, None)
                if following is None:
                    return
                segment = following
            yield began_s + segment.seconds_until(area - passed)


def steady(level: float, seconds: float) -> Profile:
    """Return a profile with one level; a soak test is a long one."""
    return Profile((ProfileSegment(seconds, level, level),))


def ramp(level: float, seconds: float) -> Profile:
    """Return a profile that rises linearly from 0 to the level."""
    return Profile((ProfileSegment(seconds, 0.0, level),))


def steps(level: float, seconds: float, count: int = 5) -> Profile:
    """Return a profile of steps with equal height and duration, up to the level."""
    levels = [level * step / count for step in range(1, count + 1)]
    return Profile(tuple(ProfileSegment(seconds / count, height, height) for height in levels))


def spike(level: float, seconds: float, base: float = 0.2) -> Profile:
    """Return a profile at `base` of the level, with the level itself in the middle tenth of the time."""
    low = level * base
    side, peak = ProfileSegment(seconds * 0.45, low, low), ProfileSegment(seconds * 0.1, level, level)
    return Profile((side, peak, side))


SHAPES: Final = {"steady": steady, "ramp": ramp, "steps": steps, "spike": spike, "soak": steady}


def generate_arrivals(profile: Profile, process: Process, seed: int, burstiness: float = 1.0) -> Iterator[float]:
    """Yield the times at which requests are sent, in seconds from the start.

    `burstiness` is the shape of the gamma process: 1 is Poisson, a lower value comes in bursts, a higher one is more
    even.
    """
    rng = random.Random(seed)
    draw = {
        "constant": lambda: 1.0,
        "poisson": lambda: rng.expovariate(1.0),
        "gamma": lambda: rng.gammavariate(burstiness, 1 / burstiness),
    }[process]
    return profile.map_areas(accumulate(iter(draw, None)))


@dataclass(frozen=True, slots=True)
class TracedRequest:
    """A request of a recorded trace: when it was sent, and the lengths of its prompt and its answer in tokens."""

    at_s: float
    prompt_tokens: int
    completion_tokens: int


MAX_TOKENS: Final = 1_000_000
MAX_TIME: Final = 1e15
"""The highest time in a trace; times may be counted from 1970."""
TRACE_KEYS: Final = (
    ("timestamp", 1e-3, "input_length", "output_length"),  # Mooncake: milliseconds
    ("Timestamp", 1.0, "Request tokens", "Response tokens"),  # BurstGPT: seconds
)


def read_trace(path: Path) -> list[TracedRequest]:
    """Read a recorded trace in the format of Mooncake or BurstGPT, with times from its first request.

    The file has one JSON object per line or, if its name ends in .csv, is a table with a header. Raise UsageError
    with the line that is invalid.
    """
    requests = []
    try:
        lines = path.read_text(encoding="utf-8-sig").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--trace {path}: {getattr(error, 'strerror', error)}") from error
    table = path.suffix.lower() == ".csv"
    items: Iterable[str | dict[str, Any]] = csv.DictReader(lines) if table else lines
    for number, item in enumerate(items, 2 if table else 1):
        if not isinstance(item, str) or item.strip():
            requests.append(_parse_request(item, f"--trace {path}, line {number}"))
    if not requests:
        raise UsageError(f"--trace {path}: the file has no requests")
    requests.sort(key=lambda request: request.at_s)
    first_s = requests[0].at_s
    return [replace(request, at_s=request.at_s - first_s) for request in requests]


def _parse_request(line: str | dict[str, Any], where: str) -> TracedRequest:
    try:
        item = json.loads(line) if isinstance(line, str) else line
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: invalid JSON: {error}") from error
    if not isinstance(item, dict):
        raise UsageError(f"{where}: expected a JSON object, got {type(item).__name__}")
    for time_key, unit_s, prompt_key, completion_key in TRACE_KEYS:
        if time_key in item:
            counts = (_parse_number(item, key, where, MAX_TOKENS) for key in (prompt_key, completion_key))
            at_s = _parse_number(item, time_key, where, MAX_TIME) * unit_s
            return TracedRequest(at_s, *(max(1, round(count)) for count in counts))
    raise UsageError(f"{where}: missing field: expected 'timestamp' (Mooncake) or 'Timestamp' (BurstGPT)")


def _parse_number(item: dict[str, Any], name: str, where: str, greatest: float) -> float:
    """Return a number of a trace; in a table it is a string."""
    try:
        value = float(item[name])
    except KeyError:
        raise UsageError(f"{where}: missing field {name!r}") from None
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not 0 <= value <= greatest:
        raise UsageError(f"{where}: invalid {name!r}: expected a number from 0 to {greatest:g}, got {item[name]!r}")
    return value
