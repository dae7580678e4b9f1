"""ReasoningSplitter: what a model thinks, told from what it answers."""

from __future__ import annotations

from enum import Enum

from reference_server.engine.detokenizer import length_begun


class Place(Enum):
    """Where in an answer the text has got to."""

    BEGINNING = "beginning"
    THOUGHT = "thought"
    GAP = "gap"
    ANSWER = "answer"


class ReasoningSplitter:
    """A text that comes in pieces, divided into a thought and an answer, wherever the pieces are cut.

    opening, closing: the texts around a thought. opened: the prompt has opened it already; a text that opens it
    once more says nothing new by that.

    A thought stands at the very beginning, but for white space, or there is none; unclosed, it is all there is.
    Line breaks at its ends and before the answer are not part of either, as templates of Qwen3 read them.
    """

    def __init__(self, opening: str, closing: str, *, opened: bool) -> None:
        self._opening = opening
        self._closing = closing
        self._opened = opened
        self._place = Place.BEGINNING
        self._started = False  # whether anything of the thought was there
        self._held = ""

    @property
    def thinking(self) -> bool:
        """Whether more of a thought may come."""
        return self._place in (Place.BEGINNING, Place.THOUGHT)

    def push(self, text: str) -> tuple[str, str]:
        """(thought, answer) that the text adds for certain."""
        thought = ""
        self._held += text
        if self._place is Place.BEGINNING:
            self._begin()
        if self._place is Place.THOUGHT:
            thought = self._think()
        if self._place is Place.GAP:
            self._held = self._held.lstrip("\n")
            if self._held:
                self._place = Place.ANSWER
        if self._place is not Place.ANSWER:
            return thought, ""
        answer, self._held = self._held, ""
        return thought, answer

    def flush(self) -> tuple[str, str]:
        """(thought, answer) that was held back, once no more text comes."""
        held, self._held = self._held, ""
        if self._opened:
            return held.strip("\n") if self._place is Place.BEGINNING else held.rstrip("\n"), ""
        return "", held

    def _begin(self) -> None:
        text = self._held.lstrip()
        if text.startswith(self._opening):
            self._opened = True
            text = text.removeprefix(self._opening)
        elif self._opening.startswith(text):
            return  # nothing yet, or perhaps the beginning of the opening
        elif self._opened:
            text = self._held
        else:
            self._place = Place.ANSWER
            return
        self._place = Place.THOUGHT
        self._held = text

    def _think(self) -> str:
        if not self._started:
            self._held = self._held.lstrip("\n")
            self._started = bool(self._held)
        thought, closing, rest = self._held.partition(self._closing)
        if closing:
            self._place, self._held = Place.GAP, rest
            return thought.rstrip("\n")
        certain = len(self._held) - length_begun(self._held, (self._closing,))
        certain = len(self._held[:certain].rstrip("\n"))
        thought, self._held = self._held[:certain], self._held[certain:]
        return thought
