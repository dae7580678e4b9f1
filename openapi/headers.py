"""Extra headers of requests, as a user names them for a gateway before the server. Pure.

`NAME: VALUE` is shown in reports as it is. `NAME=VAR` takes the value of an environment variable, which is a secret.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
"""A header's name, by RFC 9110, section 5.1."""
VALUE: Final = re.compile(r"[\x21-\x7e](?:[\t\x20-\x7e]*[\x21-\x7e])?")
"""What every server reads alike: RFC 9110, section 5.5, calls other bytes opaque."""
OURS: Final[Mapping[str, str]] = {
    "authorization": "pass a key with --api-key-env VAR",
    **dict.fromkeys(
        ("accept", "accept-encoding", "connection", "content-length", "content-type", "host", "transfer-encoding"),
        "it follows from the request",
    ),
}
"""Names that nobody else may set, and why."""


class HeaderError(ValueError):
    """A header that cannot be sent; the message is one line with the option that named it."""


@dataclass(frozen=True, slots=True)
class Header:
    """One header of every request. `secret`: its value is in no report."""

    name: str
    value: str
    secret: bool = False


def extra(told: Sequence[str], kept: Sequence[str], environment: Mapping[str, str]) -> tuple[Header, ...]:
    """The headers of `--header` and `--header-env`, in this order. Raises HeaderError for the first that cannot be."""
    found = (*_told(told), *_kept(kept, environment))
    seen: set[str] = set()
    for option, header in found:
        name = header.name.lower()
        if not TOKEN.fullmatch(header.name):
            raise HeaderError(f"{option}: {header.name!r} is no name of a header")
        if name in OURS:
            raise HeaderError(f"{option}: {header.name} cannot be set: {OURS[name]}")
        if not VALUE.fullmatch(header.value):
            shown = "its value" if header.secret else repr(header.value)
            raise HeaderError(f"{option}: {shown} cannot be sent: write printable ASCII, at least one character")
        if name in seen:
            raise HeaderError(f"{option}: {header.name} is named twice")
        seen.add(name)
    return tuple(header for _, header in found)


def _told(texts: Sequence[str]) -> Iterator[tuple[str, Header]]:
    for text in texts:
        name, colon, value = text.partition(":")
        if not colon:
            raise HeaderError(f"--header {text!r}: write 'NAME: VALUE'")
        yield f"--header {name}", Header(name, value.strip(" \t"))


def _kept(texts: Sequence[str], environment: Mapping[str, str]) -> Iterator[tuple[str, Header]]:
    for text in texts:
        name, equals, variable = text.partition("=")
        if not equals:
            raise HeaderError(f"--header-env {text!r}: write NAME=VAR")
        if not environment.get(variable):
            raise HeaderError(f"--header-env {text}: the environment has no variable {variable}, or it is empty")
        yield f"--header-env {text}", Header(name, environment[variable], secret=True)
