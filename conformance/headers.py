"""Headers that a gateway before the server wants: the user's own, sent with every request to the server's origin.

Requests that go without a key carry them too, for they are the gateway's. A value that comes from the environment is
as secret as the API key; one that stands on the command line is shown as it is.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from conformance.errors import UsageError
from conformance.secret import SHORTEST, Secret, header_mark

if TYPE_CHECKING:
    from collections.abc import Sequence

PLAIN: Final = "--header"
ENVIRONMENT: Final = "--header-env"

GOVERNED: Final = frozenset(
    (
        *("host", "content-length", "content-type", "content-encoding", "transfer-encoding", "te", "trailer"),
        *("connection", "keep-alive", "upgrade", "http2-settings", "expect", "accept", "accept-encoding"),
    )
)
"""What the client writes itself, or some scenario says otherwise to see what comes of it."""
KEY_HEADER: Final = "authorization"

_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110 section 5.6.2
_VALUE: Final = re.compile(r"[ -~]+")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST: Final = 40  # characters of what was given, in a refusal


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
    found = [*map(_read_plain, plain), *map(_read_secret, from_environment)]
    known: dict[str, Header] = {}
    for header in found:
        if header.name.lower() in known:
            raise UsageError(f"the header {header.name} is given twice: {PLAIN} and {ENVIRONMENT} take each name once")
        known[header.name.lower()] = header
    marks: dict[str, str] = {}
    for header in found:
        if isinstance(header.value, Secret):
            other = marks.setdefault(header.value.mark, header.name)
            if other != header.name:
                raise UsageError(
                    f"{ENVIRONMENT} {header.name} and {other} differ in punctuation only, so a record could not tell"
                    " their values apart: leave one out"
                )
    return tuple(found)


def _read_plain(text: str) -> Header:
    name, colon, value = text.partition(":")
    if not colon:
        raise UsageError(f"{PLAIN} {_cut(text)}: there is no colon in it; write {PLAIN} 'NAME: VALUE'")
    _refuse_name(PLAIN, name)
    value = value.strip(" \t")
    if not value:
        raise UsageError(f"{PLAIN} {name}: there is no value behind the colon; write {PLAIN} '{name}: VALUE'")
    _refuse_value(f"{PLAIN} {name}", value)
    return Header(name, value)


def _read_secret(text: str) -> Header:
    name, equals, variable = text.partition("=")
    if not equals:
        # What stands behind a colon or a space may be the secret itself.
        raise UsageError(
            f"{ENVIRONMENT} {_cut(re.split('[: ]', text)[0])}: there is no = in it; write {ENVIRONMENT} NAME=VAR,"
            " VAR being the environment variable that holds the value"
        )
    _refuse_name(ENVIRONMENT, name)
    where = f"{ENVIRONMENT} {name}"
    if not _VARIABLE.fullmatch(variable):
        raise UsageError(f"{where}: what stands behind = is no name of an environment variable")  # but maybe a secret
    value = os.environ.get(variable, "").strip(" \t")
    where = f"{where}={variable}"
    if not value:
        raise UsageError(f"{where}: the environment has no such variable, or it is empty")
    _refuse_value(where, value)
    if len(max(value.split(), key=len)) < SHORTEST:
        raise UsageError(
            f"{where}: its value has no word of {SHORTEST} characters, so an echo could not be told from ordinary"
            f" text: use a longer one, or {PLAIN} if it is no secret"
        )
    mark = header_mark(name)
    words = [word for word in value.split() if SHORTEST <= len(word) < len(value)]
    return Header(name, Secret(value, mark), tuple(Secret(word, mark) for word in words))


def _refuse_name(option: str, name: str) -> None:
    if not _TOKEN.fullmatch(name):
        raise UsageError(f"{option} {_cut(name)}: the name of a header is made of letters, digits and !#$%&'*+-.^_`|~")
    if name.lower() == KEY_HEADER:
        raise UsageError(f"{option} {name}: the suite says this one itself; pass a key with --api-key-env VAR")
    if name.lower() in GOVERNED:
        raise UsageError(f"{option} {name}: the suite says this one itself, in each request what is to be judged")


def _refuse_value(where: str, value: str) -> None:
    if not _VALUE.fullmatch(value):
        raise UsageError(f"{where}: its value has characters that no header can carry: it must be printable ASCII")


def _cut(text: str) -> str:
    return ascii(text if len(text) <= _LONGEST else f"{text[:_LONGEST]}...")
