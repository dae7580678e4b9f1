"""Parse the interfaces, type aliases and enumerations of TypeScript."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from openapi.reading.pages.code.tokens import read_comment, split_tokens

if TYPE_CHECKING:
    from openapi.reading.pages.code.tokens import CodeBlock, CodeToken

DECLARATION: Final = re.compile(
    r"^[ \t]*(?:export\s+)?(?:declare\s+)?(?:interface\s+\w+|type\s+\w+\s*(?:<[^>\n]*>)?\s*=|(?:const\s+)?enum\s+\w+)",
    re.MULTILINE,
)
_NUMBERS: Final = frozenset("0123456789-")
_WORDS: Final = {"true": True, "false": False, "null": None}


class UnreadCodeError(Exception):
    """Invalid declarations of types, with the line of the fault."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


@dataclass(frozen=True, slots=True)
class TypeNode:
    """A type as the code writes it.

    kind: `name` with its arguments, `literal` with its value, `array`, `union`, `both` (an intersection), or `object`.
    """

    kind: str
    value: Any = None
    inner: tuple[TypeNode, ...] = ()
    properties: tuple[Property, ...] = ()


@dataclass(frozen=True, slots=True)
class Property:
    """A property of an object; says: the statements of its comments."""

    name: str
    line: int
    optional: bool
    type: TypeNode
    says: tuple[str, ...] = ()


@dataclass(slots=True)
class _Cursor:
    """The tokens of a block without its comments, which belong to the token behind or in front of them."""

    tokens: list[CodeToken]
    at: int = 0
    above: dict[int, list[CodeToken]] = field(default_factory=dict)
    behind: dict[int, list[CodeToken]] = field(default_factory=dict)

    def peek(self, ahead: int = 0) -> str:
        index = self.at + ahead
        return self.tokens[index].text if index < len(self.tokens) else ""

    def take(self) -> CodeToken:
        if self.at >= len(self.tokens):
            raise UnreadCodeError(self.tokens[-1].line if self.tokens else 0)
        self.at += 1
        return self.tokens[self.at - 1]

    def skip(self, text: str) -> bool:
        if self.peek() == text:
            self.at += 1
            return True
        return False

    def skip_one(self, *texts: str) -> None:
        if self.peek() in texts:
            self.at += 1

    def expect(self, text: str) -> None:
        token = self.take()
        if token.text != text:
            raise UnreadCodeError(token.line)


def parse_declarations(block: CodeBlock) -> dict[str, tuple[int, TypeNode]]:
    """Return the line and the type of each declaration of a block, by its name. Raises UnreadCodeError."""
    cursor = _without_comments(split_tokens(block.text, block.line))
    found: dict[str, tuple[int, TypeNode]] = {}
    while cursor.at < len(cursor.tokens):
        token = cursor.take()
        if token.text in ("interface", "type", "enum") and re.fullmatch(r"[A-Za-z_$][\w$]*", cursor.peek()):
            name = cursor.take().text
            _skip_arguments(cursor)
            found[name] = (token.line, _declared(token.text, cursor))
    return found


def _without_comments(tokens: list[CodeToken]) -> _Cursor:
    cursor = _Cursor([])
    for token in tokens:
        if token.kind != "comment":
            cursor.tokens.append(token)
        elif token.first or not cursor.tokens:
            cursor.above.setdefault(len(cursor.tokens), []).append(token)
        else:
            cursor.behind.setdefault(cursor.tokens[-1].line, []).append(token)
    return cursor


def _skip_arguments(cursor: _Cursor) -> None:
    if cursor.skip("<"):
        while cursor.take().text != ">":
            pass


def _declared(kind: str, cursor: _Cursor) -> TypeNode:
    if kind == "enum":
        return _enumeration(cursor)
    if kind == "type":
        cursor.expect("=")
        return _union(cursor)
    parents = []
    if cursor.skip("extends"):
        parents.append(_single(cursor))
        while cursor.skip(","):
            parents.append(_single(cursor))
    body = _single(cursor)
    return TypeNode("both", inner=(*parents, body)) if parents else body


