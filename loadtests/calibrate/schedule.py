"""The schedule of the calibration server: what it sends and when, encoded in the name of the model.

`schedule-T200-D20-N100`: the first event 200 ms after the request, then one every 20 ms, 100 in total.
`schedule-N2000`: 2,000 events as fast as possible.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

NAME: Final = re.compile(r"schedule(?:-T(?P<first>[\d.]+)-D(?P<gap>[\d.]+))?-N(?P<count>\d+)")
MAX_COUNT: Final = 10_000_000


@dataclass(frozen=True, slots=True)
class Schedule:
    """A stream of `count` events with content, the first after `first_ns`, then one every `gap_ns`.

    None for both means as fast as possible.
    """

    count: int
    first_ns: int | None = None
    gap_ns: int | None = None

    @classmethod
    def parse(cls, model: str) -> Schedule | None:
        """Return the schedule in a model's name, or None without one."""
        match = NAME.fullmatch(model)
        if match is None or not 0 < int(match["count"]) <= MAX_COUNT:
            return None
        if match["first"] is None:
            return cls(int(match["count"]))
        try:
            return cls(int(match["count"]), int(float(match["first"]) * 1e6), int(float(match["gap"]) * 1e6))
        except ValueError:
            return None

    def __str__(self) -> str:
        pauses = (
            "" if self.first_ns is None or self.gap_ns is None else f"-T{self.first_ns / 1e6:g}-D{self.gap_ns / 1e6:g}"
        )
        return f"schedule{pauses}-N{self.count}"
