"""Secrets such as the API key, and how to redact them in everything that a server echoes.

Redaction by header name is not enough. A server may return a key in bodies and in other headers, in base64 of
`user:key`, in hexadecimal, escaped for JSON, URLs or HTML, or split over the deltas of a stream, where only the joined
text shows it.
"""

from __future__ import annotations

import base64
import json
import re
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Final

from conformance.errors import HarnessError, UsageError
from openapi.stream import sse
from openapi.stream.accumulated_choice import is_index
from openapi.stream.strict_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from conformance.scenario import Alteration

REDACTED: Final = "[REDACTED]"
"""Replaces a key: safe inside JSON, an event stream, a header and a query string."""
SHORTEST: Final = 8
"""Length of the shortest allowed key. A shorter one would match ordinary text, and the record would be falsified."""

BEGINNING: Final = "[REDACTED-4]"
"""Replaces the beginning of a key: the key without its last four characters."""
CUT: Final = 4
"""How many characters an alteration cuts off or adds."""
MARK: Final = re.compile(r"\[REDACTED(?:-4|-(?P<variable>HEADER_[A-Z0-9_]+))?\]")
"""Matches what replaces a secret: the marks of the key, or that of a secret header with the shell variable of its
value. Servers choose model names, so a mark must not name a variable that contains anything else.
"""

_NAMED: Final = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}

Edit = tuple[int, int, bytes]
"""Start, end, and the bytes to put there."""


class Secret:
    """An API key or the value of a header; only `reveal` returns it.

    `mark` replaces it where it is redacted. Raises UsageError for a key that is too short or that is not printable
    ASCII without spaces. The value of a header may have spaces and has been checked when it was parsed.
    """

    __slots__ = ("_mark", "_patterns", "_value")

    def __init__(self, value: str, mark: str = REDACTED) -> None:
        if len(value) < SHORTEST:
            raise UsageError(
                f"the API key is too short: expected at least {SHORTEST} characters, got {len(value)}; an echo of it"
                " could not be distinguished from ordinary text: use a longer key, or none if the server needs none"
            )
        if not re.fullmatch(r"[!-~]+" if mark in (REDACTED, BEGINNING) else r"[ -~]+", value):
            raise UsageError("invalid API key: expected printable ASCII characters without spaces")
        self._value = value
        self._mark = mark.encode()
        self._patterns = [re.compile(form) for form in _forms(value)]

    def __repr__(self) -> str:
        return f"Secret({REDACTED!r})"

    def __reduce__(self) -> str:
        raise HarnessError("a secret cannot be pickled")

    def reveal(self) -> str:
        """Return the value, to be used in its header only."""
        return self._value

    def altered(self, alteration: Alteration) -> str:
        """Return a wrong key with the same beginning, to be used in the Authorization header only."""
        # Four characters: in base64, the last character alone may change without changing the decoded bytes.
        end = "0000" if not self._value.endswith("0000") else "1111"
        match alteration:
            case "other-end":
                return self._value[:-CUT] + end
            case "shorter":
                return self._value[:-CUT]
            case "longer":
                return self._value + end

    @property
    def mark(self) -> str:
        """The string that replaces the secret."""
        return self._mark.decode()

    @property
    def beginning(self) -> Secret | None:
        """The beginning of altered keys, as secret as the key; None if it is too short to be redacted."""
        return Secret(self._value[:-CUT], BEGINNING) if len(self._value) >= SHORTEST + CUT else None

    def redact(self, text: str) -> str:
        """Replace every form of the secret in a string by its mark."""
        data = text.encode(errors="surrogatepass")
        return text if not (edits := self._edits(data)) else _apply(data, edits).decode(errors="surrogatepass")

    def redact_body(self, segments: Sequence[bytes]) -> list[bytes]:
        """Redact the segments of a body; their number stays the same.

        The secret is found within a segment, across segments, and across the deltas of a stream. If it spans segments,
        its mark is in the first of them.
        """
        redacted = list(segments)
        for find in (self._edits, self._split_edits):
            body = b"".join(redacted)
            if edits := find(body):
                cuts = [_shift(cut, edits) for cut in accumulate(map(len, redacted))]
                body = _apply(body, edits)
                redacted = [body[start:end] for start, end in pairwise([0, *cuts])]
        return redacted

    def _edits(self, data: bytes) -> list[Edit]:
        spans = sorted(match.span() for pattern in self._patterns for match in pattern.finditer(data))
        edits: list[Edit] = []
        for start, end in spans:
            if edits and start < edits[-1][1]:
                edits[-1] = (edits[-1][0], max(end, edits[-1][1]), self._mark)
            else:
                edits.append((start, end, self._mark))
        return edits

    def _split_edits(self, body: bytes) -> list[Edit]:
        """Find the deltas over which the secret is split: joined, the strings at one place of the events contain it."""
        events = sse.decode([(0.0, body)]).events if b"data" in body else ()
        texts: dict[tuple[str | int, ...], list[tuple[int, str]]] = {}
        for at, event in enumerate(events):
            for place, text in _strings(read_json(event.data).value):
                texts.setdefault(place, []).append((at, text))
        hit: dict[int, set[str]] = {}
        for pieces in texts.values():
            data = [text.encode() for _, text in pieces]
            spans = self._edits(b"".join(data))
            end = 0
            for (at, text), encoded in zip(pieces, data, strict=True):
                start, end = end, end + len(encoded)
                if any(a < end and start < b for a, b, _ in spans):
                    hit.setdefault(at, set()).add(text)
        edits: list[Edit] = []
        for at, strings in sorted(hit.items()):
            stop = events[at + 1].offset if at + 1 < len(events) else len(body)
            edits += _blank(body, events[at].offset, stop, strings, self._mark)
        return edits