def _enumeration(cursor: _Cursor) -> TypeNode:
    cursor.expect("{")
    values = []
    while not cursor.skip("}"):
        cursor.take()
        cursor.expect("=")
        values.append(_single(cursor))
        cursor.skip(",")
    return TypeNode("union", inner=tuple(values))


def _union(cursor: _Cursor) -> TypeNode:
    cursor.skip("|")
    parts = [_intersection(cursor)]
    while cursor.skip("|"):
        parts.append(_intersection(cursor))
    return parts[0] if len(parts) == 1 else TypeNode("union", inner=tuple(parts))


def _intersection(cursor: _Cursor) -> TypeNode:
    parts = [_single(cursor)]
    while cursor.skip("&"):
        parts.append(_single(cursor))
    return parts[0] if len(parts) == 1 else TypeNode("both", inner=tuple(parts))


def _single(cursor: _Cursor) -> TypeNode:
    """Parse a type without signs between types, and the brackets of arrays behind it."""
    token = cursor.take()
    if token.text == "readonly":
        token = cursor.take()
    node = _bare(token, cursor)
    while cursor.peek() == "[" and cursor.peek(1) == "]":
        cursor.at += 2
        node = TypeNode("array", inner=(node,))
    return node


def _bare(token: CodeToken, cursor: _Cursor) -> TypeNode:
    if token.text == "(":
        node = _union(cursor)
        cursor.expect(")")
        return node
    if token.text == "{":
        return TypeNode("object", properties=tuple(_properties(cursor)))
    if token.kind == "string":
        return TypeNode("name", "string") if token.text[0] == "`" else TypeNode("literal", token.text[1:-1])
    if token.kind == "number" and set(token.text[:1]) <= _NUMBERS:
        return TypeNode("literal", json.loads(token.text.replace("_", "")))
    if token.text in _WORDS:
        return TypeNode("literal", _WORDS[token.text])
    if token.kind != "name":
        raise UnreadCodeError(token.line)
    arguments = []
    if cursor.skip("<"):
        arguments.append(_union(cursor))
        while cursor.skip(","):
            arguments.append(_union(cursor))
        cursor.expect(">")
    return TypeNode("name", token.text, tuple(arguments))


def _properties(cursor: _Cursor) -> list[Property]:
    properties: list[Property] = []
    while not cursor.skip("}"):
        comments = cursor.above.get(cursor.at, [])
        cursor.skip("readonly")
        token = cursor.take()
        if token.text == "[":  # [key: string]: a field of any name
            while cursor.take().text != "]":
                pass
            cursor.expect(":")
            _union(cursor)
            cursor.skip_one(";", ",")
            continue
        name = token.text[1:-1] if token.kind == "string" else token.text
        if token.kind not in ("string", "name"):
            raise UnreadCodeError(token.line)
        is_optional = cursor.skip("?")
        cursor.expect(":")
        node = _union(cursor)
        cursor.skip_one(";", ",")
        # behind the property, or behind the brace that opens an object over several lines
        lines = dict.fromkeys((token.line, cursor.tokens[cursor.at - 1].line))
        is_next_below = cursor.at >= len(cursor.tokens) or cursor.tokens[cursor.at].line not in lines
        if is_next_below or cursor.peek() == "}":
            comments = [*comments, *(one for line in lines for one in cursor.behind.pop(line, []))]
        says = tuple(said for comment in _joined(comments) for said in read_comment(comment))
        properties.append(Property(name, token.line, is_optional, node, says))
    return properties


def _joined(comments: list[CodeToken]) -> list[str]:
    """Return the texts of comments; lines that follow one another, each with its marks, are one comment."""
    texts: list[str] = []
    for before, comment in zip([None, *comments], comments, strict=False):
        if before and comment.text.startswith("//") and comment.first and before.first:
            texts[-1] += f" {comment.text.lstrip('/').strip()}"
        else:
            texts.append(comment.text)
    return texts
