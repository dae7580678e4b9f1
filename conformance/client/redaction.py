"""Remove all secrets from the exchange that is recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from conformance.client.secret import Secret
    from conformance.exchange import Headers
    from conformance.scenario import Alteration


class Redaction:
    """Removes the API key and the values of secret headers.

    If an altered key was sent, its beginning is removed too: it is most of the real key.
    """

    def __init__(self, secret: Secret | None, alteration: Alteration | None, header_secrets: Sequence[Secret]) -> None:
        beginning = secret.beginning if secret is not None and alteration is not None else None
        secrets = [item for item in (secret, beginning, *header_secrets) if item is not None]
        self._secrets = sorted(secrets, key=lambda item: -len(item.reveal()))  # one that contains another goes first

    def redact_text(self, text: str) -> str:
        """Redact a string."""
        for secret in self._secrets:
            text = secret.redact(text)
        return text

    def redact_line(self, data: bytes) -> str:
        """Redact a part of the message's head and decode it."""
        return self.redact_text(data.decode("latin-1"))  # the encoding of HTTP headers; it maps every byte

    def redact_body(self, segments: list[bytes]) -> list[bytes]:
        """Redact the segments of a body; their number stays the same."""
        for secret in self._secrets:
            segments = secret.redact_body(segments)
        return segments

    def redact_headers(self, headers: Iterable[tuple[bytes, bytes]]) -> Headers:
        """Redact and decode header fields."""
        return tuple((self.redact_line(name), self.redact_line(value)) for name, value in headers)
