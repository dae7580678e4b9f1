"""A secret, the API key above all: known by its value, so that it can be taken out of whatever a server echoes.

Redaction by header name is not enough. A key comes back in bodies and in other headers, in base64 of `user:key`, in
hexadecimal, escaped for JSON, URLs or HTML, or cut over the deltas of a stream, where only the folded text shows it.
"""

from __future__ import annotations

import base64
import json
import re
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any, Final, Literal

from conformance.errors import HarnessError, UsageError
from openapi.stream import sse
from openapi.stream.accumulated_choice import is_index
from openapi.stream.strict_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

REDACTED: Final = "[REDACTED]"
"""What stands in the place of a key: safe inside JSON, an event stream, a header and a query."""
SHORTEST: Final = 8
"""Characters of the shortest key. A shorter one would be found in ordinary text, and evidence would be falsified."""

BEGINNING: Final = "[REDACTED-4]"
"""What stands in the place of a key's beginning: the key without its last four characters."""
CUT: Final = 4
MARK: Final = re.compile(r"\[REDACTED(?:-4|-(?P<variable>HEADER_[A-Z0-9_]+))?\]")
"""What may stand in the place of a secret: the marks of the key, and that of a secret header, with the variable that a
shell reads its value from. Servers choose names of models, so no mark may name a variable that holds anything else.
"""
Alteration = Literal["other-end", "shorter", "longer"]
"""A wrong key that begins like the right one: with another end, without its end, with more behind it."""

_NAMED: Final = {"&": "amp", "<": "lt", ">": "gt", '"': "quot", "'": "apos"}

Edit = tuple[int, int, bytes]
"""From, to, and what stands there instead."""


class Secret:
    """A key, or the value of a header, that shows itself only to `reveal`.

    `mark` is what stands in its place. Raises UsageError for a value no header or redaction can bear; a header's, which
    may be of several words, is held against its own rules before.
    """

    __slots__ = ("_mark", "_patterns", "_value")

    def __init__(self, value: str, mark: str = REDACTED) -> None:
        if len(value) < SHORTEST:
            raise UsageError(
                f"the API key has {len(value)} characters; fewer than {SHORTEST} cannot be told from ordinary text, so"
                " an echo could not be redacted: use a longer key, or none if the server asks for none"
            )
        if not re.fullmatch(r"[!-~]+" if mark in (REDACTED, BEGINNING) else r"[ -~]+", value):
            raise UsageError("the API key has characters that no header can carry: it must be printable ASCII")
        self._value = value
        self._mark = mark.encode()
        self._patterns = [re.compile(form) for form in _forms(value)]

    def __repr__(self) -> str:
        return f"Secret({REDACTED!r})"

    def __reduce__(self) -> str:
        raise HarnessError("a secret is never written down")

    def reveal(self) -> str:
        """The key itself, for the Authorization header alone; of another header its value."""
        return self._value

    def altered(self, alteration: Alteration) -> str:
        """A wrong key that begins like it, for the Authorization header alone."""
        # Four characters, for the last one of some keys may be another and still stand for the same bytes.
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
        """What stands in its place."""
        return self._mark.decode()

    @property
    def beginning(self) -> Secret | None:
        """What altered keys begin with, as secret as the key; None where so few characters stand in ordinary text."""
        return Secret(self._value[:-CUT], BEGINNING) if len(self._value) >= SHORTEST + CUT else None

    def redact(self, text: str) -> str:
        """The text with every form of the key replaced by `REDACTED`."""
        data = text.encode(errors="surrogatepass")
        return text if not (edits := self._edits(data)) else _apply(data, edits).decode(errors="surrogatepass")

    def redact_body(self, segments: Sequence[bytes]) -> list[bytes]:
        """As many segments, without the key: neither in one, nor across several, nor across the deltas of a stream.

        A key that spans segments is replaced in the first of them.
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
        """Edits that take out the deltas over which the key is cut: joined, the strings at one place would show it."""
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
        for at, found in sorted(hit.items()):
            stop = events[at + 1].offset if at + 1 < len(events) else len(body)
            edits += _blank(body, events[at].offset, stop, found, self._mark)
        return edits


def header_mark(name: str) -> str:
    """What stands in the place of a secret header's value."""
    return f"[REDACTED-HEADER_{re.sub('[^0-9A-Za-z]', '_', name).upper()}]"


def marked(text: str | bytes) -> bool:
    """Whether a secret was taken out of it."""
    return MARK.search(text.decode("latin-1") if isinstance(text, bytes) else text) is not None


def alteration_in(text: str) -> Alteration | None:
    """How the key in a recorded header had been altered; None where it stands there as it is."""
    if BEGINNING in text:
        return "shorter" if text.endswith(BEGINNING) else "other-end"
    return "longer" if marked(text) and not text.endswith("]") else None  # the key may be part of a secret header


def _forms(key: str) -> Iterator[bytes]:
    """A pattern for each way in which a server may write the key down."""
    yield "".join(_character(character, every=True) for character in key).encode()
    raw = key.encode()
    texts = {raw.hex(), raw.hex().upper()}
    for shift in range(3):  # the key may stand anywhere in what was encoded, as in `user:key`
        first, last = -(-8 * shift // 6), 8 * (shift + len(raw)) // 6
        texts.add(base64.b64encode(bytes(shift) + raw).decode()[first:last])
        texts.add(base64.urlsafe_b64encode(bytes(shift) + raw).decode()[first:last])
    for text in sorted(texts):
        yield "".join(_character(character, every=False) for character in text).encode()


def _character(character: str, *, every: bool) -> str:
    """A pattern for one character, plain or escaped for JSON (also twice), URLs (also twice) or HTML.

    Each alternative starts with a literal: the expression engine then skips quickly to where a match may start.
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
    """Every string in a JSON value with its place; an item of a list goes by its own `index` where it has one."""
    rest: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while rest:
        place, value = rest.pop()
        if isinstance(value, str):
            yield place, value
        elif isinstance(value, dict):
            rest += [((*place, name), member) for name, member in value.items()]
        elif isinstance(value, list):
            for position, item in enumerate(value):
                index = item.get("index") if isinstance(item, dict) else None
                rest.append(((*place, index if is_index(index) else position), item))


def _blank(body: bytes, start: int, stop: int, texts: set[str], mark: bytes) -> list[Edit]:
    """Edits that blank JSON strings in one event, or the event if one is written in a way we cannot find."""
    edits: list[Edit] = []
    for text in texts:
        written = {json.dumps(text).encode(), json.dumps(text, ensure_ascii=False).encode()}
        found = [
            (match.start() + 1, match.end() - 1, mark)
            for form in written
            for match in re.finditer(re.escape(form), body[start:stop])
        ]
        if not found:
            return [(start, stop, sse.encode(mark))]
        edits += [(start + a, start + b, mark) for a, b, mark in found]
    return sorted(edits)


def _apply(data: bytes, edits: Sequence[Edit]) -> bytes:
    pieces: list[bytes] = []
    done = 0
    for start, end, instead in edits:
        pieces += (data[done:start], instead)
        done = end
    return b"".join([*pieces, data[done:]])


def _shift(cut: int, edits: Sequence[Edit]) -> int:
    """Where a cut lies after the edits; one inside an edit moves behind it."""
    moved = cut
    for start, end, instead in edits:
        if cut <= start:
            break
        moved = moved + len(instead) - (end - start) if cut >= end else moved + len(instead) - (cut - start)
    return moved
