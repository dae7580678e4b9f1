"""The contract of one dialect: what it requires of a request, what it guarantees of a response, and how strictly.

`load("mindie")` returns a frozen Contract, resolved from the dialect's YAML file and the shapes that it uses. This
module knows nothing about HTTP: `openapi.description.description` writes a Contract as OpenAPI, and
`openapi.description.validation` validates requests and responses.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

from openapi.contract import loading
from openapi.contract.authority import Authority
from openapi.contract.capability import Capability, narrow_parameter, narrow_rule, narrow_schemas
from openapi.contract.forms import AnswerForm, ErrorKind, ErrorTable, StreamForm
from openapi.contract.levels import derive_levels
from openapi.contract.parameter import ABSENT, Expect, Keyword, Parameter, Probe, Rule
from openapi.contract.probe_check import check_probes
from openapi.contract.resolution import ContractError, dialect_files, read, resolve, resolve_file
from openapi.contract.schema_check import check_tree
from openapi.did_you_mean import suggest
from openapi.schema.server_limits import apply_limits

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping
    from pathlib import Path

    from openapi.contract.sentence import Sentence
    from openapi.schema.json_schema import Schema

__all__ = [
    "ABSENT",
    "AnswerForm",
    "Authority",
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
    "load_tree",
    "names",
]


@dataclass(frozen=True, slots=True)
class Document:
    """A vendor's document, pinned by its hash. `page`: where it is published; `sha256`: of the pinned bytes."""

    id: str
    vendor: str
    product: str
    version: str
    title: str
    language: str
    page: str
    sha256: str
    kind: Literal["page"] = "page"


@dataclass(frozen=True, slots=True)
class Requirement:
    """Why a check applies to this dialect: the keyword of the demand, and the sentence that states it."""

    id: str
    keyword: Keyword
    source: str
    interpretation: str | None = None
    capability: str | None = None
    authority: Authority = Authority.PAGE

    @property
    def parameter(self) -> str | None:
        """The parameter that the cited sentence describes, such as `seed` for `#request/seed`; None without one."""
        kind, _, rest = self.source.partition("#")[2].partition("/")
        return rest.partition("/")[0] if kind == "request" and rest else None


@dataclass(frozen=True, slots=True, eq=False)
class Contract:
    """One resolved dialect. Every source has the form `document-id#anchor`.

    A contract is equal only to itself, so plans and descriptions can be kept for it.
    """

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
    unsupported: tuple[str, ...] = ()  # parameters that the document lists as not supported
    sentences: tuple[Sentence, ...] = ()  # every normative sentence of its document, in document order

    def without(self, lacking: Collection[str]) -> Contract:
        """Return the contract of a server that lacks these capabilities: only their neutral values are accepted.

        Capabilities that the dialect does not have are ignored, so that one list can serve every dialect.
        """
        gone = frozenset(lacking) & set(self.capabilities)
        if not gone:
            return self
        narrowed = {name: narrow_parameter(parameter, gone) for name, parameter in self.parameters.items()}
        return replace(
            self,
            auth="none" if "auth" in gone else self.auth,
            parameters=narrowed,
            rules={key: narrow_rule(rule, narrowed) for key, rule in self.rules.items() if rule.capability not in gone},
            schemas=narrow_schemas(self.schemas, gone),
            capabilities={key: item for key, item in self.capabilities.items() if key not in gone},
        )

    def with_server_limits(self) -> Contract:
        """Return the contract that our own server enforces: `x-server-limits` are keywords of their schemas."""
        return replace(
            self,
            parameters={
                name: replace(parameter, schema=apply_limits(parameter.schema))
                for name, parameter in self.parameters.items()
            },
            schemas={name: apply_limits(schema) for name, schema in self.schemas.items()},
        )


def names() -> dict[str, str]:
    """Map every name of a dialect, its id and its aliases, to its id.

    Raises ContractError if two dialects share a name.
    """
    ids = {dialect: dialect for dialect in dialect_files()}
    for dialect, path in dialect_files().items():
        for alias in read(path).get("aliases", ()):
            if alias in ids:
                raise ContractError(f"openapi/{path}: duplicate alias {alias!r}: dialect {ids[alias]} has this name")
            ids[alias] = dialect
    return ids


