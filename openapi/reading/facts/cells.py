"""Cells: paragraphs and lists read together. A list may enumerate values, name members, or go on where prose ended."""

from __future__ import annotations

import re
from itertools import groupby
from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.clauses import ParsedText, is_telling, read_text
from openapi.reading.grammar.statement import UNSTATED, Statement
from openapi.reading.grammar.vocabulary import NAME, NUMBER, QUOTED, literal, plain, type_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from openapi.reading.pages.row import Cell, Item

_KEY: Final = re.compile(rf"({QUOTED}|{NAME}|{NUMBER})\s*:(?P<rest>.*)", re.DOTALL)
_MEMBER: Final = re.compile(
    rf"({NAME}),\s*(required|mandatory|optional|必选|可选),(?P<rest>.*)", re.IGNORECASE | re.DOTALL
)
_PROMISE: Final = re.compile(
    r"(?:可取\w+有|(?:the )?(?:possible|available) (?:values|roles)(?: are)?(?: as follows)?)\s*:$", re.IGNORECASE
)
_NO_VALUE: Final = re.compile(r"[A-Z][a-z]+|defaults?|range|types?|values?|min\w*|max\w*|notes?|examples?")
_ALWAYS: Final = frozenset({"required", "mandatory", "必选"})
LOST: Final = "(the page lost what stood here, most likely a list)"
EMPTY: Final = "(the cell is empty)"


def read_cell(cell: Cell, name: str, *, prose: bool = False) -> ParsedText:
    """What a cell says of the parameter `name`.

    `prose`: the cell describes; of what is not read there, only what may hold a fact is left to a person.
    """
    said = _promised(_read_items(cell.items, name), cell)
    unread = [text for text in said.unread if not prose or is_telling(text)]
    if cell.lost:
        unread.append(LOST)
    if not cell.items and not prose:
        unread.append(EMPTY)
    return ParsedText(said.pieces, tuple(unread))


def _read_items(items: Sequence[Item], name: str) -> ParsedText:
    pieces: list[Statement] = []
    unread: list[str] = []
    promised = False  # that the list enumerates values
    for is_list, run in groupby(items, key=lambda item: item.depth > 0):
        group = list(run)
        promised = promised or (not is_list and bool(_PROMISE.search(plain(group[-1].text).rstrip())))
        said = (
            [_read_list(group, name, promised=promised)] if is_list else [read_text(each.text, name) for each in group]
        )
        pieces += [piece for each in said for piece in each.pieces]
        unread += [text for each in said for text in each.unread]
    return ParsedText(tuple(pieces), tuple(unread))


def _promised(said: ParsedText, cell: Cell) -> ParsedText:
    """Words that announce a list are read with it; without one they are left, for the list is missing."""
    listed = {
        before.text for before, after in zip(cell.items, cell.items[1:], strict=False) if after.depth > before.depth
    }
    kept = tuple(
        text
        for text in said.unread
        if not (_PROMISE.fullmatch(plain(text).strip()) and any(each.endswith(text) for each in listed))
    )
    return ParsedText(said.pieces, kept)


def _read_list(items: Sequence[Item], name: str, *, promised: bool = False) -> ParsedText:
    """The entries of one list, each with the deeper ones below it."""
    entries: list[list[Item]] = []
    top = min(item.depth for item in items)
    for item in items:
        if item.depth == top or not entries:
            entries.append([item])
        else:
            entries[-1].append(item)
    keys = [_KEY.fullmatch(plain(entry[0].text).strip()) for entry in entries]
    if all(keys) and not any(_NO_VALUE.fullmatch(key[1]) for key in keys if key) and len(keys) > 1:
        return _read_keys(entries, [key[1] for key in keys if key], name, promised=promised)
    said = [_read_entry(entry, name) for entry in entries]
    return ParsedText(
        tuple(piece for each in said for piece in each.pieces), tuple(text for each in said for text in each.unread)
    )


def _read_keys(entries: Sequence[Sequence[Item]], keys: Sequence[str], name: str, *, promised: bool) -> ParsedText:
    """Entries that each begin with a key: forms of the value where all are types, else the values themselves.

    Numbers that are explained are examples, unless the words before them promise all values.
    """
    types = [type_of(key) for key in keys]
    below = [[_rest(entry[0]), *(item.text for item in entry[1:])] for entry in entries]
    if all(types):
        said = [read_text(text, name) for texts in below for text in texts]
        found = [
            Statement("also", (each.name,), entry[0].text) for each, entry in zip(types, entries, strict=True) if each
        ]
        found += [piece for each in said for piece in each.pieces]
        return ParsedText(tuple(found), tuple(text for each in said for text in each.unread))
    if any(read_text(texts[0], name).pieces for texts in below):
        return ParsedText(
            (), tuple(item.text for entry in entries for item in entry)
        )  # facts that hold for one value each
    values = tuple(key if (value := literal(key)) is UNSTATED else value for key in keys)
    if not promised and any(isinstance(value, (int, float)) and not isinstance(value, bool) for value in values):
        return ParsedText((), tuple(item.text for entry in entries for item in entry))
    explained = tuple(text for texts in below for text in texts if is_telling(text))
    if set(keys) <= {"true", "false"}:
        return ParsedText((), explained)  # both values of a boolean, explained
    return ParsedText((Statement("enum", values, "; ".join(entry[0].text for entry in entries)),), explained)


def _rest(item: Item) -> str:
    """What stands behind the key of an entry."""
    return item.text[len(item.text) - len(plain(item.text).partition(":")[2]) :].strip()


def _read_entry(entry: Sequence[Item], name: str) -> ParsedText:
    """An entry that names a member with its own demands, or a paragraph like any other."""
    first = entry[0].text
    match = _MEMBER.fullmatch(plain(first).strip())
    if match is None:
        said = [_as_form(read_text(first, name)), *([_read_list(entry[1:], name)] if entry[1:] else [])]
        return ParsedText(
            tuple(piece for each in said for piece in each.pieces), tuple(text for each in said for text in each.unread)
        )
    inner = read_text(match["rest"], match[1])
    required = Statement("required", "yes" if match[2].lower() in _ALWAYS else "no", first)
    return ParsedText(
        tuple(
            Statement(piece.attribute, piece.value, piece.text, f".{match[1]}{piece.at}")
            for piece in (required, *inner.pieces)
        ),
        tuple(text for text in (*inner.unread, *(item.text for item in entry[1:])) if is_telling(text)),
    )


def _as_form(said: ParsedText) -> ParsedText:
    """A type that an entry names is one form among those of the other entries."""
    forms = [("also" if (piece.attribute, piece.at) == ("types", "") else piece.attribute, piece) for piece in said.pieces]
    return ParsedText(
        tuple(Statement(member, piece.value, piece.text, piece.at) for member, piece in forms), said.unread
    )
