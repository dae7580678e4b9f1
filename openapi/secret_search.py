"""Find secrets in what a server sent, in any letter case, with escapes, and in usual encodings. Time is linear."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple

from openapi.folded_text import MAX_LEVELS, FoldedText, decode_escapes, fold, remove_separators
from openapi.secret_encodings import list_forms

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from openapi.folded_text import Span

SHORTEST: Final = 8
"""Length of the shortest word that is searched for. A shorter one would match ordinary text."""


SHORTEST_PART: Final = 4
"""Length of the shortest part of a secret that is found at the end of a string that was cut off."""
MAX_PART: Final = 4096
MAX_FOUND: Final = 100_000
"""Places in one text. A server that echoes a secret more often only wants to keep us busy."""


class TooManyFound(Exception):
    """A string contains secrets at more places than are handled."""


class FoundSecret(NamedTuple):
    """Where a secret is written, and its index in the list of secrets."""

    start: int
    end: int
    secret: int


class SecretSearch:
    """Searches for one or more secrets. Where they overlap, the place belongs to the one that is listed first."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._forms = [[fold(form.encode()) for form in list_forms(secret)] for secret in secrets]
        self._words: dict[tuple[int, bool], list[tuple[bytes, int]]] = {}

    def find(self, data: bytes, check_time: Callable[[], None] = lambda: None) -> list[FoundSecret]:
        """Return where secrets are written, in order and without overlaps.

        `check_time` is called during long work and may raise an exception to end it. Raises TooManyFound.
        """
        text = FoldedText(data, check_time)
        found: list[FoundSecret] = []
        for level, compact, view in text.views():
            check_time()
            words = self._words_in(level, compact=compact)
            every = ((*span, secret) for word, secret in words for span in _find_all(view, word))
            hits = list(islice(every, MAX_FOUND - len(found) + 1))
            if len(found) + len(hits) > MAX_FOUND:
                raise TooManyFound
            if hits:
                spans = [(start, end) for start, end, _ in hits]
                places = text.map_to_source(level, compact, spans) if level or compact else spans
                found += [FoundSecret(*place, hit[2]) for place, hit in zip(places, hits, strict=True)]
                if not compact:
                    text.clear(level, spans)
        return _join(sorted(found))

    def find_part(self, data: bytes, *, at_end: bool) -> FoundSecret | None:
        """Return the longest part of a secret at which a string was cut off: a beginning at its end, or the reverse."""
        text = fold(data[-MAX_PART:] if at_end else data[:MAX_PART])
        longest, found = SHORTEST_PART - 1, None
        for word, secret in self._words_in(0, compact=False):
            for size in range(min(len(word) - 1, len(text)), longest, -1):
                if text.endswith(word[:size]) if at_end else text.startswith(word[-size:]):
                    longest, start = size, len(data) - size if at_end else 0
                    found = FoundSecret(start, start + size, secret)
                    break
        return found

    def replace(self, text: str, marks: Sequence[str]) -> str:
        """Return the string with the mark of a secret in place of each secret."""
        data = text.encode(errors="surrogatepass")
        found = self.find(data)
        if not found:
            return text
        edits = [(item.start, item.end, marks[item.secret].encode()) for item in found]
        return apply_edits(data, edits).decode(errors="surrogatepass")

    def _words_in(self, level: int, *, compact: bool) -> list[tuple[bytes, int]]:
        """Return what to search for in a view, with the index of the secret.

        A secret may itself contain what looks like an escape. Then it changes with each level that is decoded, unless
        it was escaped often enough.
        """
        if (level, compact) not in self._words:
            words: dict[bytes, int] = {}
            for secret, forms in enumerate(self._forms):
                for form in forms:
                    word = form
                    for _ in range(min(level, MAX_LEVELS) + 1):
                        words.setdefault(remove_separators(word) if compact else word, secret)
                        word = decode_escapes(word)
            self._words[level, compact] = [item for item in words.items() if len(item[0]) >= SHORTEST]
        return self._words[level, compact]


def _find_all(text: bytes, word: bytes) -> Iterator[Span]:
    at = text.find(word)
    while at >= 0:
        yield at, at + len(word)
        at = text.find(word, at + len(word))


def _join(found: Iterable[FoundSecret]) -> list[FoundSecret]:
    """Join overlapping places, which are in order."""
    joined: list[FoundSecret] = []
    for item in found:
        if joined and item.start < joined[-1].end:
            last = joined[-1]
            joined[-1] = FoundSecret(last.start, max(last.end, item.end), min(last.secret, item.secret))
        else:
            joined.append(item)
    return joined


def apply_edits(data: bytes, edits: Iterable[tuple[int, int, bytes]]) -> bytes:
    """Return the bytes with each span (start, end) replaced; the spans are in order and do not overlap."""
    pieces: list[bytes] = []
    done = 0
    for start, end, instead in edits:
        pieces += (data[done:start], instead)
        done = end
    return b"".join([*pieces, data[done:]])
