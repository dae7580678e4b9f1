"""Parse the words of an entry: a name, the words next to it such as `(number, optional)`, and its description."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from openapi.reading.grammar.clauses import read_text
from openapi.reading.pages.entries.signature import says_type, split_words
from openapi.reading.pages.names import PATH
from openapi.reading.pages.nesting import load_outline

_NAME: Final = re.compile(rf"(?P<mark>\*\*`|`|\*\*|__|)(?P<name>{PATH})(?:`\*\*|`|\*\*|__|)\s*:?\s*")
_BRACKETS: Final = re.compile(
    r"\((?:[^()]|\([^()]*\))*\)|\[[^\]]*\]|<[^>]+>|__[^_]+__|_[^_]+_|\*\*[^*]+\*\*|\*[^*]+\*|`[^`]+`"
)
_BETWEEN: Final = re.compile(r"\s*[,;|·•]?\s*")
_WORDS: Final = re.compile(r"[^\s,;:.()\[\]*`–—]+(?:[ ][^\s,;:.()\[\]*`–—]+){0,5}")
_END: Final = re.compile(r"\s*(?P<separator>:|[-–—](?=\s|$)|)\s*")
_PLAIN: Final = re.compile(
    rf"(?P<name>{PATH})(?P<separator>\s*[:=]\s*|\s+[-–—]+\s+|\s*\t\s*|[ ]{{2,}}|\s*,\s+|\s*(?=\())(?=\S)"
)
_TERM: Final = re.compile(rf"(?P<name>{PATH}) (?P<type>[A-Za-z][^.:;]*)")
_IDENTIFIER: Final = re.compile(r"[a-z]\w*(?:(?:\[\])?\.[a-z]\w*)*")
_AFTER_TYPE: Final = re.compile(
    r"\s*(?:$|[,.;:()|]|[-–—]\s)|\s+(?:between|from|in|up to|at (?:most|least)|one of|with|default\w*|required"
    r"|optional|mandatory|or null|[<>=≤≥]|\d)",
    re.IGNORECASE,
)
_AND: Final = re.compile(r"(?:,?\s*(?:and|or|&|/|和|或|与)(?=[\s`*])|,)\s*", re.IGNORECASE)
_LABEL: Final = re.compile(
    r"Defaults?|Types?|Required|Optional|Ranges?|Notes?|Examples?|Returns?|Response|Request|Values?|Options|Constraints"
)
"""Words with a capital letter that say what follows, instead of names."""
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
    if opening is None or _LABEL.fullmatch(opening["name"]):
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


def parse_plain_entry(words: str) -> DescribedName | None:
    """Parse an entry without marks, such as `top_p - number, ...`: a name, a separator and a type; None for another.

    Behind a name that the interface does not have, the type must end its clause or begin a statement. A known name
    may also be followed by another statement, or by whether it is required.
    """
    match = _PLAIN.match(words)
    if match is None:
        return _parse_term(words)
    if says_type(match["name"]):
        return None
    name, rest = match["name"], words[match.end() :]
    is_known = name.replace("[]", "").rpartition(".")[2] in known_names()
    group = _BRACKETS.match(rest)
    bare = _match_bare(rest, 0) or (group[0] if group else "")
    is_typed = any(map(says_type, _inside(bare) if bare[:1] in tuple("([`*_<") else split_words(bare)))
    if not is_typed and not (is_known and match["separator"].strip() and read_text(rest, name).statements):
        return None
    if is_typed and not is_known and not _AFTER_TYPE.match(rest, len(bare)):
        return None
    if not is_known and not _IDENTIFIER.fullmatch(name):
        return None
    entry = parse_entry(f"`{name}`: {rest}")
    return None if entry is None else replace(entry, is_typed=True)


def _parse_term(words: str) -> DescribedName | None:
    """Parse a line that consists of a known name and its type, and the lines below it, as manual pages write them."""
    first, _, below = words.partition("\n")
    match = _TERM.fullmatch(first.strip())
    if match is None or match["name"].replace("[]", "").rpartition(".")[2] not in known_names():
        return None
    parts = split_words(match["type"])
    if not parts or not all(map(says_type, parts)):
        return None
    return DescribedName(match["name"], tuple(parts), " ".join(below.split()), is_typed=True)


@cache
def known_names() -> frozenset[str]:
    """Return the names of the parameters of the interface, and of their fields."""
    return frozenset(path[-1] for path in load_outline("request"))


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
        is_next_line = bool(signature) and "\n" in words[at:start]  # the description: `Number of tokens`
        bare = _match_bare(words, start) if is_marked and not is_next_line else None
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
