"""Fold a string so that one search finds a word in any letter case and with any usual escapes. Time is linear.

The views of a string are made from one another: lower case, then up to `MAX_LEVELS` times with one level of escapes
decoded (JSON, Python, JavaScript, C, URL, HTML). Each of them also exists without the separators that are written
between hexadecimal bytes and into long base64. Spans of a view are mapped back to the string only when there are any.
"""

from __future__ import annotations

import re
from html.entities import html5
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

Span = tuple[int, int]

MAX_LEVELS: Final = 4
"""Levels of escapes that are decoded. JSON in JSON counts as one, as a run of backslashes counts as one backslash."""
CHECK_EVERY: Final = 1 << 15
"""Escapes between two checks of the time."""
SEPARATORS: Final = b" \t\r\n:;,.-"
_ESCAPE: Final = re.compile(
    # Whatever follows a run of backslashes ends the match, so that no part of a run is read twice.
    rb"\\++(?:u000000([0-9a-f]{2})|u00([0-9a-f]{2})|[ux]\{0{0,6}([0-9a-f]{1,2})\}|x([0-9a-f]{2})|([0-3][0-7]{2})|(.)|\Z)"
    rb"|%(?:u00)?([0-9a-f]{2})"
    rb"|&(?:#x0{0,6}([0-9a-f]{1,2})|#0{0,6}([0-9]{1,3})|([a-z]{2,8}));?",
    re.DOTALL,
)
_OCTAL, _SINGLE, _DECIMAL, _NAMED = 5, 6, 9, 10  # groups; the others are hexadecimal
_WHITESPACE: Final = frozenset(b"nrtbfva")
_ENTITIES: Final = {
    name.rstrip(";").lower().encode(): character.lower().encode()
    for name, character in html5.items()
    if len(character) == 1 and " " <= character <= "~"
}
_BETWEEN: Final = re.compile(rb"0x|[ \t\r\n:;,.-]+")


def _ignore_time() -> None: ...


def fold(data: bytes) -> bytes:
    """Return the string in lower case. Its length does not change."""
    return data.lower()


def remove_separators(data: bytes) -> bytes:
    """Return a folded string without separators and prefixes of hexadecimal bytes."""
    return data.replace(b"0x", b"").translate(None, SEPARATORS)


def decode_escapes(data: bytes, check_time: Callable[[], None] = _ignore_time) -> bytes:
    """Return a folded string with one level of its escapes decoded."""
    if b"\\" not in data and b"%" not in data and b"&" not in data:
        return data
    decoded, done = bytearray(), 0
    for start, end, instead in _escapes(data, check_time):
        decoded += data[done:start]
        decoded += instead
        done = end
    return bytes(decoded + data[done:])


class FoldedText:
    """A string and its views. `check_time` is called during long work and may raise an exception to end it."""

    def __init__(self, data: bytes, check_time: Callable[[], None] = _ignore_time) -> None:
        self._levels = [fold(data)]
        self._check_time = check_time

    def views(self) -> Iterator[tuple[int, bool, bytes]]:
        """Yield the level, whether separators are removed, and the view."""
        for level in range(MAX_LEVELS + 1):
            yield level, False, self._levels[level]
            text = self._levels[level]
            compact = remove_separators(text)
            if len(compact) != len(text):
                yield level, True, compact
            decoded = decode_escapes(text, self._check_time)
            if decoded == text:
                return
            self._levels.append(decoded)

    def clear(self, level: int, spans: Iterable[Span]) -> None:
        """Overwrite spans of a level, so that the views that are made of it later do not contain them."""
        text = bytearray(self._levels[level])
        for start, end in spans:
            text[start:end] = bytes(end - start)
        self._levels[level] = bytes(text)

    def map_to_source(self, level: int, compact: bool, spans: Iterable[Span]) -> list[Span]:
        """Map spans of a view to spans of the string."""
        mapped = list(spans)
        if compact:
            tokens = ((*match.span(), b"") for match in _BETWEEN.finditer(self._levels[level]))
            mapped = self._map(mapped, tokens)
        for below in range(level - 1, -1, -1):
            mapped = self._map(mapped, _escapes(self._levels[below], self._check_time))
        return mapped

    def _map(self, spans: Sequence[Span], tokens: Iterable[tuple[int, int, bytes]]) -> list[Span]:
        """Map spans of a string in which tokens (start, end, what replaced it) were replaced, in one pass."""
        wanted = sorted({start for start, _ in spans} | {end - 1 for _, end in spans})
        places: dict[int, Span] = {}
        at = shift = 0  # the index in `wanted`; the place in the source minus the place in the view
        for number, (start, end, instead) in enumerate(tokens):
            if number % CHECK_EVERY == 0:
                self._check_time()
            while wanted[at] + shift < start:
                places[wanted[at]] = (wanted[at] + shift, wanted[at] + shift + 1)
                at += 1
                if at == len(wanted):
                    break
            else:
                while at < len(wanted) and wanted[at] + shift < start + len(instead):
                    places[wanted[at]] = (start, end)
                    at += 1
            if at == len(wanted):
                break
            shift += end - start - len(instead)
        places |= {index: (index + shift, index + shift + 1) for index in wanted[at:]}
        return [(places[start][0], places[end - 1][1]) for start, end in spans]


def _escapes(data: bytes, check_time: Callable[[], None]) -> Iterator[tuple[int, int, bytes]]:
    """Yield each escape of a folded string: its start, its end, and what it stands for."""
    for number, match in enumerate(_ESCAPE.finditer(data)):
        if number % CHECK_EVERY == 0:
            check_time()
        written = match[0]
        yield match.start(), match.end(), _KNOWN.get(written) or _decode(match)


def _decode(match: re.Match[bytes]) -> bytes:
    """Return what an escape stands for; characters other than ASCII do not matter and become a question mark."""
    group = match.lastindex
    if group is None:
        return b"\\"  # at the end of the string
    written = match[group]
    if group == _SINGLE:
        return b"\n" if written[0] in _WHITESPACE else written
    if group == _NAMED:
        return _ENTITIES.get(written, match[0])
    code = int(written, 8 if group == _OCTAL else 10 if group == _DECIMAL else 16)
    return bytes((code,)).lower() if code < 128 else b"?"


_KNOWN: Final = {
    form % code: bytes((code,)).lower() for code in range(32, 127) for form in (b"\\u%04x", b"\\x%02x", b"%%%02x")
}
"""Common escapes and what they stand for, as looking them up takes less time than decoding."""
