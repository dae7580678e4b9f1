"""Draws small pictures of coloured shapes, with numpy only. The same seed yields the same pictures."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

if TYPE_CHECKING:
    from random import Random

    from numpy.typing import NDArray

SIDE: Final = 64
"""Width and height of a picture in pixels, as the encoder receives it."""

COLOURS: Final = {
    "red": (220, 40, 40),
    "green": (40, 170, 60),
    "blue": (40, 70, 220),
    "yellow": (240, 220, 50),
    "orange": (245, 140, 30),
    "purple": (140, 50, 170),
    "black": (15, 15, 15),
    "white": (250, 250, 250),
}
GREY: Final = (128, 128, 128)
SHAPES: Final = ("circle", "square", "triangle", "cross")
ROWS: Final = ("top", "middle", "bottom")
COLUMNS: Final = ("left", "middle", "right")

_Y, _X = np.mgrid[0:SIDE, 0:SIDE].astype(np.float32)


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture and what it shows.

    pixels: uint8 [SIDE, SIDE, 3].
    row, column: where its only shape lies; empty with several shapes.
    count: number of shapes, all alike.
    """

    pixels: NDArray[np.uint8]
    colour: str
    shape: str
    row: str
    column: str
    count: int


def single(rng: Random) -> Picture:
    """Draw a picture of one shape."""
    row, column = rng.randrange(3), rng.randrange(3)
    size = rng.uniform(8, 10.5)
    centre = [21.33 * (at + 0.5) + rng.uniform(-2.5, 2.5) for at in (row, column)]
    return _draw(rng, [(centre[0], centre[1], size)], ROWS[row], COLUMNS[column])


def several(rng: Random) -> Picture:
    """Draw a picture of one to five equal shapes in different cells of a grid of three by three."""
    cells = rng.sample(range(9), rng.randint(1, 5))
    size = rng.uniform(7, 9.5)
    places = [
        (21.33 * (cell // 3 + 0.5) + rng.uniform(-1.5, 1.5), 21.33 * (cell % 3 + 0.5) + rng.uniform(-1.5, 1.5), size)
        for cell in cells
    ]
    return _draw(rng, places, "", "")


def plain(rng: Random, colour: str) -> NDArray[np.uint8]:
    """Draw a frame of one colour that fills most of it: all of it, or a large shape on grey."""
    canvas = np.empty((SIDE, SIDE, 3), np.float32)
    canvas[:] = COLOURS[colour] if rng.random() < 0.6 else GREY
    place = (32 + rng.uniform(-6, 6), 32 + rng.uniform(-6, 6), rng.uniform(20, 28))
    canvas[_mask(rng.choice(SHAPES[:3]), *place)] = COLOURS[colour]
    return _photographed(rng, canvas)


def _draw(rng: Random, places: list[tuple[float, float, float]], row: str, column: str) -> Picture:
    colour, shape = rng.choice(list(COLOURS)), rng.choice(SHAPES)
    ground = GREY if rng.random() < 0.4 else COLOURS[rng.choice([name for name in COLOURS if name != colour])]
    canvas = np.empty((SIDE, SIDE, 3), np.float32)
    canvas[:] = ground
    for place in places:
        canvas[_mask(shape, *place)] = COLOURS[colour]
    return Picture(_photographed(rng, canvas), colour, shape, row, column, len(places))


def _mask(shape: str, y: float, x: float, size: float) -> NDArray[np.bool_]:
    """Return which pixels a shape covers; size is half of its height."""
    down, right = _Y - y, _X - x
    high, wide = np.abs(down), np.abs(right)
    covered: NDArray[np.bool_]
    if shape == "circle":
        covered = down**2 + right**2 <= size**2
    elif shape == "square":
        covered = (high <= size * 0.9) & (wide <= size * 0.9)
    elif shape == "triangle":
        covered = (high <= size) & (wide <= (down + size) * 0.55)
    else:
        arm = size * 0.33
        covered = ((high <= arm) | (wide <= arm)) & (np.maximum(high, wide) <= size)
    return covered


def _photographed(rng: Random, canvas: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Add what compression, resizing and other renderings of a colour do: blur, noise, and a shift of each channel."""
    noise = np.random.default_rng(rng.getrandbits(32))
    if rng.random() < 0.5:
        rolled = (np.roll(canvas, 1, 0), np.roll(canvas, 1, 1), np.roll(canvas, (1, 1), (0, 1)))
        canvas = (canvas + rolled[0] + rolled[1] + rolled[2]) / np.float32(4)
    shift = noise.uniform(-18, 18, 3)
    seen: NDArray[np.float64] = canvas + shift + noise.normal(0, rng.choice((0, 3, 8)), canvas.shape)
    return seen.clip(0, 255).astype(np.uint8)
