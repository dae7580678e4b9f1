"""Redaction: what an exchange may keep of what was sent and came back."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from conformance.client.secret import Alteration, Secret
    from conformance.exchange import Headers


class Redaction:
    """Takes all secrets out of what an exchange keeps: the key, after an altered one went out also what that one begins
    with, and the values of secret headers.
    """

    def __init__(self, secret: Secret | None, alteration: Alteration | None, hidden: Sequence[Secret]) -> None:
        begun = secret.beginning if secret is not None and alteration is not None else None
        found = [each for each in (secret, begun, *hidden) if each is not None]
        self._secrets = sorted(found, key=lambda each: -len(each.reveal()))  # what holds another goes first

    def text(self, text: str) -> str:
        """A text."""
        for secret in self._secrets:
            text = secret.redact(text)
        return text

    def line(self, data: bytes) -> str:
        """A piece of a message's head, as text."""
        return self.text(data.decode("latin-1"))  # what HTTP headers are made of; every byte has a character

    def body(self, segments: list[bytes]) -> list[bytes]:
        """As many segments."""
        for secret in self._secrets:
            segments = secret.redact_body(segments)
        return segments

    def headers(self, headers: Iterable[tuple[bytes, bytes]]) -> Headers:
        """Header fields as text."""
        return tuple((self.line(name), self.line(value)) for name, value in headers)
