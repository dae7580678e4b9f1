"""Headers that a gateway before the server wants: the user's own, sent with every request to the server's origin.

Requests that go without a key carry them too, for they are the gateway's. A value that comes from the environment is
as secret as the API key; one that stands on the command line is shown as it is.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.client.secret import SHORTEST, Secret, header_mark
from conformance.errors import UsageError
from openapi.extra_headers import KEPT, HeaderError, extra

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openapi import extra_headers as headers


@dataclass(frozen=True, slots=True)
class Header:
    """One header. A secret value is a `Secret`; `words` are those parts of it that a server may repeat alone."""

    name: str
    value: str | Secret
    words: tuple[Secret, ...] = ()

    def reveal(self) -> str:
        """The value as it is sent."""
        return self.value.reveal() if isinstance(self.value, Secret) else self.value

    @property
    def secrets(self) -> tuple[Secret, ...]:
        """What is taken out of every record."""
        return (self.value, *self.words) if isinstance(self.value, Secret) else ()

    @property
    def shown(self) -> str:
        """The header as it may be seen: of a secret one the name only."""
        return f"{self.name} (secret)" if isinstance(self.value, Secret) else f"{self.name}: {self.value}"


def read(plain: Sequence[str], from_environment: Sequence[str]) -> tuple[Header, ...]:
    """The headers of `NAME: VALUE` texts, then those of `NAME=VAR` texts, VAR being a variable of the environment.

    Raises UsageError for what cannot be sent, cannot be hidden, is given twice or is the suite's own to say.
    """
    try:
        found = [_hidden(each) for each in extra(plain, from_environment, os.environ)]
    except HeaderError as error:
        raise UsageError(str(error)) from error
    marks: dict[str, str] = {}
    for header in found:
        if isinstance(header.value, Secret):
            other = marks.setdefault(header.value.mark, header.name)
            if other != header.name:
                raise UsageError(
                    f"{KEPT} {header.name} and {other} differ in punctuation only, so a record could not tell"
                    " their values apart: leave one out"
                )
    return tuple(found)


def _hidden(header: headers.Header) -> Header:
    """The header with a secret in place of a value that is one."""
    if not header.secret:
        return Header(header.name, header.value)
    words = header.value.split()
    if len(max(words, key=len)) < SHORTEST:
        raise UsageError(
            f"{KEPT} {header.name}: its value has no word of {SHORTEST} characters, so an echo could not be told from"
            " ordinary text: use a longer one, or --header if it is no secret"
        )
    mark = header_mark(header.name)
    parts = [Secret(word, mark) for word in words if SHORTEST <= len(word) < len(header.value)]
    return Header(header.name, Secret(header.value, mark), tuple(parts))
