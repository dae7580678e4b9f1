"""Separation of the reasoning from the answer, in text that arrives in pieces."""

from __future__ import annotations

from enum import Enum

from reference_server.engine.partial_match import partial_match_length


class ReasoningState(Enum):
    """The part of the answer that the text has reached."""

    BEGINNING = "beginning"
    REASONING = "reasoning"
    GAP = "gap"
    ANSWER = "answer"


class ReasoningSplitter:
    """Splitter of text into reasoning and answer; the result does not depend on how the text is split into pieces.

    opening, closing: markers around the reasoning.
    opened: whether the prompt has opened the reasoning; a repeated opening marker is then ignored.

    Reasoning can only be at the beginning, after white space at most; without a closing marker it is the whole text. As
    in the templates of Qwen3, line breaks around the reasoning and in front of the answer belong to neither.
    """

    def __init__(self, opening: str, closing: str, *, opened: bool) -> None:
        self._opening = opening
        self._closing = closing
        self._opened = opened
        self._state = ReasoningState.BEGINNING
        self._started = False  # whether reasoning was released
        self._buffer = ""

    @property
    def thinking(self) -> bool:
        """Whether more reasoning may follow."""
        return self._state in (ReasoningState.BEGINNING, ReasoningState.REASONING)

    def push(self, text: str) -> tuple[str, str]:
        """Return (reasoning, answer) that the text adds for certain."""
        reasoning = ""
        self._buffer += text
        if self._state is ReasoningState.BEGINNING:
            self._begin()
        if self._state is ReasoningState.REASONING:
            reasoning = self._think()
        if self._state is ReasoningState.GAP:
            self._buffer = self._buffer.lstrip("\n")
            if self._buffer:
                self._state = ReasoningState.ANSWER
        if self._state is not ReasoningState.ANSWER:
            return reasoning, ""
        answer, self._buffer = self._buffer, ""
        return reasoning, answer

    def flush(self) -> tuple[str, str]:
        """Return (reasoning, answer) that was held back, when no more text follows."""
        buffered, self._buffer = self._buffer, ""
        if self._opened:
            return buffered.strip("\n") if self._state is ReasoningState.BEGINNING else buffered.rstrip("\n"), ""
        return "", buffered

    def _begin(self) -> None:
        text = self._buffer.lstrip()
        if text.startswith(self._opening):
            self._opened = True
            text = text.removeprefix(self._opening)
        elif self._opening.startswith(text):
            return  # empty, or possibly the beginning of the opening marker
        elif self._opened:
            text = self._buffer
        else:
            self._state = ReasoningState.ANSWER
            return
        self._state = ReasoningState.REASONING
        self._buffer = text

    def _think(self) -> str:
        if not self._started:
            self._buffer = self._buffer.lstrip("\n")
            self._started = bool(self._buffer)
        reasoning, closing, rest = self._buffer.partition(self._closing)
        if closing:
            self._state, self._buffer = ReasoningState.GAP, rest
            return reasoning.rstrip("\n")
        certain = len(self._buffer) - partial_match_length(self._buffer, (self._closing,))
        certain = len(self._buffer[:certain].rstrip("\n"))
        reasoning, self._buffer = self._buffer[:certain], self._buffer[certain:]
        return reasoning
