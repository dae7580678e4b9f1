"""Read requests and answers in code whose fields have comments: `"max_tokens": 256, // 1-4096`.

The values are examples, so that only the comments state something. A field of a request without one is a parameter,
too; an answer is also read as a whole, without its comments, by the reader of printed answers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from openapi.reading.grammar.descriptions import may_hold_fact
from openapi.reading.pages.code.tokens import read_comment, split_tokens
from openapi.reading.pages.code.typescript import DECLARATION
from openapi.reading.pages.entries.described_name import parse_entry
from openapi.reading.pages.entries.signature import make_row
from openapi.reading.pages.row import Item, TableRow, UnreadPassage

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from openapi.reading.pages.code.tokens import CodeBlock, CodeToken
    from openapi.reading.pages.headings import Position
    from openapi.reading.pages.row import Part

    Result = tuple[Position, TableRow | UnreadPassage]

MESSAGES: Final = "messages"
"""The field by which an object is known as a request."""
CHOICES: Final = "choices"
"""The field by which an object is known as an answer, or as a chunk if they have a delta."""
NO_FIELD: Final = "a comment in a request or an answer that belongs to no field"
_OPENING, _CLOSING = frozenset("{["), frozenset("}]")


@dataclass(slots=True)
class WrittenField:
    """A field of an object in code, with the comments behind it and above it."""

    path: tuple[str, ...]
    line: int
    comments: list[str] = field(default_factory=list)


def read_commented_objects(blocks: Sequence[CodeBlock]) -> Iterator[Result]:
    """Yield the rows of each request and answer that has at least one comment, with their positions."""
    for block in blocks:
        if not (MESSAGES in block.text or CHOICES in block.text) or DECLARATION.search(block.text):
            continue
        tokens = split_tokens(block.text, block.line)
        for at, token in enumerate(tokens):
            if token.text == "{":
                fields, left = _read_object(tokens[at:])
                if (part := _part_of(fields)) is not None:
                    yield from _results(part, fields, left)
                    break


def _part_of(fields: Sequence[WrittenField]) -> Part | None:
    names = {one.path[0].removesuffix("[]") for one in fields}
    if MESSAGES in names:
        return "request"
    if CHOICES in names:
        return "stream" if any(one.path[1:2] == ("delta",) for one in fields) else "response"
    return None


def _results(part: Part, fields: Sequence[WrittenField], left: Sequence[CodeToken]) -> Iterator[Result]:
    if not any(one.comments for one in fields):
        return  # an example
    seen: set[tuple[str, ...]] = set()
    for one in fields:
        if one.comments or (part == "request" and len(one.path) == 1 and one.path not in seen):
            yield (one.line, 0), _row(part, one)
        seen.add(one.path)
    for comment in left:
        words = " ".join(read_comment(comment.text))
        if may_hold_fact(words, thorough=True):
            yield (comment.line, 0), UnreadPassage(comment.line, NO_FIELD, words)


def _row(part: Part, one: WrittenField) -> TableRow:
    """Make the row of a field; the first comment may begin with a type, as the words next to a name do."""
    first, *others = [said for comment in one.comments for said in read_comment(comment)] or [""]
    name = one.path[-1]
    entry = parse_entry(f"`{name}`: {first}")
    signature, text = (entry.signature, entry.text) if entry else ((), first)
    prose = [Item(words, 0, one.line) for words in (text, *others) if words]
    return make_row(part, one.path, one.line, signature, prose)


def _read_object(tokens: Sequence[CodeToken]) -> tuple[list[WrittenField], list[CodeToken]]:
    """Return the fields of the object at the start of some tokens, and the comments that belong to none of them."""
    fields: list[WrittenField] = []
    levels: list[tuple[str, ...]] = []
    above: list[CodeToken] = []
    left: list[CodeToken] = []
    path: tuple[str, ...] = ()
    for at, token in enumerate(tokens):
        if token.kind == "comment":
            on_line = [one for one in fields if one.line == token.line]
            if token.first or not on_line:
                above.append(token)
            else:
                on_line[-1].comments.append(token.text)
        elif token.text in _OPENING:
            levels.append((*path[:-1], f"{path[-1]}[]") if path and token.text == "[" else path)
        elif token.text in _CLOSING:
            left += above
            above = []
            levels.pop()
            if not levels:
                break
        elif _is_key(tokens, at):
            path = (*levels[-1], token.text.strip("\"'"))
            fields.append(WrittenField(path, token.line, [" ".join(_joined(above))] if above else []))
            above = []
        elif token.text == ",":
            path = levels[-1]
    return fields, left


def _is_key(tokens: Sequence[CodeToken], at: int) -> bool:
    """Return whether a token is the name of a field: a string or name in front of a colon, not in a list."""
    following = tokens[at + 1].text if at + 1 < len(tokens) else ""
    return tokens[at].kind in ("string", "name") and following == ":"


def _joined(comments: Sequence[CodeToken]) -> Iterator[str]:
    """Yield the texts of comments above a field, the marks only of the first."""
    for at, comment in enumerate(comments):
        yield comment.text if at == 0 else comment.text.lstrip("/#* ")
