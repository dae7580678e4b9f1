"""Extra headers of requests, as a user names them for a gateway before the server. Pure.

`NAME: VALUE` is shown in reports as it is. `NAME=VAR` takes the value of an environment variable, which is a secret.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

PLAIN: Final = "--header"
KEPT: Final = "--header-env"
KEY_HEADER: Final = "authorization"
GOVERNED: Final = frozenset(
    (
        *("host", "content-length", "content-type", "content-encoding", "transfer-encoding", "te", "trailer"),
        *("connection", "keep-alive", "upgrade", "http2-settings", "expect", "accept", "accept-encoding"),
    )
)
"""What follows from the request, or what a scenario says otherwise to see what comes of it."""
TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, section 5.6.2
VALUE: Final = re.compile(r"[ -~]+")
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
LONGEST: Final = 40
"""Characters of what was given, in a refusal."""


class HeaderError(ValueError):
    """A header that cannot be sent. The message is one line, names the option, and shows no secret."""


@dataclass(frozen=True, slots=True)
class Header:
    """One header of every request. `secret`: its value is in no report."""

    name: str
    value: str
    secret: bool = False


def extra(plain: Iterable[str], secret: Iterable[str], environment: Mapping[str, str]) -> tuple[Header, ...]:
    """The headers of `NAME: VALUE` texts, then those of `NAME=VAR` texts. Raises HeaderError for the first that cannot
    be sent, that follows from the request, or that is named twice."""
    found = (*map(_plain, plain), *(_secret(text, environment) for text in secret))
    seen: set[str] = set()
    for header in found:
        if header.name.lower() in seen:
            raise HeaderError(f"the header {header.name} is given twice: {PLAIN} and {KEPT} take each name once")
        seen.add(header.name.lower())
    return found


def _plain(text: str) -> Header:
    name, colon, value = text.partition(":")
    if not colon:
        raise HeaderError(f"{PLAIN} {_cut(text)}: there is no colon in it; write {PLAIN} 'NAME: VALUE'")
    _refuse_name(PLAIN, name)
    value = value.strip(" \t")
    if not value:
        raise HeaderError(f"{PLAIN} {name}: there is no value behind the colon; write {PLAIN} '{name}: VALUE'")
    _refuse_value(f"{PLAIN} {name}", value)
    return Header(name, value)


def _secret(text: str, environment: Mapping[str, str]) -> Header:
    name, equals, variable = text.partition("=")
    if not equals:
        # What stands behind a colon or a space may be the secret itself.
        raise HeaderError(
            f"{KEPT} {_cut(re.split('[: ]', text)[0])}: there is no = in it; write {KEPT} NAME=VAR, VAR being the"
            " environment variable that holds the value"
        )
    _refuse_name(KEPT, name)
    if not VARIABLE.fullmatch(variable):  # it may be the secret too
        raise HeaderError(f"{KEPT} {name}: what stands behind = is no name of an environment variable")
    value = environment.get(variable, "").strip(" \t")
    where = f"{KEPT} {name}={variable}"
    if not value:
        raise HeaderError(f"{where}: the environment has no such variable, or it is empty")
    _refuse_value(where, value)
    return Header(name, value, secret=True)


def _refuse_name(option: str, name: str) -> None:
    if not TOKEN.fullmatch(name):
        raise HeaderError(f"{option} {_cut(name)}: the name of a header is made of letters, digits and !#$%&'*+-.^_`|~")
    if name.lower() == KEY_HEADER:
        raise HeaderError(f"{option} {name}: pass a key with --api-key-env VAR")
    if name.lower() in GOVERNED:
        raise HeaderError(f"{option} {name}: this one cannot be set, it follows from each request")


def _refuse_value(where: str, value: str) -> None:
    if not VALUE.fullmatch(value):
        raise HeaderError(f"{where}: its value has characters that no header can carry: it must be printable ASCII")


def _cut(text: str) -> str:
    return ascii(text if len(text) <= LONGEST else f"{text[:LONGEST]}...")
