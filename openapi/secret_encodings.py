"""List the forms in which a server may write a secret: as it is, in hexadecimal, in base64, and one in another."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def list_forms(value: str) -> tuple[str, ...]:
    """Return the secret and its encodings, nested up to two levels. Case is kept, because nesting depends on it."""
    forms = {value: None}
    for inner in _encode(value):
        forms[inner] = None
        forms |= dict.fromkeys(_encode(inner))
    return tuple(forms)


def _encode(text: str) -> Iterator[str]:
    raw = text.encode()
    yield from (raw.hex(), raw.hex().upper())
    for shift in range(3):  # the text may start at any offset of the encoded bytes, as in `user:key`
        first, last = -(-8 * shift // 6), 8 * (shift + len(raw)) // 6  # characters that hold no bits of its neighbours
        yield base64.b64encode(bytes(shift) + raw).decode()[first:last]
        yield base64.urlsafe_b64encode(bytes(shift) + raw).decode()[first:last]
