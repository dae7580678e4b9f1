"""The contract: what one dialect asks of a request, promises of an answer, and how sure each fact is.

`load("mindie")` gives a frozen Contract, resolved from the dialect's YAML file and the shapes it names. Nothing here
touches HTTP; `description.py` writes a Contract as OpenAPI, `validation.py` holds instances against it.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from openapi.resolution import ContractError, dialect_files, members, read, resolve

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

__all__ = ["Contract", "ContractError", "Keyword", "Parameter", "Probe", "load", "names"]

Expect = Literal["accept", "reject"]
Schema = dict[str, Any]
ABSENT: Any = object()  # no default is documented; None would be a documented null


class Keyword(StrEnum):
    """How binding a requirement is (BCP 14). MAY: both outcomes pass and are recorded."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


@dataclass(frozen=True, slots=True)
class Document:
    """One pinned source text."""

    id: str
    vendor: str
    product: str
    version: str
    title: str
    language: str
    page: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Probe:
    """One value of a parameter, and whether a server must accept it. `value` is what is sent."""

    name: str
    value: Any
    expect: Expect
    keyword: Keyword = Keyword.MUST
    reading: str | None = None
    capability: str | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One member of the request body. `schema` describes the value without null."""

    name: str
    summary: str
    source: str
    schema: Schema
    null: Probe
    required: bool = False
    default: Any = ABSENT
    default_note: str | None = None
    levels: Mapping[str, Keyword] = field(default_factory=dict)
    probes: tuple[Probe, ...] = ()
    capability: str | None = None
    neutral: tuple[Any, ...] = ()
    needs: Mapping[str, Any] = field(default_factory=dict)
    reading: str | None = None
    lacking: bool = False  # the server lacks the capability: neutral values only

    def level(self, keyword: str) -> Keyword:
        """How sure it is that a value breaking this keyword of the schema is refused."""
        return self.levels.get(keyword, Keyword.MUST)


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule across parameters. `schema` applies when `trigger` is present; None: it cannot be said in a schema."""

    id: str
    summary: str
    source: str
    keyword: Keyword
    trigger: str | None
    schema: Schema | None
    broken: Mapping[str, Any] | None
    kept: Mapping[str, Any] | None
    capability: str | None
    reading: str | None


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a check stands on in this dialect: how binding, and which sentence."""

    id: str
    keyword: Keyword
    source: str
    reading: str | None = None
    capability: str | None = None


@dataclass(frozen=True, slots=True)
class Capability:
    """A feature that a server may lack. `assumed`: taken for present when the server does not say."""

    name: str
    summary: str
    source: str
    assumed: bool


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """How the reference server answers one kind of refusal."""

    status: int
    phrase: str | None = None
    code: int | None = None


@dataclass(frozen=True, slots=True)
class ErrorTable:
    """The dialect's error envelope: its schema, its form, and the status of each kind."""

    schema: Schema
    body: Mapping[str, Any]
    kinds: Mapping[str, ErrorKind]

    def render(self, kind: str, message: str) -> tuple[int, dict[str, Any]]:
        """Status and body of a refusal. `kind` is a row of the table; invalid_key falls back to unauthorized."""
        row = self.kinds.get(kind) or self.kinds["unauthorized" if kind == "invalid_key" else kind]
        fills = {"{message}": message, "{phrase}": row.phrase, "{code}": row.code}
        return row.status, {key: fills.get(form, form) for key, form in self.body.items()}


@dataclass(frozen=True, slots=True)
class AnswerForm:
    """How the reference server writes a plain answer."""

    id_prefix: str | None
    message: Mapping[str, Any]
    choice: Mapping[str, Any]
    timings: bool
    token_arrays: bool
    cached_tokens: bool


@dataclass(frozen=True, slots=True)
class StreamForm:
    """How the reference server writes a stream."""

    role: Literal["every-delta", "first-delta", "never"]
    usage: Literal["with-finish", "on-request"]
    opening_chunk: bool
    full_text: Literal["optional", "never"]
    key_order: tuple[str, ...]
    stop_text: Literal["excluded", "included"] = "excluded"


@dataclass(frozen=True, slots=True)
class Contract:
    """One resolved dialect. Sources are `document-id#anchor` throughout."""

    name: str
    aliases: tuple[str, ...]
    title: str
    document: Document
    path: str
    models_path: str
    auth: Literal["none", "bearer"]
    default_model: str
    parameters: Mapping[str, Parameter]
    rules: Mapping[str, Rule]
    schemas: Mapping[str, Schema]
    errors: ErrorTable
    answer: AnswerForm
    stream: StreamForm
    capabilities: Mapping[str, Capability]
    requirements: Mapping[str, Requirement]
    unsupported: tuple[str, ...] = ()  # parameters that the document names as not supported

    def without(self, lacking: Collection[str]) -> Contract:
        """The contract of a server that lacks these capabilities: neutral values pass, all others are refused.

        Names that the dialect does not know are left aside, so one server can state its gaps for every dialect.
        """
        gone = frozenset(lacking) & set(self.capabilities)
        if not gone:
            return self
        return replace(
            self,
            parameters={name: _narrow(parameter, gone) for name, parameter in self.parameters.items()},
            rules={key: rule for key, rule in self.rules.items() if rule.capability not in gone},
            schemas=_narrow_schemas(self.schemas, gone),
            capabilities={key: item for key, item in self.capabilities.items() if key not in gone},
        )


def names() -> dict[str, str]:
    """Every name a dialect answers to, its id first, then its aliases -> the id."""
    found = {dialect: dialect for dialect in dialect_files()}
    for dialect, path in dialect_files().items():
        found.update(dict.fromkeys(read(path).get("aliases", ()), dialect))
    return found


