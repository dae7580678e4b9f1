"""The contract: what one dialect asks of a request, promises of an answer, and how sure each fact is.

`load("mindie")` gives a frozen Contract, resolved from the dialect's YAML file and the shapes it names. Nothing here
touches HTTP; `description.py` writes a Contract as OpenAPI, `validation.py` holds instances against it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from openapi.contract import loading
from openapi.contract.capability import Capability, narrow_parameter, narrow_rule, narrow_schemas
from openapi.contract.forms import AnswerForm, ErrorKind, ErrorTable, StreamForm
from openapi.contract.parameter import ABSENT, Expect, Keyword, Parameter, Probe, Rule
from openapi.contract.resolution import ContractError, dialect_files, read, resolve, resolve_file
from openapi.contract.schema_check import check_tree
from openapi.did_you_mean import meant

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from openapi.contract.sentence import Sentence
    from openapi.schema.json_schema import Schema

__all__ = [
    "ABSENT",
    "AnswerForm",
    "Capability",
    "Contract",
    "ContractError",
    "Document",
    "ErrorKind",
    "ErrorTable",
    "Expect",
    "Keyword",
    "Parameter",
    "Probe",
    "Requirement",
    "Rule",
    "StreamForm",
    "documents",
    "load",
    "load_file",
    "names",
]


@dataclass(frozen=True, slots=True)
class Document:
    """One pinned source text. `page`: where its publisher keeps it; `sha256`: of the pinned bytes."""

    id: str
    vendor: str
    product: str
    version: str
    title: str
    language: str
    page: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Requirement:
    """What a check stands on in this dialect: how binding, and which sentence."""

    id: str
    keyword: Keyword
    source: str
    interpretation: str | None = None
    capability: str | None = None


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
    sentences: tuple[Sentence, ...] = ()  # all of its document, in its order

    def without(self, lacking: Collection[str]) -> Contract:
        """The contract of a server that lacks these capabilities: neutral values pass, all others are refused.

        Names that the dialect does not know are left aside, so one server can state its gaps for every dialect.
        """
        gone = frozenset(lacking) & set(self.capabilities)
        if not gone:
            return self
        left = {name: narrow_parameter(parameter, gone) for name, parameter in self.parameters.items()}
        return replace(
            self,
            auth="none" if "auth" in gone else self.auth,
            parameters=left,
            rules={key: narrow_rule(rule, left) for key, rule in self.rules.items() if rule.capability not in gone},
            schemas=narrow_schemas(self.schemas, gone),
            capabilities={key: item for key, item in self.capabilities.items() if key not in gone},
        )


def names() -> dict[str, str]:
    """Every name a dialect answers to, its id first, then its aliases -> the id.

    Raises ContractError when one name stands for two dialects.
    """
    found = {dialect: dialect for dialect in dialect_files()}
    for dialect, path in dialect_files().items():
        for alias in read(path).get("aliases", ()):
            if alias in found:
                raise ContractError(f"openapi/{path}: the alias {alias!r} is taken by {found[alias]}")
            found[alias] = dialect
    return found


@cache
def load(name: str) -> Contract:
    """The contract of a dialect, by id or alias. Raises ContractError that lists the names."""
    known = {name: name} if name in dialect_files() else names()  # aliases stand in the files, which cost time to read
    if name not in known:
        raise ContractError(f"no dialect is called {name!r}; there are: {', '.join(sorted(known))}{meant(name, known)}")
    dialect = known[name]
    return _sound(resolve(dialect), f"openapi/{dialect_files()[dialect]}")


def load_file(path: Path) -> Contract:
    """The contract of a dialect in a file of its own, which may extend one of this room.

    Raises ContractError with the file, the place and what is wrong there, and OSError where it cannot be read.
    """
    return _sound(resolve_file(path), str(path))


def _sound(tree: dict[str, Any], where: str) -> Contract:
    check_tree(tree, where)
    try:
        return contract_of(loading.with_absolute_sources(tree))
    except ContractError as error:
        raise ContractError(f"{where}: {error}") from error


def documents() -> dict[str, Document]:
    """The pinned documents by id."""
    return {key: Document(id=key, **row) for key, row in read("documents.yaml")["documents"].items()}


def contract_of(tree: dict[str, Any]) -> Contract:
    """A resolved tree as a Contract. Raises ContractError for rows with members that mean nothing."""
    loading.check_members(tree, loading.DIALECT, tree["id"])
    pinned = documents()
    if tree["document"] not in pinned:
        raise ContractError(f"{tree['id']}: documents.yaml pins no document {tree['document']!r}")
    return Contract(
        name=tree["id"],
        aliases=tuple(tree["aliases"]),
        title=tree["title"],
        document=pinned[tree["document"]],
        path=tree["endpoint"]["path"],
        models_path=tree["endpoint"]["models_path"],
        auth=tree["auth"]["scheme"],
        default_model=tree["default_model"],
        parameters={key: loading.parameter(key, row) for key, row in tree["parameters"].items()},
        rules={key: loading.rule(key, row) for key, row in tree["rules"].items()},
        schemas=tree["schemas"],
        errors=loading.error_table(tree["errors"]),
        answer=AnswerForm(**tree["answer"]),
        stream=loading.stream_form(tree["stream"]),
        capabilities={key: loading.capability(key, row) for key, row in tree["capabilities"].items()},
        requirements={key: _requirement(key, row) for key, row in tree["requirements"].items()},
        unsupported=tuple(tree.get("unsupported", ())),
        sentences=loading.sentences(tree.get("sentences", [])),
    )


def _requirement(key: str, row: dict[str, Any]) -> Requirement:
    loading.check_members(row, loading.REQUIREMENT, f"requirements/{key}")
    return Requirement(key, Keyword(row["keyword"]), row["source"], row.get("interpretation"), row.get("capability"))
