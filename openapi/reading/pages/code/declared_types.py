"""Turn declared types into the rows of a page: the request, the answer and the chunk, with the types they refer to.

TypeScript has no integers: a `number` is one or the other, as far as its comment does not say.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from openapi.reading.pages.code.typescript import DECLARATION, TypeNode, UnreadCodeError, parse_declarations
from openapi.reading.pages.row import Cell, Item, TableRow, UnreadPassage

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from openapi.reading.pages.code.tokens import CodeBlock
    from openapi.reading.pages.headings import Position
    from openapi.reading.pages.row import Part

    Result = tuple[Position, TableRow | UnreadPassage]

UNREAD: Final = "types that no rule reads"
UNDECLARED: Final = "the type is not declared on the page"
OTHER: Final = "a declared type that is neither the request, an answer nor a part of one"
_TYPES: Final = {
    "string": "string",
    "number": "integer or number",
    "bigint": "integer",
    "boolean": "boolean",
    "object": "object",
    "Record": "object",
    "Map": "object",
    "null": "null",
}
_ANY: Final = frozenset({"any", "unknown", "undefined", "never", "void"})
_LISTS: Final = frozenset({"Array", "ReadonlyArray"})
_WRAPPERS: Final = frozenset({"Partial", "Readonly", "Required", "NonNullable"})
_KINDS: Final = {str: "string", bool: "boolean", int: "integer or number", float: "number"}
_PARTS: Final[tuple[tuple[Part, str], ...]] = (("stream", r"chunk|delta|stream|event"), ("response", r"."))


@dataclass(frozen=True, slots=True)
class DeclaredField:
    """A one of a type whose references are resolved."""

    name: str
    line: int
    required: bool
    type: DeclaredType
    says: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class DeclaredType:
    """A type whose references are resolved.

    kinds: the words of its types. values: its literals, if it has nothing else. unknown: names that the page does not
    declare.
    """

    kinds: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()
    optional: bool = False
    element: DeclaredType | None = None
    fields: tuple[DeclaredField, ...] = ()
    unknown: tuple[str, ...] = ()


def read_declared_types(blocks: Sequence[CodeBlock]) -> Iterator[Result]:
    """Yield the rows of the request, the answer and the chunk that the code of a page declares, by position."""
    declared: dict[str, tuple[int, TypeNode]] = {}
    for block in blocks:
        if DECLARATION.search(block.text):
            try:
                declared.update(parse_declarations(block))
            except UnreadCodeError as error:
                yield block.position, UnreadPassage(error.line, UNREAD, DECLARATION.findall(block.text)[0].strip())
    nodes = {name: node for name, (_, node) in declared.items()}
    roots = _find_roots(nodes)
    used = {name for root in roots for name in _list_used(nodes[root], nodes, set())}
    for name, (line, node) in declared.items():
        if name in roots:
            for at, result in enumerate(_rows(roots[name], (), _resolve(node, nodes).fields)):
                yield (line, at), result  # a type may be declared above the one that refers to it
        elif name not in used and not any(name in _list_used(other, nodes, set()) for other in nodes.values()):
            yield (line, 0), UnreadPassage(line, OTHER, name)


def _find_roots(nodes: Mapping[str, TypeNode]) -> dict[str, Part]:
    """Return the parts of the interface that declared types are, by their names: those with messages or choices."""
    roots: dict[str, Part] = {}
    for name, node in nodes.items():
        names = {field.name for field in _resolve(node, nodes).fields}
        if "messages" in names:
            roots[name] = "request"
        elif "choices" in names:
            roots[name] = next(part for part, words in _PARTS if re.search(words, name, re.IGNORECASE))
    inherited = {other for node in nodes.values() if node.kind == "both" for other in _names_of(node)}
    if roots.keys() - inherited:
        roots = {name: part for name, part in roots.items() if name not in inherited}
    return roots


def _names_of(node: TypeNode) -> set[str]:
    return {str(part.value) for part in node.inner if part.kind == "name"}


def _list_used(node: TypeNode, nodes: Mapping[str, TypeNode], seen: set[str]) -> set[str]:
    """Return the names of all declared types that a type refers to."""
    if node.kind == "name" and node.value in nodes and node.value not in seen:
        seen.add(node.value)
        _list_used(nodes[node.value], nodes, seen)
    for part in (*node.inner, *(one.type for one in node.properties)):
        _list_used(part, nodes, seen)
    return seen


def _resolve(node: TypeNode, nodes: Mapping[str, TypeNode], within: frozenset[str] = frozenset()) -> DeclaredType:
    """Resolve a type; `within`: the declared types around it, which a type that contains itself does not repeat."""
    inner = [_resolve(part, nodes, within) for part in node.inner]
    if node.kind == "union":
        return _join_any(inner)
    if node.kind == "both":
        fields = {field.name: field for part in inner for field in part.fields}
        return DeclaredType(("object",), fields=tuple(fields.values()), unknown=_unknown(inner))
    if node.kind == "array":
        return DeclaredType((_plural(inner[0]),), element=inner[0], unknown=inner[0].unknown)
    if node.kind == "literal":
        kinds = ("null",) if node.value is None else (_KINDS[type(node.value)],)
        return DeclaredType(kinds, () if node.value is None else (node.value,))
    if node.kind == "object":
        properties = [(one, _resolve(one.type, nodes, within)) for one in node.properties]
        return DeclaredType(
            ("object",),
            fields=tuple(
                DeclaredField(one.name, one.line, not (one.optional or kind.optional), kind, one.says)
                for one, kind in properties
            ),
        )
    return _resolve_name(str(node.value), inner, nodes, within)


def _resolve_name(
    name: str, arguments: Sequence[DeclaredType], nodes: Mapping[str, TypeNode], within: frozenset[str]
) -> DeclaredType:
    if name in nodes:
        return DeclaredType() if name in within else _resolve(nodes[name], nodes, within | {name})
    if name in _LISTS and arguments:
        return DeclaredType((_plural(arguments[0]),), element=arguments[0], unknown=arguments[0].unknown)
    if name in _WRAPPERS and arguments:
        optional = name == "Partial"
        fields = tuple(replace(field, required=field.required and not optional) for field in arguments[0].fields)
        return replace(arguments[0], fields=fields)
    if name in _TYPES:
        return DeclaredType((_TYPES[name],))
    return DeclaredType(optional=name == "undefined", unknown=() if name in _ANY else (name,))


def _join_any(parts: Sequence[DeclaredType]) -> DeclaredType:
    """Join the parts of a union; a field that only some of its objects have is optional."""
    stated = [part for part in parts if not (part.optional and not part.kinds)]
    solid = [part for part in stated if part.kinds != ("null",)]
    values = tuple(value for part in solid for value in part.values) if all(part.values for part in solid) else ()
    objects = [part for part in solid if part.fields]
    names = dict.fromkeys(field.name for part in objects for field in part.fields)
    elements = [part.element for part in solid if part.element]
    is_open = any(not part.kinds for part in stated)  # a part that may be anything, or is unknown
    return DeclaredType(
        () if is_open else tuple(dict.fromkeys(kind for part in stated for kind in part.kinds)),
        () if is_open else values,
        optional=any(part.optional for part in parts),
        element=_join_any(elements) if len(elements) > 1 else next(iter(elements), None),
        fields=tuple(_join_fields(name, objects) for name in names),
        unknown=_unknown(parts),
    )


def _join_fields(name: str, objects: Sequence[DeclaredType]) -> DeclaredField:
    found = [field for part in objects for field in part.fields if field.name == name]
    says = tuple(dict.fromkeys(said for field in found for said in field.says))
    required = len(found) == len(objects) and all(field.required for field in found)
    return DeclaredField(name, found[0].line, required, _join_any([field.type for field in found]), says)


def _unknown(parts: Sequence[DeclaredType]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for part in parts for name in part.unknown))


def _plural(element: DeclaredType) -> str:
    """Return the words of a list, with the type of its elements if they have one that a list can name."""
    kind = element.kinds[0] if len(element.kinds) == 1 else ""
    return f"array of {kind}s" if kind and kind in ("string", "boolean", "object") else "array"


def _rows(part: Part, above: tuple[str, ...], fields: Sequence[DeclaredField]) -> Iterator[TableRow | UnreadPassage]:
    for field in fields:
        path, kind = (*above, field.name), field.type
        values = kind.values or ()
        says = [*([_list_values(values)] if values else []), *field.says]
        kinds = " or ".join(dict.fromkeys(kind.kinds))
        items = tuple(Item(words, 0, field.line) for words in says)
        presence = Item("required" if field.required else "optional", 0, field.line)
        yield TableRow(
            part=part,
            path=path,
            line=field.line,
            type=Cell((Item(kinds, 0, field.line),), field.line) if kinds else None,
            required=Cell((presence,), field.line) if part == "request" or field.required else None,
            prose=Cell(items, field.line) if items else None,
        )
        if kind.element and kind.element.values:
            yield _element_row(part, (*above, f"{field.name}[]"), field.line, kind.element)
        for name in kind.unknown:
            yield UnreadPassage(field.line, UNDECLARED, f"{'.'.join(path)}: {name}")
        inner = kind.fields or (kind.element.fields if kind.element else ())
        yield from _rows(part, path, inner)


def _element_row(part: Part, path: tuple[str, ...], line: int, element: DeclaredType) -> TableRow:
    """Return the row of the elements of a list, which are some literals."""
    kinds = " or ".join(dict.fromkeys(element.kinds))
    values = Item(_list_values(element.values), 0, line)
    return TableRow(
        part=part, path=path, line=line, type=Cell((Item(kinds, 0, line),), line), prose=Cell((values,), line)
    )


def _list_values(values: Sequence[Any]) -> str:
    return f"Enum values: {', '.join(map(json.dumps, values))}"
