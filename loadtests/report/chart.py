"""Charts as SVG, drawn from plain numbers. Pure; all text is escaped."""

from __future__ import annotations

import math
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

WIDTH: Final = 640
HEIGHT: Final = 276
LEFT, RIGHT, TOP, BOTTOM = 64, 12, 30, 44
SERIES: Final = 4
"""Colours that the page's style knows, as classes s0 to s3."""
TICKS: Final = 6
CLOSE: Final = 8.0


@dataclass(frozen=True, slots=True)
class Series:
    """One line: its name and its points; None for y leaves a gap. `dashed` is for what is not measured itself."""

    name: str
    points: Sequence[tuple[float, float | None]]
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """One axis: what stands beside it, its ends, and whether it is logarithmic."""

    title: str
    least: float
    greatest: float
    logarithmic: bool = False

    @classmethod
    def over(cls, title: str, values: Iterable[float], *, logarithmic: bool = False, zero: bool = False) -> Axis:
        """An axis that holds all values; a logarithmic one the positive ones, a `zero` one 0 as well. Where values are
        close together a logarithmic one is linear, as there are no round powers between them."""
        found = [value for value in values if math.isfinite(value) and (value > 0 or not logarithmic)]
        least, greatest = min(found, default=1.0 if logarithmic else 0.0), max(found, default=1.0)
        if zero:
            least = min(0.0, least)
        logarithmic = logarithmic and greatest > CLOSE * least
        if greatest <= least:
            greatest = least * 2 if logarithmic else least + 1
        return cls(title, least, greatest, logarithmic)

    def place(self, value: float) -> float:
        """Where a value is between the ends, from 0 to 1."""
        if self.logarithmic:
            value = max(value, self.least)
            return math.log(value / self.least) / math.log(self.greatest / self.least)
        return (value - self.least) / (self.greatest - self.least)

    def ticks(self) -> list[float]:
        """Round values between the ends: powers of ten with 2 and 5, or steps of 1, 2, 5."""
        if self.logarithmic:
            first = math.floor(math.log10(self.least))
            last = math.ceil(math.log10(self.greatest))
            marks = [factor * 10.0**power for power in range(first, last + 1) for factor in (1, 2, 5)]
            found = [mark for mark in marks if self.least <= mark <= self.greatest]
            return found if len(found) <= 2 * TICKS else [mark for mark in found if f"{mark:e}".startswith("1")]
        rough = (self.greatest - self.least) / TICKS
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
        first = math.ceil(self.least / step)
        return [at * step for at in range(first, math.floor(self.greatest / step + 1e-9) + 1)]


def lines(title: str, x: Axis, y: Axis, series: Sequence[Series]) -> str:
    """A line chart with a legend."""
    parts = [_frame(x, y)]
    for at, each in enumerate(series):
        kind = f"line s{at % SERIES}" + (" dashed" if each.dashed else "")
        parts += [f'<path class="{kind}" d="{path}"/>' for path in _paths(each, x, y)]
        left = LEFT + 8 + at * 130
        parts.append(f'<rect class="s{at % SERIES}" x="{left}" y="{TOP - 20}" width="10" height="10"/>')
        parts.append(f'<text x="{left + 14}" y="{TOP - 11}">{escape(each.name)}</text>')
    return _svg(title, HEIGHT, parts)


def waterfall(title: str, rows: Sequence[tuple[str, Sequence[float], float]]) -> str:
    """One bar for each row: its label, its marks and its end, all from 0 on."""
    height = TOP + BOTTOM + 16 * max(1, len(rows))
    x = Axis.over("ms from sending", [end for _, _, end in rows], zero=True)
    parts = []
    for tick in x.ticks():
        at = _x(x, tick)
        parts.append(f'<line class="grid" x1="{at:.1f}" y1="{TOP}" x2="{at:.1f}" y2="{height - BOTTOM}"/>')
        parts.append(f'<text class="tick" x="{at:.1f}" y="{height - BOTTOM + 14}">{_short(tick)}</text>')
    for number, (label, marks, end) in enumerate(rows):
        top = TOP + 16 * number
        first = marks[0] if marks else end
        parts.append(f'<text class="label" x="{LEFT - 4}" y="{top + 11}">{escape(label)}</text>')
        parts.append(_bar("wait", x, 0.0, first, top))
        parts.append(_bar("talk", x, first, end, top))
        shown = {round(_x(x, mark)) for mark in marks}
        ticks = "".join(f"M{at} {top + 2}v11" for at in sorted(shown))
        parts.append(f'<path class="mark" d="{ticks}"/>')
    parts.append(f'<text class="title" x="{(LEFT + WIDTH) / 2:.0f}" y="{height - 8}">{escape(x.title)}</text>')
    return _svg(title, height, parts)


def _frame(x: Axis, y: Axis) -> str:
    parts = []
    for tick in x.ticks():
        at = _x(x, tick)
        parts.append(f'<line class="grid" x1="{at:.1f}" y1="{TOP}" x2="{at:.1f}" y2="{HEIGHT - BOTTOM}"/>')
        parts.append(f'<text class="tick" x="{at:.1f}" y="{HEIGHT - BOTTOM + 14}">{_short(tick)}</text>')
    for tick in y.ticks():
        at = _y(y, tick)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{at:.1f}" x2="{WIDTH - RIGHT}" y2="{at:.1f}"/>')
        parts.append(f'<text class="label" x="{LEFT - 4}" y="{at + 4:.1f}">{_short(tick)}</text>')
    parts.append(f'<text class="title" x="{(LEFT + WIDTH) / 2:.0f}" y="{HEIGHT - 8}">{escape(x.title)}</text>')
    turned = f"rotate(-90 14 {HEIGHT / 2:.0f})"
    parts.append(
        f'<text class="title" x="14" y="{HEIGHT / 2:.0f}" transform="{turned}">{escape(y.title)}</text>'
    )  # fmt: skip
    return "".join(parts)


def _svg(title: str, height: int, parts: Iterable[str]) -> str:
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(title)}">{"".join(parts)}</svg></figure>'
    )


def _paths(series: Series, x: Axis, y: Axis) -> list[str]:
    """The pieces of a line between its gaps; a point alone is a dash, as a line of one point cannot be seen."""
    pieces: list[list[str]] = [[]]
    for at, value in series.points:
        if value is None:
            pieces.append([])
        else:
            pieces[-1].append(f"{_x(x, at):.1f} {_y(y, value):.1f}")
    return ["M" + "L".join(piece) + ("m-3 0h6" if len(piece) == 1 else "") for piece in pieces if piece]


def _bar(kind: str, x: Axis, start: float, end: float, top: int) -> str:
    left, right = _x(x, start), _x(x, end)
    return f'<rect class="{kind}" x="{left:.1f}" y="{top + 4}" width="{max(0.5, right - left):.1f}" height="7"/>'


def _x(axis: Axis, value: float) -> float:
    return LEFT + axis.place(value) * (WIDTH - LEFT - RIGHT)


def _y(axis: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - axis.place(value) * (HEIGHT - TOP - BOTTOM)


def _short(value: float) -> str:
    return f"{value:g}" if abs(value) < 10_000 else f"{value / 1000:g}k"
