"""Incremental detokenization into whole characters."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenizers import Tokenizer

REPLACEMENT = "\ufffd"
# A character has at most four bytes, so at most three replacement characters can represent its beginning.
MAX_PARTIAL_LENGTH = 3
# Limit the window for bytes that never become characters and for tokens without text.
MAX_WINDOW = 16
SHORTENED_WINDOW = 8


class Detokenizer:
    """Incremental decoder that releases text only when later tokens can no longer change it.

    A character that is split across tokens is held back until it is complete. Bytes that can never become a character
    are shown as U+FFFD, as the tokenizer does; an incomplete character at the end is dropped.

    The tokenizer decodes a short window: the ids after the last complete character and some ids in front of them,
    because some tokenizers drop the space of the first token in their input.

    context_free_text: returns the text of a token that adds the same text in every context, None for other tokens; only
        those others are sent to the tokenizer.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        skip_special_tokens: bool,
        context_free_text: Callable[[int], str | None] | None = None,
    ) -> None:
        self._tokenizer = tokenizer
        self._skip_special_tokens = skip_special_tokens
        self._context_free_text = context_free_text
        self._ends_in_partial = False  # whether the window may end in the middle of a character
        self._window: list[int] = []
        self._settled = 0  # number of ids at the start of the window that only provide context
        self._shown = 0  # number of characters of the window's text that were released

    def fork(self) -> Detokenizer:
        """Return an independent copy."""
        other = copy(self)
        other._window = list(self._window)
        return other

    def push(self, token_id: int) -> str:
        """Return the text that this token completes; may be empty."""
        if self._context_free_text is not None and not self._ends_in_partial and self._settled == len(self._window):
            text = self._context_free_text(token_id)
            if text is not None:
                self._window = [token_id]
                self._settled, self._shown = 1, len(text)
                return text
        self._window.append(token_id)
        text = self._decode()
        certain = len(text) - _partial_length(text)
        new = text[self._shown : certain]
        self._shown = max(self._shown, certain)
        if new and certain == len(text):
            self._keep(self._settled)
        elif len(self._window) > MAX_WINDOW:
            self._keep(MAX_WINDOW - SHORTENED_WINDOW)
        return new

    def _decode(self) -> str:
        return self._tokenizer.decode(self._window, skip_special_tokens=self._skip_special_tokens)

    def _keep(self, first: int) -> None:
        """Drop the ids before index `first`; the others are released except for an incomplete character at the end."""
        del self._window[:first]
        self._settled = len(self._window)
        text = self._decode()
        self._shown = len(text) - _partial_length(text)
        self._ends_in_partial = self._shown < len(text)


def _partial_length(text: str) -> int:
    """Return how many characters at the end may be the beginning of one character."""
    end = text[-MAX_PARTIAL_LENGTH:]
    return len(end) - len(end.rstrip(REPLACEMENT))
