"""Draw SVG charts from numbers. All text is escaped. Does no I/O."""

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
COLOURS: Final = 4
"""How many colours the report's style defines, as classes s0 to s3."""
TICKS: Final = 6
MIN_LOG_RATIO: Final = 8.0
"""The least ratio of the ends of a logarithmic axis."""


@dataclass(frozen=True, slots=True)
class Series:
    """A line of a chart: its name and its points, with None for a gap.

    dashed: for values that are not measured directly.
    """

    name: str
    points: Sequence[tuple[float, float | None]]
    dashed: bool = False


@dataclass(frozen=True, slots=True)
class Axis:
    """An axis: its title, its ends, and whether it is logarithmic."""

    title: str
    least: float
    greatest: float
    logarithmic: bool = False

    @classmethod
    def over(cls, title: str, values: Iterable[float], *, logarithmic: bool = False, zero: bool = False) -> Axis:
        """Return an axis that covers all values: only the positive ones if logarithmic, and also 0 if `zero`.

        If the values are close together, a logarithmic axis becomes linear, as it would have no round values.
        """
        covered = [value for value in values if math.isfinite(value) and (value > 0 or not logarithmic)]
        least, greatest = min(covered, default=1.0 if logarithmic else 0.0), max(covered, default=1.0)
        if zero:
            least = min(0.0, least)
        logarithmic = logarithmic and greatest > MIN_LOG_RATIO * least
        if greatest <= least:
            greatest = least * 2 if logarithmic else least + 1
        return cls(title, least, greatest, logarithmic)

    def position(self, value: float) -> float:
        """Return the position of a value between the ends, from 0 to 1."""
        if self.logarithmic:
            value = max(value, self.least)
            return math.log(value / self.least) / math.log(self.greatest / self.least)
        return (value - self.least) / (self.greatest - self.least)

    def ticks(self) -> list[float]:
        """Return round values between the ends: 1, 2 and 5 times powers of ten, or steps of 1, 2 or 5."""
        if self.logarithmic:
            first = math.floor(math.log10(self.least))
            last = math.ceil(math.log10(self.greatest))
            marks = [factor * 10.0**power for power in range(first, last + 1) for factor in (1, 2, 5)]
            inside = [mark for mark in marks if self.least <= mark <= self.greatest]
            return inside if len(inside) <= 2 * TICKS else [mark for mark in inside if f"{mark:e}".startswith("1")]
        rough = (self.greatest - self.least) / TICKS
        unit = 10.0 ** math.floor(math.log10(rough))
        step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= rough)
        first = math.ceil(self.least / step)
        return [at * step for at in range(first, math.floor(self.greatest / step + 1e-9) + 1)]


def draw_lines(title: str, x: Axis, y: Axis, series: Sequence[Series]) -> str:
    """Return a line chart with a legend."""
    parts = [_draw_frame(x, y)]
    for at, line in enumerate(series):
        kind = f"line s{at % COLOURS}" + (" dashed" if line.dashed else "")
        parts += [f'<path class="{kind}" d="{path}"/>' for path in _paths(line, x, y)]
        left = LEFT + 8 + at * 130
        parts.append(f'<rect class="s{at % COLOURS}" x="{left}" y="{TOP - 20}" width="10" height="10"/>')
        parts.append(f'<text x="{left + 14}" y="{TOP - 11}">{escape(line.name)}</text>')
    return _wrap_svg(title, HEIGHT, parts)


def draw_waterfall(title: str, rows: Sequence[tuple[str, Sequence[float], float]]) -> str:
    """Return a chart with one bar for each row: its label, its marks and its end, starting at 0."""
    height = TOP + BOTTOM + 16 * max(1, len(rows))
    x = Axis.over("ms from sending", [end for _, _, end in rows], zero=True)
    parts = []
    for tick in x.ticks():
        at = _x(x, tick)
        parts.append(f'<line class="grid" x1="{at:.1f}" y1="{TOP}" x2="{at:.1f}" y2="{height - BOTTOM}"/>')
        parts.append(f'<text class="tick" x="{at:.1f}" y="{height - BOTTOM + 14}">{_format_tick(tick)}</text>')
    for number, (label, marks, end) in enumerate(rows):
        top = TOP + 16 * number
        first = marks[0] if marks else end
        parts.append(f'<text class="label" x="{LEFT - 4}" y="{top + 11}">{escape(label)}</text>')
        parts.append(_draw_bar("wait", x, 0.0, first, top))
        parts.append(_draw_bar("talk", x, first, end, top))
        shown = {round(_x(x, mark)) for mark in marks}
        ticks = "".join(f"M{at} {top + 2}v11" for at in sorted(shown))
        parts.append(f'<path class="mark" d="{ticks}"/>')
    parts.append(f'<text class="title" x="{(LEFT + WIDTH) / 2:.0f}" y="{height - 8}">{escape(x.title)}</text>')
    return _wrap_svg(title, height, parts)


def _draw_frame(x: Axis, y: Axis) -> str:
    parts = []
    for tick in x.ticks():
        at = _x(x, tick)
        parts.append(f'<line class="grid" x1="{at:.1f}" y1="{TOP}" x2="{at:.1f}" y2="{HEIGHT - BOTTOM}"/>')
        parts.append(f'<text class="tick" x="{at:.1f}" y="{HEIGHT - BOTTOM + 14}">{_format_tick(tick)}</text>')
    for tick in y.ticks():
        at = _y(y, tick)
        parts.append(f'<line class="grid" x1="{LEFT}" y1="{at:.1f}" x2="{WIDTH - RIGHT}" y2="{at:.1f}"/>')
        parts.append(f'<text class="label" x="{LEFT - 4}" y="{at + 4:.1f}">{_format_tick(tick)}</text>')
    parts.append(f'<text class="title" x="{(LEFT + WIDTH) / 2:.0f}" y="{HEIGHT - 8}">{escape(x.title)}</text>')
    turned = f"rotate(-90 14 {HEIGHT / 2:.0f})"
    parts.append(
        f'<text class="title" x="14" y="{HEIGHT / 2:.0f}" transform="{turned}">{escape(y.title)}</text>'
    )  # fmt: skip
    return "".join(parts)


def _wrap_svg(title: str, height: int, parts: Iterable[str]) -> str:
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(title)}">{"".join(parts)}</svg></figure>'
    )


def _paths(series: Series, x: Axis, y: Axis) -> list[str]:
    """Return the pieces of a line between its gaps; a single point is drawn as a dash, as it would be invisible."""
    pieces: list[list[str]] = [[]]
    for at, value in series.points:
        if value is None:
            pieces.append([])
        else:
            pieces[-1].append(f"{_x(x, at):.1f} {_y(y, value):.1f}")
    return ["M" + "L".join(piece) + ("m-3 0h6" if len(piece) == 1 else "") for piece in pieces if piece]


def _draw_bar(kind: str, x: Axis, start: float, end: float, top: int) -> str:
    left, right = _x(x, start), _x(x, end)
    return f'<rect class="{kind}" x="{left:.1f}" y="{top + 4}" width="{max(0.5, right - left):.1f}" height="7"/>'


def _x(axis: Axis, value: float) -> float:
    return LEFT + axis.position(value) * (WIDTH - LEFT - RIGHT)


def _y(axis: Axis, value: float) -> float:
    return HEIGHT - BOTTOM - axis.position(value) * (HEIGHT - TOP - BOTTOM)


def _format_tick(value: float) -> str:
    return f"{value:g}" if abs(value) < 10_000 else f"{value / 1000:g}k"
