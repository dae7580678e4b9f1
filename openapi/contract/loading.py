"""From the rows of a resolved tree to frozen types. A member that no type knows is refused, never dropped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi.contract.capability import Capability
from openapi.contract.forms import ErrorKind, ErrorTable, StreamForm
from openapi.contract.parameter import Keyword, Parameter, Probe, Rule
from openapi.contract.resolution import ContractError, members
from openapi.contract.sentence import Home, Sentence

if TYPE_CHECKING:
    from collections.abc import Collection

Row = dict[str, Any]

DIALECT = {
    *("id", "aliases", "title", "document", "documents", "endpoint", "auth", "default_model", "parameters", "rules"),
    *("schemas", "errors", "answer", "stream", "capabilities", "requirements", "unsupported", "sentences"),
}
PARAMETER = {
    *("summary", "source", "schema", "null_value", "required", "default", "default_note", "levels", "probes"),
    *("capability", "neutral", "needs", "interpretation"),
}
PROBE = {"name", "value", "expect", "level", "interpretation", "capability"}
NULL_VALUE = {"expect", "level", "interpretation"}
RULE = {"summary", "source", "level", "trigger", "schema", "broken", "kept", "capability", "interpretation"}
REQUIREMENT = {"keyword", "source", "interpretation", "capability"}
CAPABILITY = {"summary", "source", "assumed", "interpretation"}
SENTENCE = {"id", "says", "source", "keyword", "home", "interpretation"}
HOME = {"check", "schema", "excluded"}


def check_members(row: Row, known: Collection[str], where: str) -> None:
    """Raises ContractError for a member of the row that is not known: a typing error must not pass silently."""
    stray = sorted(set(row) - set(known))
    if stray:
        raise ContractError(f"{where}: unknown {', '.join(stray)}; known are {', '.join(sorted(known))}")


def with_absolute_sources(tree: Row) -> Row:
    """`#request/top_k` becomes `mindie-llm-2.3#request/top_k`: each part of a page has its document."""
    parts = tree["documents"]
    for key, value, holder in members(tree):
        if key in ("source", "x-source") and isinstance(value, str) and value.startswith("#"):
            part = value[1:].partition("/")[0]
            holder[key] = f"{parts.get(part, tree['document'])}{value}"
    return tree


def parameter(name: str, row: Row) -> Parameter:
    """A row of `parameters`."""
    where = f"parameters/{name}"
    check_members(row, PARAMETER, where)
    null = row["null_value"]
    check_members(null, NULL_VALUE, f"{where}/null_value")
    optional = {key: row[key] for key in ("default", "default_note", "capability", "interpretation") if key in row}
    return Parameter(
        name=name,
        summary=row["summary"],
        source=row["source"],
        schema=row["schema"],
        null=Probe("null", None, null["expect"], Keyword(null["level"]), null.get("interpretation")),
        required=row.get("required", False),
        levels={key: Keyword(level) for key, level in row.get("levels", {}).items()},
        probes=tuple(probe(each, where) for each in row.get("probes", ())),
        neutral=tuple(row.get("neutral", ())),
        needs=row.get("needs", {}),
        **optional,
    )


def probe(row: Row, where: str) -> Probe:
    """A row of a parameter's `probes`; without a name it is called by its value."""
    value = expand(row["value"])
    name = str(row.get("name", value))
    check_members(row, PROBE, f"{where}/probes/{name}")
    return Probe(
        name=name,
        value=value,
        expect=row["expect"],
        keyword=Keyword(row.get("level", "MUST")),
        interpretation=row.get("interpretation"),
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


def rule(key: str, row: Row) -> Rule:
    """A row of `rules`."""
    check_members(row, RULE, f"rules/{key}")
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
        interpretation=row.get("interpretation"),
    )


def capability(key: str, row: Row) -> Capability:
    """A row of `capabilities`."""
    check_members(row, CAPABILITY, f"capabilities/{key}")
    return Capability(key, row["summary"], row["source"], row["assumed"], row.get("interpretation"))


def sentences(rows: list[Row]) -> tuple[Sentence, ...]:
    """The rows of `sentences`. Raises ContractError where two have one id."""
    found = {row["id"]: sentence(row) for row in rows}
    if len(found) < len(rows):
        seen = [row["id"] for row in rows]
        doubled = sorted({each for each in seen if seen.count(each) > 1})
        raise ContractError(f"sentences: {', '.join(doubled)}: the id stands twice")
    return tuple(found.values())


def sentence(row: Row) -> Sentence:
    """A row of `sentences`. One without `home` is homeless; two homes are refused."""
    where = f"sentences/{row['id']}"
    check_members(row, SENTENCE, where)
    home = row.get("home", {})
    check_members(home, HOME, f"{where}/home")
    if len(home) > 1:
        raise ContractError(f"{where}: a sentence has one home, not {' and '.join(sorted(home))}")
    return Sentence(
        id=row["id"],
        says=row["says"],
        source=row["source"],
        keyword=Keyword(row["keyword"]),
        home=Home(_texts(home, "check"), _texts(home, "schema"), home.get("excluded")),
        interpretation=row.get("interpretation"),
    )


def _texts(home: Row, kind: str) -> tuple[str, ...]:
    found = home.get(kind, ())
    return (found,) if isinstance(found, str) else tuple(found)


def error_table(tree: Row) -> ErrorTable:
    """The tree `errors`."""
    kinds = {kind: ErrorKind(**row) for kind, row in tree["kinds"].items()}
    return ErrorTable(schema=tree["schema"], body=tree["body"], kinds=kinds)


def stream_form(tree: Row) -> StreamForm:
    """The tree `stream`."""
    return StreamForm(**{**tree, "key_order": tuple(tree["key_order"])})