@cache
def load(name: str) -> Contract:
    """The contract of a dialect, by id or alias. Raises ContractError that lists the names."""
    known = names()
    if name not in known:
        raise ContractError(f"no dialect is called {name!r}; there are: {', '.join(sorted(known))}")
    tree = _with_absolute_sources(resolve(known[name]))
    documents = read("documents.yaml")["documents"]
    return Contract(
        name=tree["id"],
        aliases=tuple(tree["aliases"]),
        title=tree["title"],
        document=Document(id=tree["document"], **documents[tree["document"]]),
        path=tree["endpoint"]["path"],
        models_path=tree["endpoint"]["models_path"],
        auth=tree["auth"]["scheme"],
        default_model=tree["default_model"],
        parameters={key: _parameter(key, row) for key, row in tree["parameters"].items()},
        rules={key: _rule(key, row) for key, row in (tree.get("rules") or {}).items()},
        schemas=tree["schemas"],
        errors=ErrorTable(
            schema=tree["errors"]["schema"],
            body=tree["errors"]["body"],
            kinds={kind: ErrorKind(**row) for kind, row in tree["errors"]["kinds"].items()},
        ),
        answer=AnswerForm(**tree["answer"]),
        stream=StreamForm(**{**tree["stream"], "key_order": tuple(tree["stream"]["key_order"])}),
        capabilities={
            key: Capability(key, row["summary"], row["source"], row["assumed"])
            for key, row in (tree.get("capabilities") or {}).items()
        },
        requirements={
            key: Requirement(key, Keyword(row["keyword"]), row["source"], row.get("reading"), row.get("capability"))
            for key, row in tree["requirements"].items()
        },
        unsupported=tuple(tree.get("unsupported", ())),
    )


def _with_absolute_sources(tree: dict[str, Any]) -> dict[str, Any]:
    """`#request/top_k` becomes `mindie-llm-2.3#request/top_k`: each part of a page has its document."""
    parts = tree["documents"]
    for key, value, holder in members(tree):
        if key in ("source", "x-source") and isinstance(value, str) and value.startswith("#"):
            part = value[1:].partition("/")[0]
            holder[key] = f"{parts.get(part, tree['document'])}{value}"
    return tree


def _parameter(name: str, row: dict[str, Any]) -> Parameter:
    null = row["null_value"]
    optional = {key: row[key] for key in ("default", "default_note", "capability", "reading") if key in row}
    return Parameter(
        name=name,
        summary=row["summary"],
        source=row["source"],
        schema=row["schema"],
        null=Probe("null", None, null["expect"], Keyword(null["level"]), null.get("reading")),
        required=row.get("required", False),
        levels={key: Keyword(level) for key, level in row.get("levels", {}).items()},
        probes=tuple(_probe(probe) for probe in row.get("probes", ())),
        neutral=tuple(row.get("neutral", ())),
        needs=row.get("needs", {}),
        **optional,
    )


def _probe(row: dict[str, Any]) -> Probe:
    value = expand(row["value"])
    return Probe(
        name=row.get("name") or f"{value}",
        value=value,
        expect=row["expect"],
        keyword=Keyword(row.get("level", "MUST")),
        reading=row.get("reading"),
        capability=row.get("capability"),
    )


def expand(value: Any) -> Any:
    """Probe values in the short form of the data: `{repeat, times}`, `{list, times}`, `{literal}`, or as they are."""
    if not isinstance(value, dict):
        return value
    match value:
        case {"literal": literal}:
            return literal
        case {"repeat": str(text), "times": int(times)}:
            return text * times
        case {"list": item, "times": int(times)}:
            return [expand(item)] * times
    raise ContractError(f"a probe's value must be plain, or repeat/times, list/times, literal: {value!r}")


def _rule(key: str, row: dict[str, Any]) -> Rule:
    return Rule(
        id=key,
        summary=row["summary"],
        source=row["source"],
        keyword=Keyword(row.get("level", "MUST")),
        trigger=row.get("trigger"),
        schema=row.get("schema"),
        broken=row.get("broken"),
        kept=row.get("kept"),
        capability=row.get("capability"),
        reading=row.get("reading"),
    )


def _narrow(parameter: Parameter, gone: frozenset[str]) -> Parameter:
    schema = _narrow_schema(parameter.schema, gone, frozenset())
    if parameter.capability not in gone:
        return replace(parameter, schema=schema)
    values = [value for value in parameter.neutral if value is not None]
    return replace(
        parameter,
        schema={"enum": values, "x-capability": parameter.capability},
        probes=(),
        lacking=True,
        needs={},
    )


def _narrow_schemas(schemas: Mapping[str, Schema], gone: frozenset[str]) -> dict[str, Schema]:
    lost = frozenset(name for name, schema in schemas.items() if schema.get("x-capability") in gone)
    return {name: _narrow_schema(schema, gone, lost) for name, schema in schemas.items() if name not in lost}


def _narrow_schema(schema: Schema, gone: frozenset[str], lost: frozenset[str]) -> Schema:
    """A copy in which properties of lacking capabilities take neutral values and lost branches are left out."""
    narrowed = copy.deepcopy(schema)
    references = {f"#/components/schemas/{name}" for name in lost}
    for key, value, holder in list(members(narrowed)):
        if key == "oneOf" and isinstance(value, list):
            holder[key] = [branch for branch in value if branch.get("$ref") not in references]
        if key == "mapping" and isinstance(value, dict):
            holder[key] = {tag: target for tag, target in value.items() if target not in references}
        if isinstance(value, dict) and value.get("x-capability") in gone and "x-neutral" in value:
            kept = {name: value[name] for name in ("description", "x-capability", "x-source") if name in value}
            holder[key] = {**kept, "enum": value["x-neutral"]}
    return narrowed
