"""Headers that a gateway in front of the server needs; they are sent with every request to the server's origin.

Requests without an API key carry them too, because the gateway checks them and not the server. A value from the
environment is as secret as the API key; a value from the command line is shown in reports.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.client.secret import Secret, header_mark
from conformance.errors import UsageError
from openapi.extra_headers import HEADER_ENV_OPTION, HeaderError, parse_headers
from openapi.secret_search import SHORTEST

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openapi.extra_headers import ExtraHeader


@dataclass(frozen=True, slots=True)
class GatewayHeader:
    """One header. A secret value is a `Secret`; `words` are parts of it that a server may echo separately."""

    name: str
    value: str | Secret
    words: tuple[Secret, ...] = ()

    def reveal(self) -> str:
        """Return the value as it is sent."""
        return self.value.reveal() if isinstance(self.value, Secret) else self.value

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """The strings to redact in every record."""
        return (self.value, *self.words) if isinstance(self.value, Secret) else ()

    @property
    def shown(self) -> str:
        """The header for display: without its value if that is secret."""
        return f"{self.name} (secret)" if isinstance(self.value, Secret) else f"{self.name}: {self.value}"


def read(plain: Sequence[str], from_environment: Sequence[str]) -> tuple[GatewayHeader, ...]:
    """Parse headers: first the `NAME: VALUE` strings, then `NAME=VAR`, where VAR is an environment variable.

    Raises UsageError for a header that cannot be sent or redacted, that is given twice, or that the suite sets itself.
    """
    try:
        parsed = [_protect(header) for header in parse_headers(plain, from_environment, os.environ)]
    except HeaderError as error:
        raise UsageError(str(error)) from error
    marks: dict[str, str] = {}
    for header in parsed:
        if isinstance(header.value, Secret):
            other = marks.setdefault(header.value.mark, header.name)
            if other != header.name:
                raise UsageError(
                    f"{HEADER_ENV_OPTION} {header.name} and {other} differ only in punctuation, so their redacted"
                    " values would look the same: remove one of them"
                )
    return tuple(parsed)


def _protect(header: ExtraHeader) -> GatewayHeader:
    """Wrap the value of a secret header in `Secret`."""
    if not header.secret:
        return GatewayHeader(header.name, header.value)
    words = header.value.split()
    if len(max(words, key=len)) < SHORTEST:
        raise UsageError(
            f"{HEADER_ENV_OPTION} {header.name}: the value needs a word of at least {SHORTEST} characters, because an"
            " echo of shorter words could not be distinguished from ordinary text: use a longer value, or --header"
            " if it is not secret"
        )
    mark = header_mark(header.name)
    parts = [Secret(word, mark) for word in words if SHORTEST <= len(word) < len(header.value)]
    return GatewayHeader(header.name, Secret(header.value, mark), tuple(parts))
