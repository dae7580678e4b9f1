"""Tell the operation for chat completions from others on the same page, and its body from its path and headers."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from openapi.reading.pages.headings import CHAT, PARAGRAPH, enclosing_headings, innermost_path, is_below
from openapi.reading.pages.row import Cell, Item, TableRow, UnreadPassage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi.reading.pages.headings import Heading, Position

OTHER_SECTION: Final = "below a heading about something else than chat completions"
_CHAT: Final = re.compile(r"chat\W?completion", re.IGNORECASE)
_OTHER: Final = re.compile(
    r"(?:create |the )?(?:an? )?(?:legacy |text )?(?:completions?|embeddings?|moderations?|rerank(?:ing)?|edits?|speech"
    r"|transcriptions?|translations?|images?(?: generations?)?|fine-?tun\w+|batch(?:es)?|files?|list models)"
    r"(?: \(legacy\))?(?: api| endpoint| operation| request)?",
    re.IGNORECASE,
)
_PRESENCE: Final = re.compile(
    r"(?:(?P<required>required|mandatory|必[填选需]的?)|optional|可选的?|选填的?)\s*(?:request )?"
    r"(?:param\w*|fields?|arguments?|body param\w*|参数|字段)?(?:\s*\([^()]*\)|（[^（）]*）)?:?",
    re.IGNORECASE,
)
"""A heading that says whether the parameters below it are required."""
_OUTSIDE: Final = re.compile(
    r"\b(?:path|query|url|uri|header)s?\b(?: (?:string )?(?:param\w*|arguments?|fields?))?:?"
    r"|(?:request |http )?headers?:?|(?:请求头部?|路径|查询|路径参数|查询参数|header)(?:参数)?[::]?",
    re.IGNORECASE,
)


def is_outside_body(titles: Sequence[str]) -> bool:
    """Return whether the innermost of some headings says that a table is about the path, the query or the headers."""
    return bool(titles) and _OUTSIDE.fullmatch(titles[0].strip()) is not None


def state_presence(
    results: Sequence[tuple[Position, TableRow | UnreadPassage]], headings: Sequence[Heading]
) -> Iterator[tuple[Position, TableRow | UnreadPassage]]:
    """Yield the rows; parameters that do not say whether they are required follow the innermost heading that does."""
    titles = [heading for heading in headings if heading.level < PARAGRAPH]
    for position, row in results:
        title = next(iter(enclosing_headings(titles, position)), "")
        match = _PRESENCE.fullmatch(title.strip())
        if match is None or not isinstance(row, TableRow) or row.required or row.part != "request" or len(row.path) > 1:
            yield position, row
            continue
        word = "required" if match["required"] else "optional"
        yield position, replace(row, required=Cell((Item(word, 0, row.line),), row.line))


def _list_others(
    results: Sequence[tuple[Position, TableRow | UnreadPassage]], headings: Sequence[Heading]
) -> set[Position]:
    """Return the positions of rows of other operations, if the page has rows below a heading for chat completions."""
    titles = [heading for heading in headings if heading.level < PARAGRAPH]
    above = {position: enclosing_headings(titles, position) for position, _ in results}
    is_chat = {position: any(map(_CHAT.search, words)) for position, words in above.items()}
    if not any(is_chat.values()):
        return set()
    return {
        position
        for position, words in above.items()
        if any(_OTHER.fullmatch(title.strip()) for title in words) and not _names_chat_last(words)
    }


def _names_chat_last(words: Sequence[str]) -> bool:
    """Return whether of some headings, innermost first, one for chat completions comes before one for another."""
    return next((bool(_CHAT.search(title)) for title in words if _CHAT.search(title) or _OTHER.fullmatch(title)), False)


def select_operation(
    results: Sequence[tuple[Position, TableRow | UnreadPassage]], headings: Sequence[Heading], sections: Sequence[str]
) -> Iterator[tuple[Position, TableRow | UnreadPassage]]:
    """Yield the rows below headings that contain one of the words in `sections`.

    Without `sections`: on a page with a heading for chat completions, what is below the name of another operation is
    left out. If the heading is `chat/completions` and has request parameters below it, request parameters elsewhere
    belong to other operations, and so does all that is below a heading with another path.
    """
    if sections:
        yield from (result for result in results if is_below(headings, result[0], sections))
        return
    own = [
        position
        for position, row in results
        if isinstance(row, TableRow) and row.part == "request" and is_below(headings, position, [CHAT])
    ]
    told: set[tuple[str, ...]] = set()
    others = _list_others(results, headings)
    for position, row in results:
        path = innermost_path(headings, position)
        is_request = isinstance(row, TableRow) and row.part == "request"
        is_kept = not own or is_below(headings, position, [CHAT]) or (not path and not is_request)
        if is_kept and position not in others:
            yield position, row
        else:
            titles = tuple(enclosing_headings([item for item in headings if item.level < PARAGRAPH], position)[:1])
            if titles not in told and not path:  # another operation does not belong to this interface
                told.add(titles)
                yield position, UnreadPassage(position[0], OTHER_SECTION, " < ".join(titles))
