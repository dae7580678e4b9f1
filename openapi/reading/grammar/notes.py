"""Rules for clauses that state nothing about a value: languages, URLs, cross-references, and what is not supported."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.rule import Preceding, rule
from openapi.reading.grammar.statement import Statement

if TYPE_CHECKING:
    import re


def _no_statements(_match: re.Match[str], _name: str) -> list[Statement]:
    return []


_PATTERNS: Final = (
    r"支持中英文",
    r"(?:supports )?(?:both )?(?:chinese and english|english and chinese)(?: are supported)?",
    r"both HTTP and HTTPS protocols are supported",
    r"支持HTTP和HTTPS协议",
    r"支持服务器本地路径的(?:图片|视频|音频)传入|支持URL(?:图片|视频|音频)传入",
    r"supports image URLs with both HTTP and HTTPS protocols",
    r"详情请参见说明|for more details, refer to documentation",
    r"for list\[string\]",
    r"what (?:sampling )?[a-z_]+ to use",
)
RULES: Final = (
    *(rule(pattern, _no_statements) for pattern in _PATTERNS),
    rule(
        r"(?:(?:this|the) (?:parameter|field|option) is |it is |is )?(?:currently )?(?:not (?:yet )?supported"
        r"|unsupported)(?: yet| at the moment| currently)?",
        lambda _match, _name: [Statement("supported", value=False)],
        Preceding.READ,
    ),
    rule(r"in other cases, (\w+) must be provided", lambda match, name: [] if match[1] == name else None),
)
