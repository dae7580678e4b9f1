"""CallParser: the calls of tools in what a model writes, told from the text before them."""

from __future__ import annotations

import re
from copy import copy
from enum import Enum
from typing import TYPE_CHECKING, Final

from reference_server.engine.detokenizer import length_begun
from reference_server.engine.tool_use import CallPiece
from reference_server.engine.tools.tool_arguments import scanner

if TYPE_CHECKING:
    from reference_server.engine.tool_use import ToolUse
    from reference_server.engine.tools.tool_arguments import ArgumentScanner
    from reference_server.engine.tools.tool_format import ToolFormat

LONGEST_HEAD: Final = 1024  # characters up to the arguments; what goes on longer is none
LONGEST_SPACE: Final = 64  # characters that are held back because a call may follow
ELEMENT: Final = re.compile(r'"[^"]*"|[{}:,]|[^\s{}:,"]+')
SPACE: Final = re.compile(r"\s*")
QUOTED: Final = re.compile(r'"(?:[^"\\]|\\.)*+"')
LINE: Final = re.compile(r"[^\n]*\n")
NAME: Final = ""  # stands among the elements of a head for the tool's name


class Place(Enum):
    """Where in an answer the text has got to."""

    SPOKEN = "spoken"
    HEAD = "head"
    ARGUMENTS = "arguments"
    TAIL = "tail"
    GAP = "gap"


class Unfinished(Exception):
    """More text is needed to tell."""


