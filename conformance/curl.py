"""An exchange as the shell command that repeats its request."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

from conformance.secret import BEGINNING, REDACTED

if TYPE_CHECKING:
    from conformance.exchange import Exchange

KEY_VARIABLE: Final = "API_KEY"
LONGEST_ARGUMENT: Final = 100_000
"""Bytes of a body that is passed as an argument; Linux refuses a single argument of 128 KiB."""

_SET_BY_CURL: Final = frozenset({"host", "content-length"})
_UNPRINTABLE: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_NOT_PLAIN: Final = re.compile(rb"[^ -~]|[\\%]|^-")  # a leading "-" would be an option of printf


def curl(exchange: Exchange, variable: str = KEY_VARIABLE) -> str:
    """A POSIX shell command that sends the request again, byte for byte, with the key read from `$variable`.

    One option per line. A body that no argument can carry (NUL, not UTF-8, control characters, too long) comes
    through a pipe from printf, and so shows nothing to a terminal but printable ASCII.
    """
    request = exchange.request
    parts = ["curl --silent --show-error --no-buffer --globoff --path-as-is --http1.1"]
    parts.append(_quote(request.url, variable))
    if request.method == "HEAD":
        parts.append("--head")
    elif request.method != ("POST" if request.body else "GET"):
        parts.append(f"--request {shlex.quote(request.method)}")
    names = {name.lower() for name, _ in request.headers}
    for name, value in request.headers:
        if name.lower() not in _SET_BY_CURL:
            # curl reads "Name:" as "leave it out" and "Name;" as "send it empty".
            parts.append(f"--header {_quote(f'{name}: {value}' if value else f'{name};', variable)}")
    # curl adds these by itself; a header without a value takes one away.
    added = {"accept", "user-agent"} | ({"content-type"} if request.body else set())
    parts += [f"--header {shlex.quote(f'{name.title()}:')}" for name in sorted(added - names)]
    source = ""
    if request.body:
        argument = _argument(request.body, variable)
        if argument is None:
            source = f"{_printf(request.body, variable)} |\n"
            parts.append("--data-binary @-")
        else:
            parts.append(f"--data-raw {argument}")
    return source + " \\\n  ".join(parts)


def _argument(body: bytes, variable: str) -> str | None:
    if len(body) > LONGEST_ARGUMENT:
        return None
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    return None if _UNPRINTABLE.search(text) else _quote(text, variable)


def _printf(body: bytes, variable: str) -> str:
    """printf with each byte that is not plain ASCII in octal; the key, where it stood, is an argument of the format."""
    pieces = [_NOT_PLAIN.sub(_octal, piece).decode() for piece in body.split(REDACTED.encode())]
    return " ".join(["printf", shlex.quote("%s".join(pieces)), *[f'"${variable}"'] * (len(pieces) - 1)])


def _octal(match: re.Match[bytes]) -> bytes:
    return b"%%" if match.group() == b"%" else b"\\%03o" % match.group()[0]


def _quote(text: str, variable: str) -> str:
    """A shell word that expands to `text`, with the key's variable in double quotes where the key stood.

    Where only the beginning of the key stood, the shell takes the last four characters off the variable.
    """
    if BEGINNING in text:
        parts = (_quote(piece, variable) if piece else "" for piece in text.split(BEGINNING))
        return f'"${{{variable}%????}}"'.join(parts)
    pieces = [shlex.quote(piece) if piece else "" for piece in text.split(REDACTED)]
    return f'"${variable}"'.join(pieces) or "''"
