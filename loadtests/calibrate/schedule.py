"""A known schedule, written as the name of a model: what the calibration server sends, and when.

`schedule-T200-D20-N100`: the first content 200 ms after the request, then one every 20 ms, 100 in all.
`schedule-N2000`: 2,000 events as fast as they go.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

NAME: Final = re.compile(r"schedule(?:-T(?P<first>[\d.]+)-D(?P<gap>[\d.]+))?-N(?P<count>\d+)")
MOST: Final = 10_000_000


@dataclass(frozen=True, slots=True)
class Schedule:
    """`count` content events, the first after `first_ns`, the others `gap_ns` apart; both None: no pauses."""

    count: int
    first_ns: int | None = None
    gap_ns: int | None = None

    @classmethod
    def parse(cls, model: str) -> Schedule | None:
        """The schedule that a model's name states, None if it states none."""
        found = NAME.fullmatch(model)
        if found is None or not 0 < int(found["count"]) <= MOST:
            return None
        if found["first"] is None:
            return cls(int(found["count"]))
        try:
            return cls(int(found["count"]), int(float(found["first"]) * 1e6), int(float(found["gap"]) * 1e6))
        except ValueError:
            return None

    def __str__(self) -> str:
        pauses = (
            "" if self.first_ns is None or self.gap_ns is None else f"-T{self.first_ns / 1e6:g}-D{self.gap_ns / 1e6:g}"
        )
        return f"schedule{pauses}-N{self.count}"
