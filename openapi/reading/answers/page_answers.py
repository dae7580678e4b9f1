"""Read what a page says about answers outside of its tables of fields: printed JSON, statuses, sentences that bind.

A printed value belongs to the stream, to a whole answer or to an error by its own fields, or by the words around it.
Requests are left to the readers of parameters.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from openapi.reading.answers.json_text import JsonText, read_block, read_inline, without_json
from openapi.reading.answers.sentences import is_binding, split_sentences
from openapi.reading.answers.statuses import (
    ERRORS,
    StatedStatus,
    is_about_errors,
    names_status,
    read_row,
    read_statuses,
)
from openapi.reading.pages.columns import find_named_part
from openapi.reading.pages.row import UnreadPassage
from openapi.reading.pages.table_grid import find_tables, parse_markup

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi.reading.answers.passages import Passage
    from openapi.reading.pages.row import Part, Rows

NOT_JSON: Final = "the example is not JSON"
UNREAD: Final = "a sentence that binds, and that no reader understands"
_NAMES: Final = re.compile(r"`[^`]*`|\*\*[^*]*\*\*|\w+_\w+")
"""Names of fields, whose words say nothing about the sentence, such as `response_format`."""
_EXAMPLE: Final = re.compile(
    r"\b(?:examples?|e\.g|for instance|such as|may|might|could|can)\b|示例|例如", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class PrintedAnswer:
    """An answer, a chunk or the body of an error as a page prints it.

    is_cut: whether the page leaves out a part of it.
    is_example: whether the words around it call it an example.
    status: that of the sentence or the HTTP head above it.
    """

    part: Part
    line: int
    value: dict[str, Any]
    is_cut: bool
    is_example: bool
    status: int | None


@dataclass(slots=True)
class PageAnswers:
    """What a page says about answers.

    unread: printed values that are not JSON, and sentences that bind and that no reader understands.
    """

    printed: list[PrintedAnswer] = field(default_factory=list)
    statuses: list[StatedStatus] = field(default_factory=list)
    unread: list[UnreadPassage] = field(default_factory=list)

    def of(self, part: Part) -> list[PrintedAnswer]:
        """Return the printed values of a part of the interface."""
        return [one for one in self.printed if one.part == part]


def read_answers(text: str, rows: Rows, passages: Sequence[Passage]) -> PageAnswers:
    """Read the passages of a page of HTML or Markdown.

    rows: those that other readers have read, whose lines are left to them.
    """
    answers = PageAnswers()
    answers.statuses += _of_tables(text, passages)
    known = {*_list_lines(rows), *(status.line for status in answers.statuses)}
    previous, is_section = "", False
    for passage in passages:
        is_section = passage.line in known if passage.kind == "title" else is_section
        read = list(_printed(passage, previous))
        answers.printed += [one for one in read if isinstance(one, PrintedAnswer)]
        answers.unread += [one for one in read if isinstance(one, UnreadPassage)]
        if passage.kind in ("words", "title") and not is_section and not set(range(passage.line, passage.end)) & known:
            statuses = list(read_statuses(passage))
            answers.statuses += statuses
            if passage.kind == "words":
                answers.unread += _binding(passage, statuses)
        if passage.kind != "code":
            previous = passage.text
    return answers


def _printed(passage: Passage, previous: str) -> Iterator[PrintedAnswer | UnreadPassage]:
    """Yield the values that a passage prints; `previous`: the words above a block of code."""
    is_code = passage.kind == "code"
    words = previous if is_code else passage.text
    for printed in read_block(passage.text) if is_code else read_inline(passage.text):
        titles = [*passage.headings] if is_code else [_NAMES.sub(" ", passage.text), *passage.headings]
        part = _part_of(printed, words, titles)
        if part is None:
            continue
        if not isinstance(printed.value, dict):
            if is_code or part == "errors":
                yield UnreadPassage(passage.line, NOT_JSON, " ".join(printed.text.split())[:200])
            continue
        around = words if not is_code else f"{words} {' '.join(passage.headings[:1])}"
        statuses = [] if is_code and not words.rstrip().endswith(":") else _statuses_in(without_json(words))
        status = printed.status or next(iter(statuses), None)
        is_example = _EXAMPLE.search(around) is not None
        yield PrintedAnswer(part, passage.line, printed.value, printed.is_cut, is_example, status)


def _statuses_in(words: str) -> list[int]:
    return [int(status) for status in re.findall(r"(?<![\w.])([1-5]\d\d)(?![\w.]\d|\w)", words)]


def _part_of(found: JsonText, words: str, titles: Sequence[str]) -> Part | None:
    """Return the part of the interface to which a printed value belongs; None for a request and other values."""
    value = found.value if isinstance(found.value, dict) else {}
    if "messages" in value or "prompt" in value:
        return None
    if "choices" in value or "choices" in found.text:
        choices = value.get("choices") or [{}]
        first = choices[0] if isinstance(choices, list) and isinstance(choices[0], dict) else {}
        is_chunk = found.is_event or "delta" in first or str(value.get("object", "")).endswith(".chunk")
        return "stream" if is_chunk else "response"
    if "error" in value or "errors" in value or (found.status or 200) >= 400:
        return "errors"
    if is_about_errors(titles) or (
        ERRORS.search(words) and any(status >= 400 for status in _statuses_in(without_json(words)))
    ):
        return "errors"
    named = find_named_part(titles)
    return named if named in ("stream", "response") and (value or "choices" in found.text) else None


def _of_tables(text: str, passages: Sequence[Passage]) -> Iterator[StatedStatus]:
    """Yield the statuses of tables about errors that are in wanted places of the page."""
    above = {passage.line: passage.headings for passage in passages if passage.kind == "cell"}
    for table in find_tables(*parse_markup(text)):
        if not table.grid:
            continue
        headers = [table.caption, *table.headers]
        for cells in table.grid:
            distinct = [cell for cell in dict.fromkeys(cells) if cell is not None]
            line = distinct[0].line if distinct else 0
            if distinct and line in above:
                found = read_row([cell.text for cell in distinct], above[line], headers, line)
                if found is not None:
                    yield found


def _binding(passage: Passage, statuses: Sequence[StatedStatus]) -> Iterator[UnreadPassage]:
    """Yield the sentences of a passage that bind or name a status, and in which nothing is read."""
    for sentence in split_sentences(passage.text):
        is_read = bool(list(read_inline(sentence))) or any(str(one.status) in sentence for one in statuses)
        if not is_read and (is_binding(sentence) or names_status(sentence)):
            yield UnreadPassage(passage.line, UNREAD, sentence)


def _list_lines(rows: Rows) -> Iterator[int]:
    """Yield the lines from which rows and unread passages were made."""
    for row in rows.rows:
        yield row.line
        cells = [row.type, row.required, row.prose, row.value, *(cell for _, cell in row.others)]
        yield from (item.line for cell in cells if cell for item in cell.items)
    yield from (passage.line for passage in rows.unread)
