"""The matrix: every parameter, answer, stream and refusal beside each other, dialect by dialect."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.parameter import ABSENT, Keyword
from openapi.description.comparison import row
from openapi.description.description import KIND_SUMMARY
from openapi.schema.fields import members_of
from openapi.schema.notation import notation, number, takes_null

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from openapi.contract.contract import Contract
    from openapi.contract.parameter import Parameter
    from openapi.schema.fields import Member
    from openapi.schema.json_schema import Schema

NOTHING: Final = "–"
"""What a dialect does not have, or does not say."""
INDENT: Final = "&emsp;"
HEAD: Final = """\
# Dialects side by side

<!-- Made by `chatproof spec matrix --write docs/dialects.md`; a test holds it against the contract. -->

What each document says, as the contract reads it. A dash: the dialect does not have it. `(0, 1]` leaves 0 out and takes
1; `2^31-1` is 2147483647. *null* is taken, *no null* is refused, *null?* is not said by the document. *required of
some* holds for some kinds of a message or part only. *if tools* marks what a server may lack. Where a document
contradicts itself or says nothing, the descriptions in `openapi/specs` name the interpretation under
`x-interpretation`.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One line: a name of the interface, or words, or both; how deep it is nested; and a cell for each dialect."""

    name: str
    cells: tuple[str, ...]
    depth: int = 0
    words: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """One table."""

    title: str
    rows: tuple[Row, ...]


def sections(contracts: Sequence[Contract]) -> tuple[Section, ...]:
    """The tables of these dialects, one column for each."""
    return (
        Section("Requests", tuple(_requests(contracts))),
        Section("Answers", tuple(_fields(contracts, "ChatCompletion"))),
        Section("Streams", (*_forms(contracts), *_fields(contracts, "ChatCompletionChunk"))),
        Section("Refusals", tuple(_refusals(contracts))),
        Section("Servers", tuple(_servers(contracts))),
    )


def markdown(contracts: Sequence[Contract]) -> str:
    """The page `docs/dialects.md`."""
    lines = [HEAD.rstrip("\n")]
    for section in sections(contracts):
        lines += ["", f"## {section.title}", "", row(["", *(contract.name for contract in contracts)])]
        lines.append(row(["---"] * (len(contracts) + 1)))
        lines += [row([_label(each), *map(_line, each.cells)]) for each in section.rows]
    return "\n".join(lines) + "\n"


def _label(each: Row) -> str:
    return f"{INDENT * each.depth}{' '.join(filter(None, [each.name and f'`{each.name}`', each.words]))}"


def _line(cell: str) -> str:
    """A cell of a page: what would be read as a tag is not."""
    return cell.replace("<", "&lt;").replace("\n", "<br>")


def _requests(contracts: Sequence[Contract]) -> Iterator[Row]:
    for name in _together(contract.parameters for contract in contracts):
        yield Row(name, tuple(_parameter_cell(contract, name) for contract in contracts))
        below = [_members(contract, _schema_of(contract, name), name) for contract in contracts]
        yield from _member_rows(contracts, below, name)
    for name in _together(contract.unsupported for contract in contracts):
        if not any(name in contract.parameters for contract in contracts):
            cells = ("not supported" if name in contract.unsupported else NOTHING for contract in contracts)
            yield Row(name, tuple(cells))


def _schema_of(contract: Contract, name: str) -> Schema | None:
    parameter = contract.parameters.get(name)
    return None if parameter is None else parameter.schema


def _parameter_cell(contract: Contract, name: str) -> str:
    if name not in contract.parameters:
        return "not supported" if name in contract.unsupported else NOTHING
    parameter = contract.parameters[name]
    notes = [
        "required" if parameter.required else "",
        _default(parameter),
        _null(parameter),
        f"if {parameter.capability}" if parameter.capability else "",
    ]
    return "\n".join([notation(parameter.schema, contract.schemas), ", ".join(filter(None, notes))])


def _default(parameter: Parameter) -> str:
    if parameter.default is ABSENT:
        return "" if parameter.default_note is None else f"default: {parameter.default_note}"
    if isinstance(parameter.default, float):
        return f"default {number(parameter.default)}"
    return f"default {json.dumps(parameter.default, ensure_ascii=False)}"


def _null(parameter: Parameter) -> str:
    if parameter.null.keyword is Keyword.MAY:
        return "null?"
    return "null" if parameter.null.expect == "accept" else "no null"


def _fields(contracts: Sequence[Contract], root: str) -> Iterator[Row]:
    yield from _member_rows(contracts, [_members(contract, contract.schemas.get(root), "") for contract in contracts])


def _members(contract: Contract, schema: Schema | None, path: str) -> dict[str, Member]:
    found = () if schema is None else members_of(schema, contract.schemas, path)
    return {member.path: member for member in found if not member.is_element}


def _member_rows(contracts: Sequence[Contract], found: Sequence[Mapping[str, Member]], root: str = "") -> Iterator[Row]:
    """A row for each member, named by what its path adds to that of the row it is nested under."""
    above = [root] if root else []
    for path in _nested(_together(found)):
        while above and not path.startswith((f"{above[-1]}.", f"{above[-1]}[]")):
            above.pop()
        cells = (_member_cell(contract, here.get(path)) for contract, here in zip(contracts, found, strict=True))
        yield Row(path.removeprefix(above[-1]) if above else path, tuple(cells), len(above))
        above.append(path)


def _member_cell(contract: Contract, member: Member | None) -> str:
    if member is None:
        return NOTHING
    schema = {"anyOf": list(member.schemas)}
    lacking = next((each["x-capability"] for each in member.schemas if "x-capability" in each), None)
    notes = [
        {"yes": "required", "some": "required of some", "no": ""}[member.required],
        "null" if takes_null(schema, contract.schemas) else "",
        f"if {lacking}" if lacking else "",
    ]
    return "\n".join(filter(None, [notation(schema, contract.schemas), ", ".join(filter(None, notes))]))


def _forms(contracts: Sequence[Contract]) -> Iterator[Row]:
    told: tuple[tuple[str, Callable[[Contract], str]], ...] = (
        ("role is sent", lambda contract: contract.stream.role),
        ("usage is sent", lambda contract: contract.stream.usage),
        ("chunk before the text", lambda contract: _yes(contract.stream.opening_chunk)),
        ("stop text", lambda contract: contract.stream.stop_text),
    )
    for label, tell in told:
        yield Row("", tuple(map(tell, contracts)), words=label)


def _refusals(contracts: Sequence[Contract]) -> Iterator[Row]:
    yield from _member_rows(contracts, [_members(contract, contract.errors.schema, "") for contract in contracts])
    for kind in _together(contract.errors.kinds for contract in contracts):
        yield Row(kind, tuple(_status(contract, kind) for contract in contracts), words=KIND_SUMMARY[kind])


def _status(contract: Contract, kind: str) -> str:
    known = contract.errors.kinds.get(kind)
    if known is None or (contract.auth == "none" and kind in ("unauthorized", "invalid_key")):
        return NOTHING
    return str(known.status) if known.code is None else f"{known.status}, code {known.code}"


def _servers(contracts: Sequence[Contract]) -> Iterator[Row]:
    told: tuple[tuple[str, Callable[[Contract], str]], ...] = (
        ("document", lambda contract: f"{contract.document.vendor}, {contract.document.product}"),
        ("version", lambda contract: contract.document.version),
        ("chat", lambda contract: contract.path),
        ("models", lambda contract: contract.models_path),
        ("API key", lambda contract: "bearer token" if contract.auth == "bearer" else "none"),
    )
    for label, tell in told:
        yield Row("", tuple(map(tell, contracts)), words=label)
    for name in _together(contract.capabilities for contract in contracts):
        cells = ("may lack it" if name in contract.capabilities else NOTHING for contract in contracts)
        yield Row(name, tuple(cells), words="as a capability")


def _together(found: Any) -> list[str]:
    """The names of all, each once: those of the first in its order, then what others have beside."""
    return list(dict.fromkeys(name for names in found for name in names))


def _nested(paths: Sequence[str]) -> list[str]:
    """Paths with what is below each right behind it, else in their order."""
    order = {path: at for at, path in enumerate(paths)}

    def key(path: str) -> list[int]:
        steps = path.split(".")
        above = [".".join(steps[: at + 1]) for at in range(len(steps))]
        return [order.get(each, order.get(each.removesuffix("[]"), -1)) for each in above]

    return sorted(paths, key=key)


def _yes(value: bool) -> str:
    return "yes" if value else "no"