class CallParser:
    """A text that comes in pieces, divided into what is said and what is called, wherever the pieces are cut.

    What begins like a call and goes on otherwise, or names a tool that is not offered, was said. White space around
    calls belongs to nobody. Time grows with the length of the text alone.

    begun, complete: how many calls.
    """

    def __init__(self, form: ToolFormat, use: ToolUse) -> None:
        self._form = form
        self._quoted = form.name == "quoted"
        self._names = {tool.quoted if self._quoted else tool.name: tool.name for tool in use.tools}
        name = (*_elements(form.before_name), NAME, *_elements(form.before_arguments))
        self._first_head = (*_elements(form.opening), *name)
        self._next_head = (*_elements(form.between), *name)
        self._tail = _elements(form.after_arguments)
        self._closing = form.closing.strip()
        self._place = Place.SPOKEN if form.marked else Place.HEAD
        self._head = self._first_head
        self._held = ""
        self._scanner: ArgumentScanner = scanner(form.arguments)
        self.begun = 0
        self.complete = 0

    def fork(self) -> CallParser:
        """Another one that begins with the same text."""
        other = copy(self)
        other._scanner = copy(self._scanner)
        return other

    @property
    def calling(self) -> bool:
        """Whether what may become a call has begun, and is not closed."""
        return self._place in (Place.ARGUMENTS, Place.TAIL) or (self._place is Place.HEAD and bool(self._held))

    def push(self, text: str) -> tuple[str, tuple[CallPiece, ...]]:
        """(what is said, what is called) for certain."""
        text = self._held + text
        spoken: list[str] = []
        pieces: list[CallPiece] = []
        at = 0
        try:
            while at < len(text):
                match self._place:
                    case Place.SPOKEN:
                        at = self._speak(text, at, spoken)
                    case Place.HEAD:
                        at = self._begin(text, at, spoken, pieces)
                    case Place.ARGUMENTS:
                        at = self._argue(text, at, pieces)
                    case Place.TAIL:
                        at = self._end(text, at)
                    case Place.GAP:
                        at = self._wait(text, at)
                self._held = text[at:]
        except Unfinished as unfinished:
            self._held = text[unfinished.args[0] :]
        return "".join(spoken), tuple(pieces)

    def flush(self, *, cut: bool) -> str:
        """What was said and held back, once no more text comes. cut: before the answer was over: the beginning of a
        call is then nothing that was said."""
        held, self._held = self._held, ""
        if self._place is Place.SPOKEN:
            return held.rstrip() if self.begun else held
        return held if self._place is Place.HEAD and not cut else ""

    def _speak(self, text: str, at: int, spoken: list[str]) -> int:
        if not self._form.marked:
            spoken.append(text[at:])
            return len(text)
        found = text.find(self._form.marker, at)
        if found >= 0:
            spoken.append(text[at:found].rstrip())
            self._place, self._head = Place.HEAD, self._first_head
            return found
        end = text[max(at, len(text) - len(self._form.marker)) :]
        certain = len(text) - length_begun(end, (self._form.marker,))
        said = text[at:certain].rstrip()
        if certain - at - len(said) > LONGEST_SPACE:
            said = text[at:certain]
        spoken.append(said)
        raise Unfinished(at + len(said))

    def _begin(self, text: str, at: int, spoken: list[str], pieces: list[CallPiece]) -> int:
        try:
            found = self._match_head(text, at)
        except Unfinished:
            if len(text) - at <= LONGEST_HEAD:
                raise Unfinished(at) from None
            found = None
        if found is not None:
            name, end = found
            pieces.append(CallPiece(self.begun, name, ""))
            self.begun += 1
            self._scanner = scanner(self._form.arguments)
            self._place = Place.ARGUMENTS
            return end
        self._place = Place.SPOKEN
        if not self._form.marked:
            return at + (text[at] == "\n")  # the first line, where the name of a tool would be
        end = at + len(self._head[0])
        spoken.append(text[at:end])
        return end

    def _match_head(self, text: str, at: int) -> tuple[str, int] | None:
        """(name of a tool, where its arguments begin); None: this is no call. Raises Unfinished."""
        name = ""
        limit = at + LONGEST_HEAD
        for element in self._head:
            if element != NAME or self._quoted:
                at = _after_space(text, at)
            if element != NAME:
                end = _after(element, text, at)
                if end is None:
                    return None
                at = end
                continue
            found = (QUOTED if self._quoted else LINE).match(text, at, limit)
            if found is None:
                if self._quoted and text[at] != '"':
                    return None
                raise Unfinished(at)
            known = self._names.get(found[0].rstrip("\n"))
            if known is None:
                return None
            name, at = known, found.end()
        if self._form.arguments == "json":
            at = _after_space(text, at)
            return (name, at) if text[at] == "{" else None
        return name, at

    def _argue(self, text: str, at: int, pieces: list[CallPiece]) -> int:
        arguments, at = self._scanner.scan(text, at)
        if arguments:
            pieces.append(CallPiece(self.begun - 1, None, arguments))
        if self._scanner.over:
            self.complete += 1
            self._place = Place.TAIL
        elif self._scanner.broken:
            self._place = Place.SPOKEN
        elif at < len(text):
            raise Unfinished(at)
        return at

    def _end(self, text: str, at: int) -> int:
        """Past a call's own end, of which whatever is missing is missed by nobody."""
        place: int | None = at
        try:
            for element in self._tail:
                place = None if place is None else _after(element, text, _after_space(text, place))
        except Unfinished:
            if len(text) - at <= LONGEST_HEAD:
                raise Unfinished(at) from None
            place = None
        self._place = Place.GAP
        return at if place is None else place

    def _wait(self, text: str, at: int) -> int:
        """Past white space and the end of all calls, to the next call or to what is said."""
        at = SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches anything
        if at == len(text):
            return at
        waiting = False
        for element, place in ((self._next_head[0], Place.HEAD), (self._closing, Place.GAP)):
            try:
                if element and (end := _after(element, text, at)) is not None:
                    self._place, self._head = place, self._next_head
                    return at if place is Place.HEAD else end
            except Unfinished:
                waiting = True
        if waiting:
            raise Unfinished(at)
        self._place = Place.SPOKEN
        return at


def _elements(text: str) -> tuple[str, ...]:
    """What must be there of a text, between which there may be white space."""
    return tuple(ELEMENT.findall(text))


def _after_space(text: str, at: int) -> int:
    """Past white space; raises Unfinished where the text ends."""
    at = SPACE.match(text, at).end()  # type: ignore[union-attr]  # it matches anything
    if at == len(text):
        raise Unfinished(at)
    return at


def _after(element: str, text: str, at: int) -> int | None:
    """Past an element, None where it is not there; raises Unfinished where the text ends within it."""
    if text.startswith(element, at):
        return at + len(element)
    if element.startswith(text[at : at + len(element)]):
        raise Unfinished(at)
    return None
