"""Convert the rows of a resolved tree to frozen types. Unknown keys are errors, so that a typo is not ignored."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from openapi.contract.capability import Capability
from openapi.contract.forms import ErrorKind, ErrorTable, StreamForm
from openapi.contract.parameter import Authority, Keyword, Parameter, Probe, Rule
from openapi.contract.sentence import NOT_YET, Category, Home, Sentence
from openapi.contract.tree.delta import walk_tree
from openapi.contract.tree.inheritance import find_document
from openapi.contract.tree.probe_value import expand_value
from openapi.contract.tree.yaml_file import ContractError
from openapi.did_you_mean import suggest
from openapi.schema.nearest_value import nearest_value
from openapi.schema.partial_schema import PartialSchema

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

Row = dict[str, Any]

DERIVED = {"authority", "cited", "pins", "parents", "files", "inherited", "stated"}
"""Keys that the resolution of a dialect adds; no file has them."""
DIALECT = {
    *("id", "aliases", "title", "document", "documents", "endpoint", "auth", "default_model", "parameters", "rules"),
    *("schemas", "errors", "answer", "stream", "capabilities", "requirements", "unsupported", "sentences"),
    *("interpretations", "scenarios", "checks", "todo", "pins", "parents", "files", "inherited", "stated"),
}
PARAMETER = {
    *("summary", "source", "schema", "null_value", "required", "default", "default_note", "levels", "probes"),
    *(
        "default_as",
        "capability",
        "neutral",
        "needs",
        "needs_for",
        "interpretation",
        "ground",
        "authority",
        "origins",
        "cited",
    ),
}
PROBE = {"name", "value", "expect", "level", "interpretation", "capability", "source", "ground", "authority"}
NULL_VALUE = {"expect", "level", "interpretation", "source", "ground", "authority"}
RULE = {
    *("summary", "source", "level", "kept_level", "trigger", "schema", "broken", "kept", "capability"),
    *("interpretation", "ground", "authority", "enforced"),
}
REQUIREMENT = {"keyword", "source", "interpretation", "capability", "ground", "authority"}
CAPABILITY = {"summary", "source", "assumed", "conditions", "interpretation"}
SENTENCE = {"id", "says", "source", "keyword", "home", "interpretation"}
HOME = {"check", "schema", "excluded"}
EXCLUSION = {"category", "attempt"}


def check_keys(row: Row, known: Collection[str], where: str) -> None:
    """Raise ContractError if the row has an unknown key."""
    unknown = sorted(set(row) - set(known))
    if unknown:
        expected = ", ".join(sorted(set(known) - DERIVED))
        hint = suggest(unknown[0], known)
        raise ContractError(f"{where}: unknown key {', '.join(unknown)}: expected one of {expected}{hint}")


def make_sources_absolute(tree: Row) -> Row:
    """Add the document to each source that lacks one: `#request/top_k` becomes `mindie-llm-2.3#request/top_k`."""
    for key, value, holder in walk_tree(tree):
        if key in ("source", "x-source") and isinstance(value, str) and value.startswith("#"):
            holder[key] = f"{find_document(value, tree['documents'], tree['document'])}{value}"
    return tree


def parse_parameters(rows: Mapping[str, Row], stated: Mapping[str, Row]) -> dict[str, Parameter]:
    """Parse `parameters`, and the schemas of those of which the dialect itself states a part.

    A companion whose number is out of range gets the nearest one: a dialect that changes a range inherits companions
    with the values of another dialect.
    """
    parameters = {name: parse_parameter(name, row) for name, row in rows.items()}
    for name, row in stated.items():
        parameters[name] = replace(parameters[name], partly=PartialSchema(**row))
    for name, parameter in parameters.items():
        needs = {
            other: nearest_value(parameters[other].schema, value) if other in parameters else value
            for other, value in parameter.needs.items()
        }
        parameters[name] = replace(parameter, needs=needs)
    return parameters


def parse_parameter(name: str, row: Row) -> Parameter:
    """Parse a row of `parameters`."""
    where = f"parameters/{name}"
    check_keys(row, PARAMETER, where)
    null = row["null_value"]
    check_keys(null, NULL_VALUE, f"{where}/null_value")
    optional_keys = ("default", "default_note", "default_as", "capability", "interpretation")
    optional = {key: row[key] for key in optional_keys if key in row}
    return Parameter(
        name=name,
        summary=row["summary"],
        source=row["source"],
        schema=row["schema"],
        null=Probe(
            "null", None, null["expect"], Keyword(null["level"]), null.get("interpretation"), source=null.get("source")
        ),
        required=row.get("required", False),
        levels={key: Keyword(level) for key, level in row.get("levels", {}).items()},
        probes=tuple(parse_probe(item, where) for item in row.get("probes", ())),
        neutral=tuple(row.get("neutral", ())),
        needs=row.get("needs", {}),
        needs_for=row.get("needs_for"),
        authority=row.get("authority", Authority.PAGE),
        origins=row.get("origins", {}),
        cited=row.get("cited", {}),
        **optional,
    )


def parse_probe(row: Row, where: str) -> Probe:
    """Parse a row of a parameter's `probes`. The default name is the value."""
    value = expand_value(row["value"])
    name = str(row.get("name", value))
    check_keys(row, PROBE, f"{where}/probes/{name}")
    return Probe(
        name=name,
        value=value,
        expect=row["expect"],
        keyword=Keyword(row.get("level", "MUST")),
        interpretation=row.get("interpretation"),
        capability=row.get("capability"),
        source=row.get("source"),
    )


