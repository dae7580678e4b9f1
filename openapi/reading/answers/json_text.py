"""Read JSON as pages print it: after the head of an HTTP response, in events, with comments, or within a sentence."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

_HEAD: Final = re.compile(
    r"\s*(?:<?HTTP/\d(?:\.\d)?\s+)(?P<status>\d{3})[^\n]*\n(?:[\w-]+:[^\n]*\n)*\s*", re.IGNORECASE
)
_STATUS_LINE: Final = re.compile(r"\s*(?:(?://|#)\s*)?(?P<status>[1-5]\d\d)\b[^\n{}]*\n\s*(?=\{)")
_EVENT: Final = re.compile(r"^\s*data:\s?(?P<data>.*)$", re.MULTILINE)
_COMMENT: Final = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/|(?<=[\s,{\[])#[^\n]*', re.DOTALL)
_ELLIPSIS: Final = re.compile(r'("(?:[^"\\\n]|\\.)*")|,?\s*(?:\.\.\.|…)\s*,?')
_TRAILING: Final = re.compile(r'("(?:[^"\\\n]|\\.)*")|,(?=\s*[}\]])')
_OPENING: Final = re.compile(r'\{\s*"')
DONE: Final = "[DONE]"


@dataclass(frozen=True, slots=True)
class JsonText:
    """One JSON value as a page prints it.

    value: None if it cannot be parsed; `text` then has the words.
    is_cut: whether an ellipsis stands for a part that is left out.
    is_event: whether it is an event of a stream.
    status: that of the HTTP head above it.
    """

    text: str
    value: Any
    is_cut: bool = False
    is_event: bool = False
    status: int | None = None


def read_block(text: str) -> Iterator[JsonText]:
    """Yield the JSON values of a block of code; nothing for code of another kind, such as a command."""
    events = [match["data"].strip() for match in _EVENT.finditer(text)]
    if events:
        yield from (_parse(_blank_comments(data), is_event=True) for data in events if data != DONE)
        return
    head = _HEAD.match(text) or _STATUS_LINE.match(text)
    status = int(head["status"]) if head else None
    body = text[head.end() :] if head else text
    if not _blank_comments(body).lstrip().startswith("{"):
        return
    values = list(_split(_blank_comments(body)))
    yield from (_parse(value, status=status) for value in values)


def read_inline(text: str) -> Iterator[JsonText]:
    """Yield the JSON objects within a sentence."""
    at = 0
    while (match := _OPENING.search(text, at)) is not None:
        end = _closing(text, match.start())
        at = match.end() if end is None else end
        yield _parse(text[match.start() : end])


def without_json(text: str) -> str:
    """Return a sentence without the JSON objects in it."""
    for inner in read_inline(text):
        text = text.replace(inner.text, " ")
    return " ".join(text.split())


def _split(text: str) -> Iterator[str]:
    """Yield the objects of a string one after another, up to the first words of another kind."""
    at = 0
    while (start := len(text) - len(text[at:].lstrip())) < len(text) and text[start] == "{":
        end = _closing(text, start)
        yield text[start:end]
        if end is None:
            return
        at = end


def _closing(text: str, start: int) -> int | None:
    """Return the offset behind the brace that closes the one at `start`; None without one."""
    depth, quoted, escaped = 0, False, False
    for at in range(start, len(text)):
        character = text[at]
        if quoted:
            quoted = escaped or character != '"'
            escaped = character == "\\" and not escaped
        elif character == '"':
            quoted = True
        elif character in "{[":
            depth += 1
        elif character in "}]":
            depth -= 1
            if depth == 0:
                return at + 1
    return None


def _parse(text: str, *, is_event: bool = False, status: int | None = None) -> JsonText:
    """Parse a string, also with commas in front of a brace, and with ellipses for what is left out."""
    whole = _TRAILING.sub(_keep_strings, text)
    shortened = _TRAILING.sub(_keep_strings, _ELLIPSIS.sub(_shorten, text))
    for words, is_cut in ((text, False), (whole, False), (shortened, True)):
        try:
            value = json.loads(words)
        except ValueError:
            continue
        return JsonText(text, value, is_cut, is_event, status)
    return JsonText(text, None, is_event=is_event, status=status)


def _keep_strings(match: re.Match[str]) -> str:
    return match[1] or ""


def _shorten(match: re.Match[str]) -> str:
    return match[1] or ","


def _blank_comments(text: str) -> str:
    """Return a string with spaces in the place of comments."""
    return _COMMENT.sub(lambda match: match[1] or re.sub(r"[^\n]", " ", match[0]), text)
