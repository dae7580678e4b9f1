"""The only way by which an upstream's words reach clients and the log: without secrets, addresses, paths and e-mail.

A key is removed by its value, because any field of an answer can contain it, in the encodings in which servers echo
headers. Text and key are compared after they were folded: escapes decoded, letters in lower case, everything but
letters and digits left out. So one comparison covers other letter case, separators within hexadecimal digits, line
breaks within base64, and both alphabets of base64.
"""

from __future__ import annotations

import base64
import re
from html import unescape
from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

MAX_MESSAGE_LENGTH: Final = 500
MAX_READ_LENGTH: Final = 8_192
"""Number of characters that are looked at. The time is linear in it: a few milliseconds."""
REDACTED: Final = "[redacted]"
WINDOW: Final = 8
"""Number of consecutive folded characters of a key that are removed, so that a truncated echo is removed too.

A shorter key is removed only where it stands as a word of its own, because it could be a part of ordinary words.
"""
ESCAPE_LEVELS: Final = 3

ESCAPE: Final = re.compile(
    r"\\{1,4}(?:u(?P<json>[0-9a-fA-F]{4})|x(?P<hex>[0-9a-fA-F]{2})|(?P<plain>[/\"']))"
    r"|%(?P<percent>[0-9a-fA-F]{2})|(?P<html>&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[a-z]{2,6});)"
)
WORD_CHARACTER: Final = re.compile(r"[\w+/=%\\&#;*~.-]")
ADDRESS: Final = re.compile(
    r"(?<![\w+.-])[a-z][a-z0-9+.-]*://\S+|\b\d{1,3}(?:\.\d{1,3}){3}(?::\d+)?\b|(?<![\w.-])[\w.-]+:\d{2,5}\b"
    r"|\[?(?<![\w:])(?:[0-9a-f]{0,4}:){2,7}[0-9a-f]{1,4}(?![\w:])\]?(?::\d+)?"
    r"|(?<![\w.-])(?:[\w-]+\.)+(?:local|internal|intranet|localdomain|lan|corp|svc|cluster|private)\b",
    re.IGNORECASE,
)
E_MAIL: Final = re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){0,8}")
PATH: Final = re.compile(r"(?<![\w.<])(?:~|\.{1,2})?/[\w.@+/-]+|\b[A-Za-z]:\\[^\s\"']+")
CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+")


class _Character(NamedTuple):
    """A character after decoding, and the part of the original text that it comes from."""

    value: str
    start: int
    end: int


class ForeignText:
    """Cleans the words of upstreams.

    secrets: keys that no client and no log may see.
    names: names of the upstream, and what clients see instead.
    """

    def __init__(self, secrets: Iterable[str] = (), names: Mapping[str, str] | None = None) -> None:
        secrets = tuple(secrets)
        self._short = sorted({secret for secret in secrets if len(_fold(secret)) < WINDOW}, key=len, reverse=True)
        self._parts = frozenset(part for secret in secrets for part in _parts(secret))
        self._names = {name: shown for name, shown in (names or {}).items() if name}

    def clean(self, words: str) -> str:
        """Return words that a client or the log may see: one line of limited length, possibly empty."""
        words = self._redact(words[:MAX_READ_LENGTH])
        for (
            name,
            shown,
        ) in self._names.items():  # only as a word of its own: as a part of another word it is another name
            words = re.sub(rf"(?<![\w.-]){re.escape(name)}(?![\w-])", shown.replace("\\", "\\\\"), words)
        words = ADDRESS.sub("...", E_MAIL.sub("...", CONTROL.sub(" ", words)))
        words = PATH.sub(lambda match: "..." if any(map(str.isalpha, match[0])) else match[0], words)
        return words if len(words) <= MAX_MESSAGE_LENGTH else words[: MAX_MESSAGE_LENGTH - 3] + "..."

    def _redact(self, words: str) -> str:
        for secret in self._short:
            words = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", REDACTED, words)
        if not self._parts:
            return words
        spans = self._find(words)
        if not spans:
            return words
        pieces, done = [], 0
        for start, end in spans:
            pieces += [words[done:start], REDACTED]
            done = end
        redacted = "".join([*pieces, words[done:]])
        return "" if self._find(redacted) else redacted  # what cannot be cut out is withheld as a whole

    def _find(self, words: str) -> list[tuple[int, int]]:
        """Return the parts of the words that contain a key, each with the rest of its word, in order and disjoint."""
        characters = [_Character(value, at, at + 1) for at, value in enumerate(words)]
        hits: list[tuple[int, int]] = []
        for level in range(ESCAPE_LEVELS + 1):
            hits += self._hits(characters)
            decoded = _decode(characters) if level < ESCAPE_LEVELS else characters
            if len(decoded) == len(characters):
                break
            characters = decoded
        spans: list[tuple[int, int]] = []
        for start, end in sorted(hits):
            done = spans[-1][1] if spans else 0
            if end <= done:
                continue
            while start > done and WORD_CHARACTER.match(words[start - 1]):
                start -= 1
            while end < len(words) and WORD_CHARACTER.match(words[end]):
                end += 1
            if spans and start <= done:
                spans[-1] = (spans[-1][0], end)
            else:
                spans.append((start, end))
        return spans

    def _hits(self, characters: list[_Character]) -> Iterator[tuple[int, int]]:
        kept = [character for character in characters if character.value.isascii() and character.value.isalnum()]
        folded = "".join(character.value for character in kept).lower()
        last = -1
        for at in range(len(folded) - WINDOW + 1):
            if folded[at : at + WINDOW] in self._parts:
                if kept[at].start < last:  # one hit for a whole key
                    yield last, kept[at + WINDOW - 1].end
                else:
                    yield kept[at].start, kept[at + WINDOW - 1].end
                last = kept[at + WINDOW - 1].end


def _fold(text: str) -> str:
    return "".join(character for character in text.lower() if character.isascii() and character.isalnum())


def _parts(secret: str) -> Iterator[str]:
    """Yield every window of the folded secret, plain and encoded, also encoded twice."""
    once = list(_encodings(secret))
    for encoded in (secret, *once, *(twice for text in once for twice in _encodings(text))):
        folded = _fold(encoded)
        yield from (folded[at : at + WINDOW] for at in range(len(folded) - WINDOW + 1))


def _encodings(text: str) -> Iterator[str]:
    """Yield the text in hexadecimal, and in base64 at each offset that it can have in encoded bytes, as in `user:key`.

    The characters of base64 that depend on other bytes too are left out.
    """
    raw = text.encode()
    yield raw.hex()
    for shift in range(3):
        first, last = -(-8 * shift // 6), 8 * (shift + len(raw)) // 6
        yield base64.b64encode(bytes(shift) + raw).decode()[first:last]
        yield base64.urlsafe_b64encode(bytes(shift) + raw).decode()[first:last]


def _decode(characters: list[_Character]) -> list[_Character]:
    """Decode one level of the escapes of JSON, URLs and HTML."""
    text = "".join(character.value for character in characters)
    decoded: list[_Character] = []
    done = 0
    for match in ESCAPE.finditer(text):
        decoded += characters[done : match.start()]
        done = match.end()
        start, end = characters[match.start()].start, characters[done - 1].end
        decoded += (_Character(value, start, end) for value in _unescape(match))
    return [*decoded, *characters[done:]]


def _unescape(match: re.Match[str]) -> str:
    code = match["json"] or match["hex"] or match["percent"]
    if code:
        return chr(int(code, 16))
    return match["plain"] or unescape(match["html"])
