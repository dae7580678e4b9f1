"""Long strings of a request body, such as an image in base64, are taken out before the body is parsed.

A JSON parser lets no other thread run until it has finished: 40 MB in one string would delay the next token of every
other client by a quarter of a second.
"""

from __future__ import annotations

import re
import secrets
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

LONG_BYTES: Final = 1 << 20
PIECE_BYTES: Final = 1 << 20
MOST_STRINGS: Final = 5_000
"""A body with more strings is parsed as it is: to look at each here would take longer than it saves."""
SHOWN: Final = 40
"""Characters with which a name begins, so that a schema or a reader sees the head of a data URL."""
UNUSUAL: Final = re.compile(rb"[^ !#-\[\]-~]")
"""Everything but printable ASCII that stands for itself in JSON."""


def lift_long_strings(body: bytes, long_bytes: int = LONG_BYTES) -> tuple[bytes, dict[str, memoryview]]:
    """Return the body with a short name in place of each long string, and the strings by their names, uncopied.

    Only values of printable ASCII without escapes are taken out, so the body is as valid as before. A name begins like
    its string, and no one can guess the rest.
    """
    if len(body) < long_bytes:
        return body, {}
    mark, lifted = secrets.token_hex(16), dict[str, memoryview]()
    kept: list[bytes] = []
    copied = at = 0
    for _ in range(MOST_STRINGS):
        begin = body.find(b'"', at) + 1
        end = _find_end(body, begin)
        if not begin or end < 0:
            break
        is_value = body[end + 1 : end + 100].lstrip()[:1] != b":"
        if end - begin >= long_bytes and is_value and _is_plain(body, begin, end):
            name = f"{body[begin : min(end, begin + SHOWN)].decode()}{mark}-{len(lifted)}"
            lifted[name] = memoryview(body)[begin:end]
            kept += [body[copied:begin], name.encode()]
            copied = end
        at = end + 1
    return (b"".join([*kept, body[copied:]]), lifted) if lifted else (body, lifted)


def restore_long_strings(value: Any, lifted: Mapping[str, memoryview]) -> Any:
    """Return parsed JSON with the long strings in place of their names."""
    if isinstance(value, str):
        return str(lifted[value], "ascii") if value in lifted else value
    if isinstance(value, list):
        return [restore_long_strings(item, lifted) for item in value]
    if isinstance(value, dict):
        return {name: restore_long_strings(item, lifted) for name, item in value.items()}
    return value


def _find_end(body: bytes, begin: int) -> int:
    """Return where the string that begins here ends; -1 if it does not end."""
    end = body.find(b'"', begin)
    while end > begin and body[end - 1] == 0x5C and _is_escaped(body, begin, end):
        end = body.find(b'"', end + 1)
    return end


def _is_escaped(body: bytes, begin: int, at: int) -> bool:
    """Return whether an odd number of backslashes is in front of a quotation mark."""
    first = at
    while first > begin and body[first - 1] == 0x5C:
        first -= 1
    return (at - first) % 2 == 1


def _is_plain(body: bytes, begin: int, end: int) -> bool:
    """Return whether a string stands for itself. Other threads run between two pieces."""
    return not any(UNUSUAL.search(body, at, min(end, at + PIECE_BYTES)) for at in range(begin, end, PIECE_BYTES))
