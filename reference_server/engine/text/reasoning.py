"""ReasoningSplitter: what a model thinks, told from what it answers."""

from __future__ import annotations

from enum import Enum

from reference_server.engine.detokenizer import partial_match_length


class ReasoningState(Enum):
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
        self._state = ReasoningState.BEGINNING
        self._started = False  # whether anything of the thought was there
        self._buffer = ""

    @property
    def thinking(self) -> bool:
        """Whether more of a thought may come."""
        return self._state in (ReasoningState.BEGINNING, ReasoningState.THOUGHT)

    def push(self, text: str) -> tuple[str, str]:
        """(thought, answer) that the text adds for certain."""
        thought = ""
        self._buffer += text
        if self._state is ReasoningState.BEGINNING:
            self._begin()
        if self._state is ReasoningState.THOUGHT:
            thought = self._think()
        if self._state is ReasoningState.GAP:
            self._buffer = self._buffer.lstrip("\n")
            if self._buffer:
                self._state = ReasoningState.ANSWER
        if self._state is not ReasoningState.ANSWER:
            return thought, ""
        answer, self._buffer = self._buffer, ""
        return thought, answer

    def flush(self) -> tuple[str, str]:
        """(thought, answer) that was held back, once no more text comes."""
        held, self._buffer = self._buffer, ""
        if self._opened:
            return held.strip("\n") if self._state is ReasoningState.BEGINNING else held.rstrip("\n"), ""
        return "", held

    def _begin(self) -> None:
        text = self._buffer.lstrip()
        if text.startswith(self._opening):
            self._opened = True
            text = text.removeprefix(self._opening)
        elif self._opening.startswith(text):
            return  # nothing yet, or perhaps the beginning of the opening
        elif self._opened:
            text = self._buffer
        else:
            self._state = ReasoningState.ANSWER
            return
        self._state = ReasoningState.THOUGHT
        self._buffer = text

    def _think(self) -> str:
        if not self._started:
            self._buffer = self._buffer.lstrip("\n")
            self._started = bool(self._buffer)
        thought, closing, rest = self._buffer.partition(self._closing)
        if closing:
            self._state, self._buffer = ReasoningState.GAP, rest
            return thought.rstrip("\n")
        certain = len(self._buffer) - partial_match_length(self._buffer, (self._closing,))
        certain = len(self._buffer[:certain].rstrip("\n"))
        thought, self._buffer = self._buffer[:certain], self._buffer[certain:]
        return thought
