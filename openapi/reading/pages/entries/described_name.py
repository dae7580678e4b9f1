"""Parse the words of an entry: a name, the words next to it such as `(number, optional)`, and its description."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from openapi.reading.pages.entries.signature import says_type, split_words
from openapi.reading.pages.names import PATH

_NAME: Final = re.compile(rf"(?P<mark>\*\*`|`|\*\*|__|)(?P<name>{PATH})(?:`\*\*|`|\*\*|__|)\s*:?\s*")
_BRACKETS: Final = re.compile(
    r"\((?:[^()]|\([^()]*\))*\)|\[[^\]]*\]|<[^>]+>|__[^_]+__|_[^_]+_|\*\*[^*]+\*\*|\*[^*]+\*|`[^`]+`"
)
_BETWEEN: Final = re.compile(r"\s*[,;|·•]?\s*")
_WORDS: Final = re.compile(r"[^\s,;:.()\[\]*`–—]+(?:[ ][^\s,;:.()\[\]*`–—]+){0,5}")
_END: Final = re.compile(r"\s*(?P<separator>:|[-–—](?=\s|$)|)\s*")
_AND: Final = re.compile(r"(?:,?\s*(?:and|or|&|/|和|或|与)(?=[\s`*])|,)\s*", re.IGNORECASE)
_LEADING: Final = re.compile(r"^[,;.]\s*")


@dataclass(frozen=True, slots=True)
class DescribedName:
    """An entry about one parameter.

    signature: the words next to the name. text: its description.
    is_typed: whether the signature has a type, or says whether the parameter is required.
    """

    name: str
    signature: tuple[str, ...]
    text: str
    is_typed: bool


def parse_entry(words: str) -> DescribedName | None:
    """Parse an entry; None for one that does not begin with a marked or typed name.

    The name is marked as code or in bold, or a type in brackets follows it. A description without a separator follows
    only a type.
    """
    opening = _NAME.match(words)
    if opening is None:
        return None
    signature, at, is_code = _read_signature(words, opening.end(), is_marked=bool(opening["mark"]))
    is_typed = any(map(says_type, signature))
    if is_code and not is_typed:
        return None  # two names, not a name and its type
    end = _END.match(words, at)
    is_separated = at == len(words) or words[opening.start() : at].rstrip().endswith(":") or bool(end and end[1])
    text = words[end.end() if end else at :]
    if not (opening["mark"] or is_typed) or not (is_typed or is_separated) or (is_typed and _goes_on(text)):
        return None
    return DescribedName(opening["name"], signature, " ".join(_LEADING.sub("", text).split()), is_typed)


def _goes_on(text: str) -> bool:
    """Return whether another name with its type follows, as in a sentence about several parameters."""
    another = _AND.match(text)
    following = parse_entry(text[another.end() :]) if another else None
    return following is not None and following.is_typed


def _read_signature(words: str, at: int, *, is_marked: bool) -> tuple[tuple[str, ...], int, bool]:
    """Return the words next to a name, the offset behind them, and whether one of them is marked as code.

    Everything in brackets belongs to them, also in emphasis, and words without brackets if they are a type.
    """
    signature: list[str] = []
    is_code = False
    while True:
        start = _skip(words, at) if signature else at
        group = _BRACKETS.match(words, start)
        inner = [] if group is None else _inside(group[0])
        if group is not None and (start == at or words[start] in "([" or any(map(says_type, inner))):
            signature += inner
            is_code = is_code or group[0].startswith("`")
            at = group.end()
            continue
        bare = _match_bare(words, start) if is_marked else None
        if bare is None:
            return tuple(signature), at, is_code
        signature += split_words(bare)
        at = start + len(bare)


def _skip(words: str, at: int) -> int:
    match = _BETWEEN.match(words, at)
    return match.end() if match else at


def _inside(group: str) -> list[str]:
    bare = group.strip("*_`") if group[0] in "*_`" else group[1:-1]
    return [word.strip(" `*_") for word in split_words(bare) if word.strip(" `*_")]


def _match_bare(words: str, at: int) -> str | None:
    """Return the longest type, or word such as `required`, that stands here without brackets; None without one."""
    match = _WORDS.match(words, at)
    pieces = match[0].split(" ") if match else []
    for size in range(len(pieces), 0, -1):
        text = " ".join(pieces[:size])
        if says_type(text):
            return text
    return None
