"""What a picture shows, as numbers, and how well the patches of the encoder tell it: the first stage of training.

An answer teaches one property of a picture through the whole language model. Here every picture teaches all its
properties at once, without the language model, in a third of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import torch
from torch import nn
from torch.nn import functional

from reference_server.tiny.vision import pictures, sounds

if TYPE_CHECKING:
    from random import Random

    import numpy as np
    from numpy.typing import NDArray

UNKNOWN: Final = -100
"""A property that a picture does not have: cross entropy leaves it out."""
MOST_SHAPES: Final = 5
SIZES: Final = {
    "colour": len(pictures.COLOURS),
    "shape": len(pictures.SHAPES),
    "count": MOST_SHAPES,
    "row": len(pictures.ROWS),
    "column": len(pictures.COLUMNS),
    "pitch": len(sounds.PITCHES),
    "beeps": sounds.MAX_BEEPS,
}
"""Properties, and how many values each has."""


@dataclass(frozen=True, slots=True)
class SeenPicture:
    """A picture as uint8 [SIDE, SIDE, 3], and the index of its value for each property that it has."""

    pixels: NDArray[np.uint8]
    values: dict[str, int]


def draw(rng: Random) -> SeenPicture:
    """Draw a picture of shapes, of one colour, or of a sound."""
    kind = rng.choices((_single, _several, _plain, _sound), (3, 3, 1, 2))[0]
    return kind(rng)


class AttributeHeads(nn.Module):
    """A linear classifier for each property over the patches of a picture; thrown away after training."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.heads = nn.ModuleDict({name: nn.Linear(features, size) for name, size in SIZES.items()})

    def forward(self, patches: torch.Tensor, shown: list[SeenPicture]) -> torch.Tensor:
        """Return the sum of the cross entropies of all properties, in nats. patches: [shown, patches, width]."""
        flat = patches.flatten(1).float()
        total = flat.new_zeros(())
        for name, head in self.heads.items():
            targets = torch.tensor([one.values.get(name, UNKNOWN) for one in shown])
            if (targets != UNKNOWN).any():
                total = total + functional.cross_entropy(head(flat), targets, ignore_index=UNKNOWN)
        return total


def _single(rng: Random) -> SeenPicture:
    return _shapes(pictures.single(rng))


def _several(rng: Random) -> SeenPicture:
    return _shapes(pictures.several(rng))


def _shapes(picture: pictures.Picture) -> SeenPicture:
    values = {
        "colour": list(pictures.COLOURS).index(picture.colour),
        "shape": pictures.SHAPES.index(picture.shape),
        "count": picture.count - 1,
    }
    if picture.row:
        values |= {"row": pictures.ROWS.index(picture.row), "column": pictures.COLUMNS.index(picture.column)}
    return SeenPicture(picture.pixels, values)


def _plain(rng: Random) -> SeenPicture:
    colour = rng.randrange(len(pictures.COLOURS))
    return SeenPicture(pictures.plain(rng, list(pictures.COLOURS)[colour]), {"colour": colour})


def _sound(rng: Random) -> SeenPicture:
    sound = sounds.beeps(rng)
    values = {"pitch": list(sounds.PITCHES).index(sound.pitch), "beeps": sound.beeps - 1}
    return SeenPicture(sounds.spectrogram(sound.samples, sounds.RATE_HZ), values)
