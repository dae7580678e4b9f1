"""Read cells: paragraphs and lists together. A list may enumerate values, name fields, or continue the prose."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.clauses import ParsedText, join, read_text
from openapi.reading.grammar.descriptions import may_hold_fact
from openapi.reading.grammar.statement import UNSTATED, Statement
from openapi.reading.grammar.vocabulary import NAME, NUMBER, QUOTED, normalize, parse_literal, parse_type

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openapi.reading.pages.row import Cell, Item

_KEY: Final = re.compile(rf"({QUOTED}|{NAME}|{NUMBER})\s*:(?P<rest>.*)", re.DOTALL)
_FIELD: Final = re.compile(
    rf"({NAME}),\s*(required|mandatory|optional|必选|可选),(?P<rest>.*)", re.IGNORECASE | re.DOTALL
)
_ANNOUNCEMENT: Final = re.compile(
    r"(?:可取\w+有|(?:the )?(?:possible|available) (?:values|roles)(?: are)?(?: as follows)?)\s*:$", re.IGNORECASE
)
_NOT_A_VALUE: Final = re.compile(r"[A-Z][a-z]+|defaults?|range|types?|values?|min\w*|max\w*|notes?|examples?")
_ENUMERATED: Final = re.compile(r"^\s*(?:[(（]\d{1,2}[)）]|[①-⑨])\s*")  # (1), and what it counts
_REQUIRED: Final = frozenset({"required", "mandatory", "必选"})
LOST: Final = "(content is missing here, probably a list)"
EMPTY: Final = "(the cell is empty)"


def read_cell(cell: Cell, name: str, *, prose: bool = False, thorough: bool = False) -> ParsedText:
    """Read a cell about the parameter `name`.

    In a cell of `prose`, unread text is reported only if it may state a fact; `thorough` reports more of it.
    """
    parsed = _drop_read_announcements(_read_items(cell.items, name), cell)
    unread = [text for text in parsed.unread if not prose or may_hold_fact(text, thorough=thorough)]
    harmless = [text for text in parsed.unread if text not in unread]
    if cell.lost:
        unread.append(LOST)
    if not cell.items and not prose:
        unread.append(EMPTY)
    return ParsedText(parsed.statements, tuple(unread), (*harmless, *parsed.prose))


def _read_items(items: Sequence[Item], name: str) -> ParsedText:
    parts: list[ParsedText] = []
    announced = False  # whether a paragraph announced that the list enumerates all values
    for is_list, run in groupby(items, key=lambda item: item.depth > 0):
        group = list(run)
        announced = announced or (not is_list and bool(_ANNOUNCEMENT.search(normalize(group[-1].text).rstrip())))
        if is_list:
            parts.append(_read_list(group, name, announced=announced))
        else:
            parts += [read_text(_ENUMERATED.sub("", item.text), name) for item in group]
    return join(parts)


def _drop_read_announcements(parsed: ParsedText, cell: Cell) -> ParsedText:
    """Count an announcement of a list as read if the list follows; otherwise the list is missing."""
    followed_by_list = {
        item.text for item, after in zip(cell.items, cell.items[1:], strict=False) if after.depth > item.depth
    }
    unread = tuple(
        text
        for text in parsed.unread
        if not (
            _ANNOUNCEMENT.fullmatch(normalize(text).strip()) and any(item.endswith(text) for item in followed_by_list)
        )
    )
    return ParsedText(parsed.statements, unread, parsed.prose)


def _read_list(items: Sequence[Item], name: str, *, announced: bool = False) -> ParsedText:
    """Read the entries of one list, each with the nested entries below it."""
    entries: list[list[Item]] = []
    top = min(item.depth for item in items)
    for item in items:
        if item.depth == top or not entries:
            entries.append([item])
        else:
            entries[-1].append(item)
    keys = [_KEY.fullmatch(normalize(entry[0].text).strip()) for entry in entries]
    if all(keys) and not any(_NOT_A_VALUE.fullmatch(key[1]) for key in keys if key) and len(keys) > 1:
        return _read_keyed_entries(entries, [key[1] for key in keys if key], name, announced=announced)
    return join([_read_entry(entry, name) for entry in entries])


def _read_keyed_entries(
    entries: Sequence[Sequence[Item]], keys: Sequence[str], name: str, *, announced: bool
) -> ParsedText:
    """Read entries that each begin with a key: alternative types if all keys are types, else the possible values.

    Numbers with explanations are only examples, unless an announcement says that the list is complete.
    """
    types = [parse_type(key) for key in keys]
    below = [[_after_key(entry[0]), *(item.text for item in entry[1:])] for entry in entries]
    if all(types):
        alternatives = ParsedText(
            tuple(
                Statement("also", (kind.name,), entry[0].text)
                for kind, entry in zip(types, entries, strict=True)
                if kind
            )
        )
        return join([alternatives, *(read_text(text, name) for texts in below for text in texts)])
    if any(read_text(texts[0], name).statements for texts in below):
        return ParsedText((), tuple(item.text for entry in entries for item in entry))  # facts about single values
    values = tuple(key if (value := parse_literal(key)) is UNSTATED else value for key in keys)
    if not announced and any(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return ParsedText((), tuple(item.text for entry in entries for item in entry))
    explained = [text for texts in below for text in texts if text]
    if set(keys) <= {"true", "false"}:
        return _keep_hinting((), explained)  # both values of a boolean, which its type already states
    return _keep_hinting((Statement("enum", values, "; ".join(entry[0].text for entry in entries)),), explained)


def _keep_hinting(statements: tuple[Statement, ...], texts: Sequence[str]) -> ParsedText:
    """Return statements, and texts that no rule reads: those that may state a fact, and the others as prose."""
    hinting = tuple(text for text in texts if may_hold_fact(text))
    return ParsedText(statements, hinting, tuple(text for text in texts if text not in hinting))


def _after_key(item: Item) -> str:
    """Return the text after the key of an entry."""
    return item.text[len(item.text) - len(normalize(item.text).partition(":")[2]) :].strip()


def _read_entry(entry: Sequence[Item], name: str) -> ParsedText:
    """Read an entry that describes a field of the parameter, or else as a paragraph."""
    first = entry[0].text
    match = _FIELD.fullmatch(normalize(first).strip())
    if match is None:
        nested = [_read_list(entry[1:], name)] if entry[1:] else []
        return join([_as_alternative(read_text(first, name)), *nested])
    inner = read_text(match["rest"], match[1])
    required = Statement("required", "yes" if match[2].lower() in _REQUIRED else "no", first)
    statements = tuple(
        Statement(statement.attribute, statement.value, statement.text, f".{match[1]}{statement.at}")
        for statement in (required, *inner.statements)
    )
    return _keep_hinting(statements, [*inner.unread, *(item.text for item in entry[1:])])


def _as_alternative(parsed: ParsedText) -> ParsedText:
    """Turn the type that an entry names into one alternative among those of the other entries."""
    statements = (
        Statement("also", statement.value, statement.text, statement.at)
        if (statement.attribute, statement.at) == ("types", "")
        else statement
        for statement in parsed.statements
    )
    return ParsedText(tuple(statements), parsed.unread, parsed.prose)