def header_mark(name: str) -> str:
    """Return the mark that replaces the value of a secret header."""
    return f"[REDACTED-HEADER_{re.sub('[^0-9A-Za-z]', '_', name).upper()}]"


def is_redacted(text: str | bytes) -> bool:
    """Return whether the string contains the mark of a secret."""
    return MARK.search(text.decode("latin-1") if isinstance(text, bytes) else text) is not None


def alteration_in(text: str) -> Alteration | None:
    """Return how the key in a recorded header had been altered; None if it had not."""
    if BEGINNING in text:
        return "shorter" if text.endswith(BEGINNING) else "other-end"
    return "longer" if is_redacted(text) and not text.endswith("]") else None  # it may be part of a secret header


def _forms(key: str) -> Iterator[bytes]:
    """Yield a pattern for each form in which a server may write the key."""
    yield "".join(_character(character, every=True) for character in key).encode()
    raw = key.encode()
    texts = {raw.hex(), raw.hex().upper()}
    for shift in range(3):  # the key may start at any offset of the encoded bytes, as in `user:key`
        first, last = -(-8 * shift // 6), 8 * (shift + len(raw)) // 6
        texts.add(base64.b64encode(bytes(shift) + raw).decode()[first:last])
        texts.add(base64.urlsafe_b64encode(bytes(shift) + raw).decode()[first:last])
    for text in sorted(texts):
        yield "".join(_character(character, every=False) for character in text).encode()


def _character(character: str, *, every: bool) -> str:
    """Return a pattern for one character, plain or escaped for JSON (also twice), URLs (also twice) or HTML.

    Each alternative starts with a literal, so that the regular-expression engine can skip to possible matches.
    """
    plain = re.escape(character)
    if character.isalnum() and not every:
        return plain
    code = f"{ord(character):02x}"
    pair = "".join(f"[{digit}{digit.upper()}]" if digit.isalpha() else digit for digit in code)
    named = f"|{_NAMED[character]}" if character in _NAMED else ""
    return (
        rf"(?:{plain}|\\\\{{0,3}}(?:{plain}|u00{pair})|%(?:25)?{pair}"
        rf"|&(?:#[xX]0{{0,4}}{pair}|#0{{0,4}}{ord(character)}{named});)"
    )


def _strings(value: Any) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield every string of a JSON value with its path. A list item with an `index` has that in its path."""
    rest: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while rest:
        place, value = rest.pop()
        if isinstance(value, str):
            yield place, value
        elif isinstance(value, dict):
            rest += [((*place, name), item) for name, item in value.items()]
        elif isinstance(value, list):
            for position, item in enumerate(value):
                index = item.get("index") if isinstance(item, dict) else None
                rest.append(((*place, index if is_index(index) else position), item))


def _blank(body: bytes, start: int, stop: int, texts: set[str], mark: bytes) -> list[Edit]:
    """Replace JSON strings in one event; replace the whole event if one of them is escaped in an unknown way."""
    edits: list[Edit] = []
    for text in texts:
        written = {json.dumps(text).encode(), json.dumps(text, ensure_ascii=False).encode()}
        spans = [
            (match.start() + 1, match.end() - 1)
            for form in written
            for match in re.finditer(re.escape(form), body[start:stop])
        ]
        if not spans:
            return [(start, stop, sse.encode(mark))]
        edits += [(start + a, start + b, mark) for a, b in spans]
    return sorted(edits)


def _apply(data: bytes, edits: Sequence[Edit]) -> bytes:
    pieces: list[bytes] = []
    done = 0
    for start, end, instead in edits:
        pieces += (data[done:start], instead)
        done = end
    return b"".join([*pieces, data[done:]])


def _shift(cut: int, edits: Sequence[Edit]) -> int:
    """Return the position of a cut after the edits; a cut inside an edit moves to its end."""
    moved = cut
    for start, end, instead in edits:
        if cut <= start:
            break
        moved = moved + len(instead) - (end - start) if cut >= end else moved + len(instead) - (cut - start)
    return moved