def load(name: str) -> Contract:
    """Return the contract of a dialect, by id or alias, always the same. Raises ContractError for an unknown name."""
    known = {name: name} if name in dialect_files() else names()  # reading every file for its aliases is slow
    if name not in known:
        expected = ", ".join(sorted(known))
        raise ContractError(f"unknown dialect {name!r}: expected one of {expected}{suggest(name, known)}")
    return load_dialect(known[name])


@cache
def load_dialect(dialect: str) -> Contract:
    """Return the contract of a dialect, by id."""
    return _load_consistent(resolve(dialect), f"openapi/{dialect_files()[dialect]}")


def load_file(path: Path) -> Contract:
    """Return the contract of a dialect file outside this package, which may extend a dialect of this package.

    Raises ContractError with the file, the place and the problem, and OSError if the file cannot be read.
    """
    return _load_consistent(resolve_file(path), str(path))


def _load_consistent(tree: dict[str, Any], where: str) -> Contract:
    contract = load_tree(tree, where)
    try:
        check_probes(contract.parameters, contract.schemas)
    except ContractError as error:
        raise ContractError(f"{where}: {error}") from error
    return contract


def load_tree(tree: dict[str, Any], where: str) -> Contract:
    """Return the contract of a resolved tree, which is modified; its probes may contradict its schemas.

    Raises ContractError with `where` and the problem.
    """
    check_tree(tree, where)
    try:
        contract = build_contract(derive_levels(loading.make_sources_absolute(tree)))
        _check_requirements(contract)
    except ContractError as error:
        raise ContractError(f"{where}: {error}") from error
    return contract


def _check_requirements(contract: Contract) -> None:
    """Raise ContractError for a requirement about a parameter that the contract does not have."""
    known = {*contract.parameters, *contract.unsupported, "unsupported", "examples"}
    for row in contract.requirements.values():
        document, _, place = row.source.partition("#")
        kind, *rest = place.split("/")
        if document == contract.document.id and kind == "request" and rest and rest[0] not in known:
            raise ContractError(
                f"requirements/{row.id}: the contract has no parameter {rest[0]} ({row.source}): "
                "remove the requirement, or add the parameter"
            )


def documents() -> dict[str, Document]:
    """Return the pinned documents by id."""
    return {key: Document(id=key, **row) for key, row in read("documents.yaml")["documents"].items()}


def build_contract(tree: dict[str, Any]) -> Contract:
    """Build a Contract from a resolved tree. Raises ContractError for unknown keys."""
    loading.check_keys(tree, loading.DIALECT, tree["id"])
    pinned = documents()
    if tree["document"] not in pinned:
        raise ContractError(f"{tree['id']}: unknown document {tree['document']!r}: expected one of {', '.join(pinned)}")
    return Contract(
        name=tree["id"],
        aliases=tuple(tree["aliases"]),
        title=tree["title"],
        document=pinned[tree["document"]],
        path=tree["endpoint"]["path"],
        models_path=tree["endpoint"]["models_path"],
        auth=tree["auth"]["scheme"],
        default_model=tree["default_model"],
        parameters=loading.parse_parameters(tree["parameters"]),
        rules={key: loading.parse_rule(key, row) for key, row in tree["rules"].items()},
        schemas=tree["schemas"],
        errors=loading.parse_error_table(tree["errors"]),
        answer=AnswerForm(**tree["answer"]),
        stream=loading.parse_stream_form(tree["stream"]),
        capabilities={key: loading.parse_capability(key, row) for key, row in tree["capabilities"].items()},
        requirements={key: _parse_requirement(key, row) for key, row in tree["requirements"].items()},
        unsupported=tuple(tree.get("unsupported", ())),
        sentences=loading.parse_sentences(tree.get("sentences", [])),
    )


def _parse_requirement(key: str, row: dict[str, Any]) -> Requirement:
    loading.check_keys(row, loading.REQUIREMENT, f"requirements/{key}")
    return Requirement(
        key,
        Keyword(row["keyword"]),
        row["source"],
        row.get("interpretation"),
        row.get("capability"),
        row.get("authority", Authority.PAGE),
    )
