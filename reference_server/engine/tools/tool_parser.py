"""The parser that separates tool calls from other text in what a model generates."""

from __future__ import annotations

import re
from copy import copy
from enum import Enum
from typing import TYPE_CHECKING, Final

from reference_server.engine.partial_match import partial_match_length
from reference_server.engine.tool_use import CallPiece
from reference_server.engine.tools.tool_arguments import create_scanner

if TYPE_CHECKING:
    from reference_server.engine.tool_use import ToolUse
    from reference_server.engine.tools.tool_arguments import ArgumentScanner
    from reference_server.engine.tools.tool_format import ToolFormat

MAX_HEAD_LENGTH: Final = 1024  # characters up to the arguments; a longer head is not a call
MAX_HELD_SPACE: Final = 64  # characters of white space that are held back in front of a possible call
ELEMENT: Final = re.compile(r'"[^"]*"|[{}:,]|[^\s{}:,"]+')
SPACE: Final = re.compile(r"\s*")
QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*+"')
LINE: Final = re.compile(r"[^\n]*\n")
NAME: Final = ""  # placeholder for the tool's name among the elements of a head


class CallParserState(Enum):
    """The part of the answer that the text has reached."""

    TEXT = "text"
    HEAD = "head"
    ARGUMENTS = "arguments"
    TAIL = "tail"
    GAP = "gap"


class IncompleteText(Exception):
    """More text is needed to decide."""


