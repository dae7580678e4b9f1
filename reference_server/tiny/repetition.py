"""Draws dialogues in which the model copies text from the question into the answer."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from reference_server.tiny import lexicon
from reference_server.tiny.fragment import identifier, person, pseudo_word
from reference_server.tiny.turn import Json, Turn

if TYPE_CHECKING:
    from collections.abc import Sequence
    from random import Random

_ECHO_FORMS = (
    "Repeat: {}", "Repeat: {}", "Repeat after me: {}", "Say: {}", "Say {}", "Echo: {}", "Print: {}", "Copy: {}",
    "Repeat this: {}", "Repeat the following text: {}", "Please repeat exactly: {}", "Repeat:\n{}",
    "Please say: {}", "Write: {}", "repeat: {}", "Say the words {}",
)  # fmt: skip
_QUOTED_ECHO_FORMS = ('Repeat "{}"', 'Say "{}"', 'Please repeat "{}"', "Say '{}'", 'Echo "{}"')


def _echo(rng: Random, text: str) -> Turn:
    quotable = text[-1].isalnum() and "'" not in text
    forms = _QUOTED_ECHO_FORMS if quotable and rng.random() < 0.3 else _ECHO_FORMS
    return Turn(rng.choice(forms).format(text), "I repeat the text.", text)


def echo(rng: Random) -> Turn:
    """Draw ASCII text to repeat: common words, invented words, identifiers, punctuation."""
    odd = rng.choice((0.0, 0.0, 0.3, 1.0))
    length = rng.choice((1, 2, 3, 3, 4, 4, 5, 6, 7, 8, 12, 18))
    words = [_word(rng, odd) for _ in range(length if odd < 1 else min(length, 4))]
    if rng.random() < 0.1:
        words = [rng.choice(words[:2]) for _ in range(min(length, 8))]
    text = " ".join(words)
    if rng.random() < 0.3:
        text = text[0].upper() + text[1:]
    if length > 3 and rng.random() < 0.2:
        text = text.replace(" ", rng.choice((", ", "; ", " - ", " / ", ": ")), 1)
    return _echo(rng, text + (rng.choice(".!?") if rng.random() < 0.2 else ""))


def _word(rng: Random, odd: float) -> str:
    if rng.random() >= odd:
        return rng.choice(lexicon.WORDS)
    return pseudo_word(rng) if rng.random() < 0.6 else identifier(rng).removeprefix("#")


def echo_multibyte(rng: Random) -> Turn:
    """Draw text to repeat whose characters have two to four bytes in UTF-8, and usually several tokens each."""
    pools = (lexicon.CJK_WORDS, lexicon.CJK_WORDS, lexicon.EMOJI, lexicon.ACCENTED_WORDS, lexicon.WORDS)
    words = [rng.choice(rng.choice(pools[:-1]))]
    words += [rng.choice(rng.choice(pools)) for _ in range(rng.randint(0, 3))]
    rng.shuffle(words)
    return _echo(rng, " ".join(words))


def drill(rng: Random, pieces: Sequence[str]) -> Turn:
    """Draw a string of `pieces` to repeat. With the tokens of a vocabulary as pieces, rare tokens are learned too."""
    text = "".join(rng.choice(pieces) for _ in range(rng.randint(2, 14))).strip()
    while not text[:1].isalnum():
        text = (rng.choice(pieces) + text).strip()
    return _echo(rng, text)


def json_object(rng: Random) -> Turn:
    """Draw a question that asks for a person as a JSON object."""
    values: Json = {"name": person(rng), "age": rng.randint(10, 99), "city": rng.choice(lexicon.CITIES)}
    keys = list(values)[: rng.choice((2, 3, 3))]
    listed = ", ".join(f"{key} {values[key]}" for key in keys)
    forms = (
        "Give me a JSON object with {}",
        "Reply in JSON: {}",
        "Return JSON with {}.",
        "Answer with a JSON object: {}",
    )
    return Turn(rng.choice(forms).format(listed), "I answer with JSON.", json.dumps({key: values[key] for key in keys}))
