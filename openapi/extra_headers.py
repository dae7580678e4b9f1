"""Parse the extra headers that a user gives for requests, for example for a gateway in front of the server.

The value of `NAME: VALUE` is shown in reports. `NAME=VAR` takes the value of an environment variable and keeps it
secret.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

HEADER_OPTION: Final = "--header"
HEADER_ENV_OPTION: Final = "--header-env"
KEY_HEADER: Final = "authorization"
RESERVED: Final = frozenset(
    (
        *("host", "content-length", "content-type", "content-encoding", "transfer-encoding", "te", "trailer"),
        *("connection", "keep-alive", "upgrade", "http2-settings", "expect", "accept", "accept-encoding"),
    )
)
"""Headers that follow from the request, or that scenarios change on purpose to see how the server reacts."""
TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")  # RFC 9110, section 5.6.2
VALUE: Final = re.compile(r"[ -~]+")
VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
MAX_QUOTED: Final = 40
"""Characters of the user's input that an error message quotes."""


class HeaderError(ValueError):
    """The header cannot be sent. The message is one line, names the option, and shows no secret."""


@dataclass(frozen=True, slots=True)
class ExtraHeader:
    """One header to send with every request. If `secret`, no report shows its value."""

    name: str
    value: str
    secret: bool = False


def parse_headers(
    plain: Iterable[str], secret: Iterable[str], environment: Mapping[str, str]
) -> tuple[ExtraHeader, ...]:
    """Parse the `NAME: VALUE` strings, then the `NAME=VAR` strings.

    Raises HeaderError for the first header that cannot be sent, that is reserved, or that is given twice.
    """
    headers = (*map(_parse_plain, plain), *(_parse_secret(text, environment) for text in secret))
    seen: set[str] = set()
    for header in headers:
        if header.name.lower() in seen:
            raise HeaderError(
                f"the header {header.name} is given twice: {HEADER_OPTION} and {HEADER_ENV_OPTION} take each name once"
            )
        seen.add(header.name.lower())
    return headers


def _parse_plain(text: str) -> ExtraHeader:
    name, colon, value = text.partition(":")
    if not colon:
        raise HeaderError(f"{HEADER_OPTION} {_quote(text)}: missing colon: expected {HEADER_OPTION} 'NAME: VALUE'")
    _check_name(HEADER_OPTION, name)
    value = value.strip(" \t")
    if not value:
        raise HeaderError(f"{HEADER_OPTION} {name}: missing value: expected {HEADER_OPTION} '{name}: VALUE'")
    _check_value(f"{HEADER_OPTION} {name}", value)
    return ExtraHeader(name, value)


def _parse_secret(text: str, environment: Mapping[str, str]) -> ExtraHeader:
    name, equals, variable = text.partition("=")
    if not equals:
        # Whatever comes after a colon or a space may be the secret itself, so it is not quoted.
        raise HeaderError(
            f"{HEADER_ENV_OPTION} {_quote(re.split('[: ]', text)[0])}: missing '=': expected {HEADER_ENV_OPTION}"
            " NAME=VAR, where VAR is the environment variable that contains the value"
        )
    _check_name(HEADER_ENV_OPTION, name)
    if not VARIABLE.fullmatch(variable):  # not quoted either: it may be the secret
        raise HeaderError(f"{HEADER_ENV_OPTION} {name}: invalid name of an environment variable after '='")
    value = environment.get(variable, "").strip(" \t")
    option = f"{HEADER_ENV_OPTION} {name}={variable}"
    if not value:
        raise HeaderError(f"{option}: the environment variable is not set or empty")
    _check_value(option, value)
    return ExtraHeader(name, value, secret=True)


def _check_name(option: str, name: str) -> None:
    if not TOKEN.fullmatch(name):
        raise HeaderError(f"{option} {_quote(name)}: invalid name: expected letters, digits and !#$%&'*+-.^_`|~ only")
    if name.lower() == KEY_HEADER:
        raise HeaderError(f"{option} {name}: pass the API key with --api-key-env VAR")
    if name.lower() in RESERVED:
        raise HeaderError(f"{option} {name}: this header cannot be set: it follows from each request")


def _check_value(option: str, value: str) -> None:
    if not VALUE.fullmatch(value):
        raise HeaderError(f"{option}: invalid value: expected printable ASCII characters only")


def _quote(text: str) -> str:
    return ascii(text if len(text) <= MAX_QUOTED else f"{text[:MAX_QUOTED]}...")