class CallParser:
    """Parser of text into content and calls; the result does not depend on how the text is split into pieces.

    Text that begins like a call but continues otherwise, or names an unknown tool, is content. White space around calls
    is dropped. The time is linear in the length of the text.

    started, completed: number of calls.
    """

    def __init__(self, tool_format: ToolFormat, use: ToolUse) -> None:
        self._format = tool_format
        self._quoted = tool_format.name == "quoted"
        self._names = {tool.quoted_name if self._quoted else tool.name: tool.name for tool in use.tools}
        name = (*_elements(tool_format.before_name), NAME, *_elements(tool_format.before_arguments))
        self._first_head = (*_elements(tool_format.opening), *name)
        self._next_head = (*_elements(tool_format.between), *name)
        self._tail = _elements(tool_format.after_arguments)
        self._closing = tool_format.closing.strip()
        self._state = CallParserState.TEXT if tool_format.marked else CallParserState.HEAD
        self._head = self._first_head
        self._buffer = ""
        self._scanner: ArgumentScanner = create_scanner(tool_format.arguments)
        self.started = 0
        self.completed = 0

    def fork(self) -> CallParser:
        """Return an independent copy."""
        other = copy(self)
        other._scanner = copy(self._scanner)
        return other

    @property
    def in_call(self) -> bool:
        """Whether a possible call has begun and is not closed."""
        return self._state in (CallParserState.ARGUMENTS, CallParserState.TAIL) or (
            self._state is CallParserState.HEAD and bool(self._buffer)
        )

    def push(self, text: str) -> tuple[str, tuple[CallPiece, ...]]:
        """Return (content, call pieces) that the text adds for certain."""
        text = self._buffer + text
        texts: list[str] = []
        pieces: list[CallPiece] = []
        at = 0
        try:
            while at < len(text):
                match self._state:
                    case CallParserState.TEXT:
                        at = self._read_text(text, at, texts)
                    case CallParserState.HEAD:
                        at = self._read_head(text, at, texts, pieces)
                    case CallParserState.ARGUMENTS:
                        at = self._read_arguments(text, at, pieces)
                    case CallParserState.TAIL:
                        at = self._read_tail(text, at)
                    case CallParserState.GAP:
                        at = self._read_gap(text, at)
                self._buffer = text[at:]
        except IncompleteText as incomplete:
            self._buffer = text[incomplete.args[0] :]
        return "".join(texts), tuple(pieces)

    def flush(self, *, cut: bool) -> str:
        """Return content that was held back, when no more text follows.

        cut: whether the answer was cut off; the beginning of a call is then dropped.
        """
        buffered, self._buffer = self._buffer, ""
        if self._state is CallParserState.TEXT:
            return buffered.rstrip() if self.started else buffered
        return buffered if self._state is CallParserState.HEAD and not cut else ""

    def _read_text(self, text: str, at: int, texts: list[str]) -> int:
        if not self._format.marked:
            texts.append(text[at:])
            return len(text)
        start = text.find(self._format.marker, at)
        if start >= 0:
            texts.append(text[at:start].rstrip())
            self._state, self._head = CallParserState.HEAD, self._first_head
            return start
        end = text[max(at, len(text) - len(self._format.marker)) :]
        certain = len(text) - partial_match_length(end, (self._format.marker,))
        certain_text = text[at:certain].rstrip()
        if certain - at - len(certain_text) > MAX_HELD_SPACE:
            certain_text = text[at:certain]
        texts.append(certain_text)
        raise IncompleteText(at + len(certain_text))

    def _read_head(self, text: str, at: int, texts: list[str], pieces: list[CallPiece]) -> int:
        try:
            head = self._match_head(text, at)
        except IncompleteText:
            if len(text) - at <= MAX_HEAD_LENGTH:
                raise IncompleteText(at) from None
            head = None
        if head is not None:
            name, end = head
            pieces.append(CallPiece(self.started, name, ""))
            self.started += 1
            self._scanner = create_scanner(self._format.arguments)
            self._state = CallParserState.ARGUMENTS
            return end
        self._state = CallParserState.TEXT
        if not self._format.marked:
            return at + (text[at] == "\n")  # the first line, which a call replaces with the name of a tool
        end = at + len(self._head[0])
        texts.append(text[at:end])
        return end

    def _match_head(self, text: str, at: int) -> tuple[str, int] | None:
        """Return (name of a tool, start of its arguments), or None if this is not a call; raise IncompleteText."""
        name = ""
        limit = at + MAX_HEAD_LENGTH
        for element in self._head:
            if element != NAME or self._quoted:
                at = _after_space(text, at)
            if element != NAME:
                end = _after(element, text, at)
                if end is None:
                    return None
                at = end
                continue
            match = (QUOTED if self._quoted else LINE).match(text, at, limit)
            if match is None:
                if self._quoted and text[at] != '"':
                    return None
                raise IncompleteText(at)
            tool_name = self._names.get(match[0].rstrip("\n"))
            if tool_name is None:
                return None
            name, at = tool_name, match.end()
        if self._format.arguments == "json":
            at = _after_space(text, at)
            return (name, at) if text[at] == "{" else None
        return name, at

    def _read_arguments(self, text: str, at: int, pieces: list[CallPiece]) -> int:
        arguments, at = self._scanner.scan(text, at)
        if arguments:
            pieces.append(CallPiece(self.started - 1, None, arguments))
        if self._scanner.complete:
            self.completed += 1
            self._state = CallParserState.TAIL
        elif self._scanner.invalid:
            self._state = CallParserState.TEXT
        elif at < len(text):
            raise IncompleteText(at)
        return at

    def _read_tail(self, text: str, at: int) -> int:
        """Return the position after a call's own end; missing parts of the end are ignored."""
        end: int | None = at
        try:
            for element in self._tail:
                end = None if end is None else _after(element, text, _after_space(text, end))
        except IncompleteText:
            if len(text) - at <= MAX_HEAD_LENGTH:
                raise IncompleteText(at) from None
            end = None
        self._state = CallParserState.GAP
        return at if end is None else end

    def _read_gap(self, text: str, at: int) -> int:
        """Return the position after white space and the end of all calls."""
        at = SPACE.match(text, at).end()  # type: ignore[union-attr]  # always matches
        if at == len(text):
            return at
        waiting = False
        for element, state in ((self._next_head[0], CallParserState.HEAD), (self._closing, CallParserState.GAP)):
            try:
                if element and (end := _after(element, text, at)) is not None:
                    self._state, self._head = state, self._next_head
                    return at if state is CallParserState.HEAD else end
            except IncompleteText:
                waiting = True
        if waiting:
            raise IncompleteText(at)
        self._state = CallParserState.TEXT
        return at


def _elements(text: str) -> tuple[str, ...]:
    """Return the parts of a string between which white space is optional."""
    return tuple(ELEMENT.findall(text))


def _after_space(text: str, at: int) -> int:
    """Return the position after white space; raise IncompleteText at the end of the text."""
    at = SPACE.match(text, at).end()  # type: ignore[union-attr]  # always matches
    if at == len(text):
        raise IncompleteText(at)
    return at


def _after(element: str, text: str, at: int) -> int | None:
    """Return the position after an element, None if it is absent; raise IncompleteText if the text ends in it."""
    if text.startswith(element, at):
        return at + len(element)
    if element.startswith(text[at : at + len(element)]):
        raise IncompleteText(at)
    return None
