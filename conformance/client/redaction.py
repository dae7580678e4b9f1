"""Remove all secrets from the exchange that is recorded, in time that is linear in its size.

Redaction by header name is not enough. A server may return a key in bodies and in other headers, in another letter
case, in base64 of `user:key`, in hexadecimal, escaped for JSON, URLs or HTML, or split over the deltas of a stream.
"""

from __future__ import annotations

import time
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Final

from conformance.client.split_echoes import TooManyPlaces, find_split_secrets
from openapi.secret_search import SecretSearch, TooManyFound, apply_edits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from conformance.client.secret import Secret
    from conformance.client.split_echoes import Edit
    from conformance.exchange import Headers

_BETWEEN: Final = b"\0"
"""What separates two header fields; no form of a secret contains it."""


class RedactionTimeout(Exception):
    """The secrets could not be removed in time, or occur too often. The body must not be kept."""


class Redaction:
    """Removes secrets. Where one contains another, the mark of the longer one replaces both."""

    def __init__(self, secrets: Iterable[Secret]) -> None:
        ordered = sorted(secrets, key=lambda item: -len(item.reveal()))
        self._search = SecretSearch([item.reveal() for item in ordered]) if ordered else None
        self._marks = [item.mark for item in ordered]
        self._encoded = [mark.encode() for mark in self._marks]

    @property
    def is_needless(self) -> bool:
        """Whether nothing has to be removed."""
        return self._search is None

    def redact_text(self, text: str) -> str:
        """Redact a string."""
        return text if self._search is None else self._search.replace(text, self._marks)

    def redact_line(self, data: bytes) -> str:
        """Redact a part of the message's head and decode it."""
        return self.redact_text(data.decode("latin-1"))  # the encoding of HTTP headers; it maps every byte

    def redact_headers(self, headers: Iterable[tuple[bytes, bytes]]) -> Headers:
        """Redact and decode header fields."""
        parts = [part for pair in headers for part in pair]
        if self._search is not None and (edits := self._edits(self._search, _BETWEEN.join(parts))):
            separated = [piece for part in parts for piece in (part, _BETWEEN)]
            parts = _edit_segments(separated, edits)[::2]
        texts = [part.decode("latin-1") for part in parts]
        return tuple(zip(texts[::2], texts[1::2], strict=True))

    def redact_body(self, segments: Sequence[bytes], until_s: float | None = None) -> list[bytes]:
        """Redact the segments of a body; their number stays the same.

        A secret is found within a segment, across segments, and across the deltas of a stream. If it spans segments,
        its mark is in the first of them. Raises RedactionTimeout at `until_s`, a time of the monotonic clock.
        """
        redacted = list(segments)
        if self._search is None:
            return redacted

        def check_time() -> None:
            if until_s is not None and time.monotonic() > until_s:
                raise RedactionTimeout

        try:
            if edits := self._edits(self._search, b"".join(redacted), check_time):
                redacted = _edit_segments(redacted, edits)
            if edits := find_split_secrets(b"".join(redacted), self._search, self._encoded, check_time):
                redacted = _edit_segments(redacted, edits)
        except (TooManyFound, TooManyPlaces) as error:
            raise RedactionTimeout from error
        return redacted

    def redact_ends(self, segments: Sequence[bytes], cuts: Iterable[tuple[int, int]]) -> list[bytes]:
        """Redact the parts of secrets around missing bytes: at the end of one segment, at the start of the next."""
        redacted = list(segments)
        for before, after in cuts if self._search is not None else ():
            if 0 <= before < len(redacted):
                redacted[before] = self._cut(redacted[before], at_end=True)
            if after < len(redacted):
                redacted[after] = self._cut(redacted[after], at_end=False)
        return redacted

    def _cut(self, data: bytes, *, at_end: bool) -> bytes:
        found = None if self._search is None else self._search.find_part(data, at_end=at_end)
        if found is None:
            return data
        mark = self._encoded[found.secret]
        return data[: found.start] + mark if at_end else mark + data[found.end :]

    def _edits(self, search: SecretSearch, data: bytes, check_time: Callable[[], None] = lambda: None) -> list[Edit]:
        return [(item.start, item.end, self._encoded[item.secret]) for item in search.find(data, check_time)]


def _edit_segments(segments: Sequence[bytes], edits: Sequence[Edit]) -> list[bytes]:
    """Apply edits to joined segments, and split the result again; a cut inside an edit moves to its end."""
    cuts: list[int] = []
    at = shift = 0  # the next edit, and by how much the edits before it moved what follows
    for cut in accumulate(map(len, segments)):
        while at < len(edits) and edits[at][1] <= cut:
            start, end, instead = edits[at]
            shift += len(instead) - (end - start)
            at += 1
        inside = at < len(edits) and edits[at][0] < cut
        cuts.append(shift + (edits[at][0] + len(edits[at][2]) if inside else cut))
    body = apply_edits(b"".join(segments), edits)
    return [body[start:end] for start, end in pairwise([0, *cuts])]
