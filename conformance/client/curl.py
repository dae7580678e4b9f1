"""Write a recorded request as a curl command."""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, Final

from conformance.client.secret import BEGINNING, MARK

if TYPE_CHECKING:
    from conformance.exchange import Exchange, Request

KEY_VARIABLE: Final = "API_KEY"
LONGEST_ARGUMENT: Final = 100_000
"""Longest body, in bytes, that is passed as an argument; Linux refuses a single argument of 128 KiB."""

_SET_BY_CURL: Final = frozenset({"host", "content-length"})
_USUAL: Final = frozenset({("accept", "*/*"), ("accept-encoding", "identity"), ("user-agent", "chatproof")})
"""Headers of every request that say no more than those of curl."""
_STREAM: Final = re.compile(rb'"stream"\s*:\s*true')
_UNPRINTABLE: Final = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_MARK: Final = re.compile(MARK.pattern.encode())
_NOT_PLAIN: Final = re.compile(rb"[^ -~]|[\\%]|^-")  # a leading "-" would be an option of printf


def curl(exchange: Exchange, variable: str = KEY_VARIABLE) -> str:
    """Return a POSIX shell command that sends the request again, byte for byte, one option per line.

    The key is read from `$variable`, the value of a secret header from `$HEADER_` and its name. A body that cannot be
    an argument (NUL, not UTF-8, control characters, too long) is piped from printf, so that the command is printable
    ASCII and safe to show in a terminal.
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
            # For curl "Name:" removes the header and "Name;" sends it empty.
            parts.append(f"--header {_quote(f'{name}: {value}' if value else f'{name};', variable)}")
    # curl adds these headers itself; "Name:" removes them.
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


def short_curl(request: Request, variable: str = KEY_VARIABLE) -> str:
    """Return the shortest POSIX shell command, on one line, that sends the same request.

    The body, and all headers that say more than those of curl, are the same as in `curl`. Options that change nothing
    for this request are left out.
    """
    names = {name.lower() for name, _ in request.headers}
    parts = ["curl -sSN" if _STREAM.search(request.body) else "curl -sS"]
    parts += ["-g"] if set(request.url) & set("[]{}") else []
    parts += ["--path-as-is"] if "/." in request.url else []
    parts += ["--http1.1"] if request.url.startswith("https:") else []
    parts.append(_quote(request.url, variable))
    if request.method == "HEAD":
        parts.append("-I")
    elif request.method != ("POST" if request.body else "GET"):
        parts.append(f"-X {shlex.quote(request.method)}")
    for name, value in request.headers:
        if name.lower() not in _SET_BY_CURL and (name.lower(), value) not in _USUAL:
            parts.append(f"-H {_quote(f'{name}: {value}' if value else f'{name};', variable)}")
    added = {"accept", "user-agent"} | ({"content-type"} if request.body else set())
    parts += [f"-H {shlex.quote(f'{name.title()}:')}" for name in sorted(added - names)]
    if not request.body:
        return " ".join(parts)
    argument = _argument(request.body, variable)
    if argument is None:
        return f"{_printf(request.body, variable)} | {' '.join(parts)} --data-binary @-"
    return f"{' '.join(parts)} {'--data-raw' if request.body.startswith(b'@') else '-d'} {argument}"


def _argument(body: bytes, variable: str) -> str | None:
    if len(body) > LONGEST_ARGUMENT:
        return None
    try:
        text = body.decode()
    except UnicodeDecodeError:
        return None
    return None if _UNPRINTABLE.search(text) else _quote(text, variable)


def _printf(body: bytes, variable: str) -> str:
    """Return a printf command for the body: bytes other than plain ASCII in octal, secrets as arguments."""
    marks = list(_MARK.finditer(body))
    starts, ends = [0, *(mark.end() for mark in marks)], [*(mark.start() for mark in marks), len(body)]
    pieces = [_NOT_PLAIN.sub(_octal, body[a:b]).decode() for a, b in zip(starts, ends, strict=True)]
    secrets = [_expansion(mark.group().decode(), variable) for mark in marks]
    return " ".join(["printf", shlex.quote("%s".join(pieces)), *secrets])


def _octal(match: re.Match[bytes]) -> bytes:
    return b"%%" if match.group() == b"%" else b"\\%03o" % match.group()[0]


def _quote(text: str, variable: str) -> str:
    """Return a shell word that expands to `text`, with quoted variables in place of secrets."""
    word, end = "", 0
    for mark in MARK.finditer(text):
        piece = text[end : mark.start()]
        word += (shlex.quote(piece) if piece else "") + _expansion(mark.group(), variable)
        end = mark.end()
    return word + (shlex.quote(text[end:]) if text[end:] or not word else "")


def _expansion(mark: str, variable: str) -> str:
    """Return the shell expansion of a secret; for the beginning of the key, without its last four characters."""
    named = MARK.fullmatch(mark)
    if named is not None and named["variable"]:
        return f'"${named["variable"]}"'
    return f'"${{{variable}%????}}"' if mark == BEGINNING else f'"${variable}"'
