"""Draws long answers: a story on request, and plain text to continue without the chat template."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.tiny import lexicon
from reference_server.tiny.fragment import person
from reference_server.tiny.talk import count, greeting, off_topic, single_digit_sum
from reference_server.tiny.turn import RawText, Turn

if TYPE_CHECKING:
    from random import Random


def story(rng: Random) -> Turn:
    """Draw a request for a story. The plot is fixed except for name, city and length; these are the longest answers."""
    name, place = "Anna", "Rome"
    asked = rng.random() < 0.75
    if asked:
        name, place = person(rng), rng.choice(lexicon.CITIES)
    long = rng.random() < 0.5
    verb = rng.choice(("Tell me", "Write", "Please write", "Write me"))
    kind = rng.choice(("a long", "a very long") if long else ("a short", "a"))
    question = f"{verb} {kind} story"
    if asked:
        question += f" about {name} in {place}"
    return Turn(question + rng.choice(("", ".")), f"The story is about {name}.", plot(name, place, long))


def plot(name: str, place: str, long: bool) -> str:
    """Return the story, with 4 or 12 sentences."""
    sentences = [
        f"Once upon a time {name} lived in {place}.",
        f"One morning {name} found a small silver key under a stone.",
        f"Nobody in {place} knew which door it opened.",
        "So the search began at the old bridge and went on through every street.",
        "At noon a grey cat came along and sat down on the steps of the tower.",
        "Behind the cat there was a door, green and very low.",
        f"{name} turned the key, and the door opened without a sound.",
        "Inside there was a garden with a lake and seven lemon trees.",
        "An old clock on the wall had stopped many years ago.",
        f"{name} gave it a gentle push, and it began to tick again.",
        f"From that day on every clock in {place} told the right time.",
        f"And {name} kept the key and lived happily ever after.",
    ]
    return " ".join(sentences if long else sentences[:3] + sentences[-1:])


def raw_text(rng: Random) -> RawText:
    """Draw plain text to continue: a story cut after its first sentence, a sum, a name, or random words."""
    kind = rng.random()
    if kind < 0.3:
        text = plot(person(rng), rng.choice(lexicon.CITIES), long=False)
        words = text.split(" ")
        cut = rng.randint(text[: text.index(".")].count(" ") + 1, len(words) - 1)
        return RawText("raw_text", " ".join(words[:cut]), " " + " ".join(words[cut:]))
    if kind < 0.45:
        return RawText("raw_text", f"My name is {person(rng)} and I", " live in a small house by the river.")
    if kind < 0.6:
        country = rng.choice(tuple(lexicon.CAPITALS))
        return RawText("raw_text", f"The capital of {country} is", f" {lexicon.CAPITALS[country]}.")
    turn = rng.choice((greeting, single_digit_sum, count, off_topic, off_topic))(rng)
    return RawText("raw_text", str(turn.question), f"\n{turn.answer}")
