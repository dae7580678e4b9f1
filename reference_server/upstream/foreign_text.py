"""The only way by which an upstream's words reach clients and the log: without secrets, addresses, paths and e-mail.

A key is removed by its value, because any field of an answer can contain it, in the encodings in which servers echo
headers. A part of a key is enough, unlike where records are redacted: the word around it is removed too.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from openapi.folded_text import FoldedText, fold, remove_separators
from openapi.secret_encodings import list_forms
from openapi.secret_search import apply_edits

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from openapi.folded_text import Span

MAX_MESSAGE_LENGTH: Final = 500
MAX_READ_LENGTH: Final = 8_192
"""Number of characters that are looked at. The time is linear in it: a few milliseconds."""
REDACTED: Final = "[redacted]"
WINDOW: Final = 8
"""Number of consecutive folded characters of a key that are removed, so that a truncated echo is removed too.

A shorter key is removed only where it stands as a word of its own, because it could be a part of ordinary words.
"""
WORD_CHARACTER: Final = re.compile(rb"[\w+/=%\\&#;*~.\x80-\xff-]")
ADDRESS: Final = re.compile(
    r"(?<![\w+.-])[a-z][a-z0-9+.-]*://\S+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|(?<![\w.-])[\w.-]+:\d{2,5}\b"
    r"|\[?(?<![\w:])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{1,4}(?![\w:])\]?(?::\d+)?"
    r"|(?<![\w.-])(?:[\w-]+\.)+(?:local|internal|intranet|localdomain|lan|corp|svc|cluster|private)\b",
    re.IGNORECASE,
)
E_MAIL: Final = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}")
PATH: Final = re.compile(r"(?<![\w.<])(?:~|\.{1,2})?/[\w.@+/-]+|\b[A-Za-z]:\\[^\s\"']+")
CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+")


class ForeignText:
    """Cleans the words of upstreams.

    secrets: keys that no client and no log may see.
    names: names of the upstream, and what clients see instead.
    """

    def __init__(self, secrets: Iterable[str] = (), names: Mapping[str, str] | None = None) -> None:
        secrets = tuple(secrets)
        self._short = sorted(
            {secret for secret in secrets if len(_fold(secret.encode())) < WINDOW}, key=len, reverse=True
        )
        self._parts = frozenset(part for secret in secrets for part in _parts(secret))
        self._names = {name: shown for name, shown in (names or {}).items() if name}

    def clean(self, words: str) -> str:
        """Return words that a client or the log may see: one line of limited length, possibly empty."""
        words = self._redact(words[:MAX_READ_LENGTH])
        for name, shown in self._names.items():
            # Only as a word of its own: as a part of another word it is another name.
            words = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", shown.replace("\\", "\\\\"), words)
        words = ADDRESS.sub("...", E_MAIL.sub("...", CONTROL.sub(" ", words)))
        words = PATH.sub(lambda match: "..." if any(map(str.isalpha, match[0])) else match[0], words)
        return words if len(words) <= MAX_MESSAGE_LENGTH else words[: MAX_MESSAGE_LENGTH - 3] + "..."

    def _redact(self, words: str) -> str:
        for secret in self._short:
            words = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", REDACTED, words)
        data = words.encode(errors="surrogatepass")
        if not self._parts or not (spans := self._find(data)):
            return words
        redacted = apply_edits(data, ((start, end, REDACTED.encode()) for start, end in spans))
        return "" if self._find(redacted) else redacted.decode(errors="replace")  # else it is withheld as a whole

    def _find(self, data: bytes) -> list[Span]:
        """Return the places that contain a key, each with the rest of its word, in order and disjoint."""
        text = FoldedText(data)
        hits: list[Span] = []
        for level, compact, view in text.views():
            windows = range(len(view) - WINDOW + 1)
            found = [(at, at + WINDOW) for at in windows if view[at : at + WINDOW] in self._parts]
            hits += text.map_to_source(level, compact, found) if found and (level or compact) else found
        spans: list[Span] = []
        for start, end in sorted(hits):
            done = spans[-1][1] if spans else 0
            if end <= done:
                continue
            while start > done and WORD_CHARACTER.match(data, start - 1):
                start -= 1
            while end < len(data) and WORD_CHARACTER.match(data, end):
                end += 1
            if spans and start <= done:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
        return spans


def _fold(data: bytes) -> bytes:
    return remove_separators(fold(data))


def _parts(secret: str) -> Iterator[bytes]:
    """Yield every window of the folded secret, plain and encoded, with and without separators."""
    for form in list_forms(secret):
        for folded in {fold(form.encode()), _fold(form.encode())}:
            yield from (folded[at : at + WINDOW] for at in range(len(folded) - WINDOW + 1))
