"""Cuts the text of an answer at the first stop string."""

from __future__ import annotations

from reference_server.engine.partial_match import partial_match_length


class StopScanner:
    """Scanner that cuts text at the first stop string.

    The match that ends first wins; among those, the one that begins first. So the result does not depend on how the
    text is split into pieces. Text that may be the beginning of a stop string is held back.

    matched: the stop string that ended the text; None until one is found.
    """

    def __init__(self, stops: tuple[str, ...], include_stop: bool) -> None:
        self._stops = stops
        self._include_stop = include_stop
        self._buffer = ""
        self.matched: str | None = None

    def push(self, text: str) -> tuple[str, bool]:
        """Return (text to release, whether a stop string was found). Do not call it again after a match."""
        if not self._stops:
            return text, False
        text = self._buffer + text
        matches = [(at + len(stop), at) for stop in self._stops if (at := text.find(stop)) >= 0]
        if matches:
            end, begin = min(matches)
            self._buffer = ""
            self.matched = text[begin:end]
            return text[: end if self._include_stop else begin], True
        cut = len(text) - partial_match_length(text, self._stops)
        self._buffer = text[cut:]
        return text[:cut], False

    def flush(self) -> str:
        """Return the text that was held back, when no more text follows."""
        buffered, self._buffer = self._buffer, ""
        return buffered
