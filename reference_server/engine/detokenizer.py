"""Token ids to text, one token at a time: whole characters only."""

from __future__ import annotations

from copy import copy
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from tokenizers import Tokenizer

REPLACEMENT = "\ufffd"
# A character is at most four bytes, so at most three replacement characters can stand for its beginning.
MAX_PARTIAL_LENGTH = 3
# Bytes that never become characters, or tokens without text, must not make the window grow for ever.
MAX_WINDOW = 16
SHORTENED_WINDOW = 8


class Detokenizer:
    """The text of a growing list of token ids, released only when later tokens can no longer change it.

    A character cut across tokens is held back until it is whole. Bytes that can never become a character are
    shown as U+FFFD, as the tokenizer itself does; at the end an unfinished character is dropped.

    The tokenizer decodes a short window: the ids since the last whole character, after those before them,
    because some tokenizers drop the space before the first token they are given.

    whole: the text of a token that adds just that wherever it stands, None for others: those need no tokenizer.
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
        self._ends_in_partial = False  # whether the window ends in what may be the beginning of a character
        self._window: list[int] = []
        self._settled = 0  # how many ids at the window's beginning are only there for what follows
        self._shown = 0  # how many characters of the window's text were released already

    def fork(self) -> Detokenizer:
        """Another one that begins with the same tokens."""
        other = copy(self)
        other._window = list(self._window)
        return other

    def push(self, token_id: int) -> str:
        """The text that this token makes certain; possibly empty."""
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
        """Forget the ids before `first`; what remains was shown, but for the unfinished end."""
        del self._window[:first]
        self._settled = len(self._window)
        text = self._decode()
        self._shown = len(text) - _partial_length(text)
        self._ends_in_partial = self._shown < len(text)


def _partial_length(text: str) -> int:
    """How many characters at the end may stand for the beginning of one character."""
    end = text[-MAX_PARTIAL_LENGTH:]
    return len(end) - len(end.rstrip(REPLACEMENT))


class StopScanner:
    """Text with stop texts in it, cut where the first one ends a sequence.

    The match that ends first wins, of those the one that begins first: so the result does not depend on how
    the text was cut into pieces. Text that may be the beginning of a stop text is held back.
    """

    def __init__(self, stops: tuple[str, ...], include_stop: bool) -> None:
        self._stops = stops
        self._include_stop = include_stop
        self._held = ""
        self.matched: str | None = None  # the stop text that ended the sequence

    def push(self, text: str) -> tuple[str, bool]:
        """(text to release, whether a stop text was found); after a find, nothing more may be pushed."""
        if not self._stops:
            return text, False
        text = self._held + text
        found = [(at + len(stop), at) for stop in self._stops if (at := text.find(stop)) >= 0]
        if found:
            end, begin = min(found)
            self._held = ""
            self.matched = text[begin:end]
            return text[: end if self._include_stop else begin], True
        cut = len(text) - partial_match_length(text, self._stops)
        self._held = text[cut:]
        return text[:cut], False

    def flush(self) -> str:
        """What was held back, once no stop text can come any more."""
        held, self._held = self._held, ""
        return held


def partial_match_length(text: str, targets: tuple[str, ...]) -> int:
    """Length of the longest end of the text that begins one of some texts, and is not all of it."""
    longest = max(map(len, targets)) - 1
    for length in range(min(longest, len(text)), 0, -1):
        end = text[-length:]
        if any(whole.startswith(end) for whole in targets):
            return length
    return 0
