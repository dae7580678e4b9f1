"""Draws questions about pictures, clips and sounds, with their answers. The same seed yields the same questions."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from reference_server.tiny.vision import pictures, sounds

if TYPE_CHECKING:
    from random import Random

    import numpy as np
    from numpy.typing import NDArray

FRAMES: Final = 4
"""Pictures that show a clip, evenly spaced in time."""

MediaKind: TypeAlias = Literal["image", "video", "audio"]

NUMBERS: Final = ("zero", "one", "two", "three", "four", "five")


@dataclass(frozen=True, slots=True)
class MediaQuestion:
    """A question about media, and its answer.

    kinds: kind of each of its media.
    media: for each, the pictures that the encoder gets: one for an image or a sound, FRAMES for a clip.
    media_first: whether the question follows the media.
    earlier: an earlier question about the same media, and its answer.
    """

    skill: str
    kinds: tuple[MediaKind, ...]
    media: tuple[list[NDArray[np.uint8]], ...]
    question: str
    answer: str
    media_first: bool = True
    earlier: tuple[str, str] | None = None


MediaSkill: TypeAlias = Callable[["Random"], MediaQuestion]

_COLOUR: Final = ("What colour is the shape?", "Name the colour.")
_MAIN_COLOUR: Final = ("What colour is this image?", "What is the main colour of this image?")
_ORDER: Final = ("List the main colours of the images in order.", "What colours are the images, in order?")
_BRIEF: Final = ("", " Answer with one word.")
_SHAPE: Final = ("Which shape is this?", "Name the shape.")
_COUNT: Final = ("How many shapes are there?", "Count the shapes.")
_POSITION: Final = ("Where is the shape?", "In which part of the image is the shape?")
_DESCRIBE: Final = ("What do you see?", "Describe the image.")
_CLIP: Final = ("Which colours does the video show?", "Describe this video.")
_PITCH: Final = ("Is the tone low, medium or high?", "What pitch is the tone?")
_BEEPS: Final = ("How many beeps are there?", "Count the beeps.")
_LISTEN: Final = ("What do you hear?", "Describe the sound.")
_ORDINALS: Final = ("first", "second", "third")


def place(picture: pictures.Picture) -> str:
    """Return where the only shape of a picture lies."""
    if picture.row == picture.column:
        return "in the middle"
    return f"at the {picture.row} {picture.column}"


def noun(picture: pictures.Picture) -> str:
    """Return the number, colour and name of the shapes."""
    number = "a" if picture.count == 1 else NUMBERS[picture.count]
    article = "an" if picture.count == 1 and picture.colour[0] in "aeiou" else number
    plural = "" if picture.count == 1 else "es" if picture.shape == "cross" else "s"
    return f"{article} {picture.colour} {picture.shape}{plural}"


def colour(rng: Random) -> MediaQuestion:
    """Ask for the colour of one or several equal shapes."""
    return _about(rng, "colour", _one_or_several(rng), _COLOUR, lambda picture: picture.colour)


def main_colour(rng: Random) -> MediaQuestion:
    """Ask for the colour that fills most of a picture."""
    name = rng.choice(list(pictures.COLOURS))
    question = rng.choice(_MAIN_COLOUR) + rng.choice(_BRIEF)
    return MediaQuestion(
        "main_colour", ("image",), ([pictures.plain(rng, name)],), question, _sentence(name), rng.random() < 0.7
    )


def shape(rng: Random) -> MediaQuestion:
    """Ask for the shape."""
    return _about(rng, "shape", _one_or_several(rng), _SHAPE, lambda picture: picture.shape)


def position(rng: Random) -> MediaQuestion:
    """Ask where the only shape lies."""
    return _about(rng, "position", pictures.single(rng), _POSITION, place)


def count(rng: Random) -> MediaQuestion:
    """Ask for the number of shapes."""
    return _about(rng, "count", pictures.several(rng), _COUNT, lambda picture: NUMBERS[picture.count])


def describe(rng: Random) -> MediaQuestion:
    """Ask for a description."""
    return _about(rng, "describe", _one_or_several(rng), _DESCRIBE, noun)


def several_images(rng: Random) -> MediaQuestion:
    """Ask for the colour of one of two or three images."""
    names = [rng.choice(list(pictures.COLOURS)) for _ in range(rng.choice((2, 2, 3)))]
    at = rng.randrange(len(names))
    question = f"What colour is the {_ORDINALS[at]} image?" + rng.choice(_BRIEF)
    return _in_colours(rng, "several_images", names, question, names[at])


def order(rng: Random) -> MediaQuestion:
    """Ask for the colours of two or three images in their order."""
    names = [rng.choice(list(pictures.COLOURS)) for _ in range(rng.choice((2, 2, 3)))]
    return _in_colours(rng, "order", names, rng.choice(_ORDER), ", then ".join(names))


def follow_up(rng: Random) -> MediaQuestion:
    """Ask about an image after an earlier question about it."""
    picture = pictures.several(rng)
    number = NUMBERS[picture.count]
    asked = [(_COLOUR, picture.colour), (_SHAPE, picture.shape), (_COUNT, number), (_DESCRIBE, noun(picture))]
    (earlier, said), (later, answer) = rng.sample(asked, 2)
    before = (rng.choice(earlier), _sentence(said))
    return replace(
        _about(rng, "follow_up", picture, later, lambda _: answer),
        earlier=before,
    )


def recall(rng: Random) -> MediaQuestion:
    """Ask for the colour of a plain picture after an earlier question about it."""
    name = rng.choice(list(pictures.COLOURS))
    drawn = [pictures.plain(rng, name)]
    before = (rng.choice(_SHAPE), "Square.")
    return MediaQuestion("recall", ("image",), (drawn,), rng.choice(_COLOUR), _sentence(name), True, before)


def clip(rng: Random) -> MediaQuestion:
    """Ask for the dominant colours of a clip, in their order."""
    changes = sorted(rng.sample(range(1, FRAMES), rng.choice((0, 1, 1, 2))))
    names = rng.sample(list(pictures.COLOURS), len(changes) + 1)
    frames = [pictures.plain(rng, names[sum(at >= change for change in changes)]) for at in range(FRAMES)]
    answer = ", then ".join(names)
    return MediaQuestion("clip", ("video",), (frames,), rng.choice(_CLIP), _sentence(answer), rng.random() < 0.7)


def pitch(rng: Random) -> MediaQuestion:
    """Ask for the pitch of a sound."""
    return _heard(rng, "pitch", _PITCH, lambda sound: sound.pitch)


def beeps(rng: Random) -> MediaQuestion:
    """Ask for the number of beeps."""
    return _heard(rng, "beeps", _BEEPS, lambda sound: NUMBERS[sound.beeps])


def listen(rng: Random) -> MediaQuestion:
    """Ask for a description of a sound."""
    return _heard(
        rng,
        "listen",
        _LISTEN,
        lambda sound: f"{NUMBERS[sound.beeps]} {sound.pitch} beep{'' if sound.beeps == 1 else 's'}",
    )


MEDIA_SKILLS: Mapping[str, MediaSkill] = {
    "colour": colour,
    "main_colour": main_colour,
    "shape": shape,
    "position": position,
    "count": count,
    "describe": describe,
    "several_images": several_images,
    "order": order,
    "follow_up": follow_up,
    "recall": recall,
    "clip": clip,
    "pitch": pitch,
    "beeps": beeps,
    "listen": listen,
}


MIX: Final[Mapping[str, float]] = {
    "colour": 2, "main_colour": 1, "shape": 4, "position": 2, "count": 3, "describe": 3, "several_images": 2,
    "order": 2, "follow_up": 3, "recall": 2, "clip": 2, "pitch": 1, "beeps": 1.5, "listen": 1.5,
}  # fmt: skip
"""Weights with which training draws the skills: harder ones more often."""


def _in_colours(rng: Random, skill: str, names: list[str], question: str, answer: str) -> MediaQuestion:
    drawn = tuple([pictures.plain(rng, name)] for name in names)
    kinds: tuple[MediaKind, ...] = tuple("image" for _ in names)
    return MediaQuestion(skill, kinds, drawn, question, _sentence(answer), rng.random() < 0.7)


def _one_or_several(rng: Random) -> pictures.Picture:
    return pictures.single(rng) if rng.random() < 0.6 else pictures.several(rng)


def _about(
    rng: Random,
    skill: str,
    picture: pictures.Picture,
    questions: tuple[str, ...],
    answer: Callable[[pictures.Picture], str],
) -> MediaQuestion:
    return MediaQuestion(
        skill,
        ("image",),
        ([picture.pixels],),
        rng.choice(questions),
        _sentence(answer(picture)),
        rng.random() < 0.7,
    )


def _heard(rng: Random, skill: str, questions: tuple[str, ...], answer: Callable[[sounds.Sound], str]) -> MediaQuestion:
    sound = sounds.beeps(rng)
    picture = sounds.spectrogram(sound.samples, sounds.RATE_HZ)
    return MediaQuestion(
        skill, ("audio",), ([picture],), rng.choice(questions), _sentence(answer(sound)), rng.random() < 0.7
    )


def _sentence(words: str) -> str:
    return words[0].upper() + words[1:] + "."