def parse_rule(key: str, row: Row) -> Rule:
    """Parse a row of `rules`."""
    check_keys(row, RULE, f"rules/{key}")
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
        kept_keyword=Keyword(row.get("kept_level", "MUST")),
        enforced=row.get("enforced", True),
    )


def parse_capability(key: str, row: Row) -> Capability:
    """Parse a row of `capabilities`."""
    check_keys(row, CAPABILITY, f"capabilities/{key}")
    conditions = tuple(row.get("conditions", ()))
    return Capability(key, row["summary"], row["source"], row["assumed"], row.get("interpretation"), conditions)


def parse_sentences(rows: list[Row]) -> tuple[Sentence, ...]:
    """Parse the rows of `sentences`. Raises ContractError for a duplicate id."""
    by_id = {row["id"]: parse_sentence(row) for row in rows}
    if len(by_id) < len(rows):
        ids = [row["id"] for row in rows]
        duplicates = sorted({identity for identity in ids if ids.count(identity) > 1})
        raise ContractError(f"sentences: duplicate id {', '.join(duplicates)}")
    return tuple(by_id.values())


def parse_sentence(row: Row) -> Sentence:
    """Parse a row of `sentences`, which has at most one kind of home."""
    where = f"sentences/{row['id']}"
    check_keys(row, SENTENCE, where)
    home = row.get("home", {})
    check_keys(home, HOME | EXCLUSION, f"{where}/home")
    kinds = sorted(HOME & set(home))
    if len(kinds) > 1:
        raise ContractError(f"{where}: invalid home: expected one of check, schema, excluded, got {', '.join(kinds)}")
    if kinds == ["excluded"]:
        _check_exclusion(home, Keyword(row["keyword"]), where)
    elif EXCLUSION & set(home):
        raise ContractError(f"{where}: invalid home: category and attempt are for excluded sentences only")
    return Sentence(
        id=row["id"],
        says=row["says"],
        source=row["source"],
        keyword=Keyword(row["keyword"]),
        home=Home(
            _strings(home, "check"),
            _strings(home, "schema"),
            home.get("excluded"),
            Category(home["category"]) if "category" in home else None,
            home.get("attempt"),
        ),
        interpretation=row.get("interpretation"),
    )


def _check_exclusion(home: Row, keyword: Keyword, where: str) -> None:
    """Raise ContractError unless a binding sentence is excluded by category, with an attempt where one is needed."""
    category, known = home.get("category"), [str(item) for item in Category]
    if category is not None and category not in known:
        raise ContractError(f"{where}: unknown category {category!r}: expected one of {', '.join(known)}")
    if keyword is Keyword.MAY or str(home["excluded"]).startswith(NOT_YET):
        return
    if category is None:
        raise ContractError(f"{where}: excluded without a category: add one of {', '.join(known)}")
    if category == Category.ATTEMPTED and not str(home.get("attempt") or "").strip():
        raise ContractError(f"{where}: excluded without an attempt: add what was sent and what the server responded")


def _strings(home: Row, kind: str) -> tuple[str, ...]:
    value = home.get(kind, ())
    return (value,) if isinstance(value, str) else tuple(value)


def parse_error_table(tree: Row) -> ErrorTable:
    """Parse the tree `errors`."""
    kinds = {kind: ErrorKind(**row) for kind, row in tree["kinds"].items()}
    return ErrorTable(tree["schema"], tree["body"], kinds, tree.get("in_answers", False))


def parse_stream_form(tree: Row) -> StreamForm:
    """Parse the tree `stream`."""
    return StreamForm(**{**tree, "key_order": tuple(tree["key_order"])})
