"""Stop strings that are cut from an earlier answer."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

NEVER_GENERATED = "\ue000\ue001"
"""Private-use characters, which no model generates."""


@dataclass(frozen=True, slots=True)
class StopFrom:
    """A stop string that is cut from the answer to an earlier step: `length` characters from its middle, start or end.

    The place may also be the first `mark`, characters that are not compared literally in a regular expression, the
    first `blank`, or the `limit`: the fewest last characters, at least `length`, that occur nowhere else in the answer.
    An answer to the same request with this stop string ends at its limit and with the string at once.

    `form` says how `stop` is made from the piece:

    - `text`: the piece itself;
    - `listed`: a list with the piece only;
    - `last-of-two`: a list of two; the piece comes last, after one that begins like it;
    - `last-of-many`: a list of `size`; the piece comes last, after a string that occurs later in the answer and others
      that do not occur in it. Lists are as long as the contract allows, at most 24;
    - `unfinished`: the piece and characters that do not follow it, so that the stop string never matches as a whole;
    - `other-case`: the piece with upper and lower case swapped, so that it does not occur in the answer.

    `choice` is the index of the choice that the piece is cut from. The first that no other choice has is taken.

    A piece from the end is always `unfinished`: if it matched, the answer would end where it ends anyway.
    """

    step: str
    length: int
    place: Literal["middle", "start", "end", "limit", "mark", "blank", "line-end"] = "middle"
    choice: int = 0
    size: int = 4
    form: Literal["text", "listed", "last-of-two", "last-of-many", "unfinished", "other-case"] = "text"

    def cut_from(self, texts: Mapping[int, str]) -> str | list[str] | None:
        """Return the value of `stop` for an answer with these choices; None if the choice has no such piece."""
        others = [text for index, text in texts.items() if self.choice and index != self.choice]
        return self.cut(texts.get(self.choice, ""), others)

    def cut(self, text: str, others: Sequence[str] = ()) -> str | list[str] | None:
        """Return the value of `stop` for one choice; None if it has no piece that the others lack."""
        if self.place == "end":  # an earlier occurrence of the same piece is held back as well
            return text[-self.length :] + NEVER_GENERATED if text[-self.length :].strip() else None
        if self.place == "limit":
            ends = (text[-length:] for length in range(self.length, len(text)))
            return next((end for end in ends if end.strip() and text.find(end) == len(text) - len(end)), None)
        pieces = (text[start : start + self.length] for start in self._starts(text) if self._is_first(text, start))
        pieces = (piece for piece in pieces if not any(piece in other for other in others))
        if self.form == "other-case":
            swapped = (piece.swapcase() for piece in pieces if piece.isascii())
            return next((piece for piece in swapped if piece not in text), None)
        piece = next(pieces, None)
        if piece is None or self.form == "text":
            return piece
        if self.form == "unfinished":
            return piece + NEVER_GENERATED
        later = text[text.find(piece) + self.length :][-self.length :]
        if self.form == "listed":
            return [piece]
        if self.form == "last-of-two":
            return [piece + NEVER_GENERATED, piece]
        others_first = [later, NEVER_GENERATED, piece + NEVER_GENERATED]
        more = [f"{NEVER_GENERATED}{number}" for number in range(self.size - len(others_first) - 1)]
        return [*others_first, *more, piece] if len(later) == self.length else None

    def _starts(self, text: str) -> Iterable[int]:
        """Return where the piece may begin, the best place first."""
        match self.place:
            case "start":
                return [0]
            case "mark":
                return [at for at in range(1, len(text)) if _is_pattern(text[at : at + self.length])]
            case "blank":
                return [at for at in range(1, len(text)) if not text[at : at + self.length].strip()]
            case "line-end":
                return [at for at in range(1, len(text)) if text[at] == "\n"]
            case _:
                return range(len(text) // 2, len(text) - self.length)

    def _is_first(self, text: str, start: int) -> bool:
        piece = text[start : start + self.length]
        fits = bool(piece.strip()) != (self.place in ("blank", "line-end"))
        return len(piece) == self.length and fits and text.find(piece) == start


def _is_pattern(text: str) -> bool:
    """Return whether a string, read as a regular expression, does not match itself."""
    try:
        return re.fullmatch(text, text) is None
    except re.error:
        return True
