"""The contract of one dialect: what it requires of a request, what it guarantees of a response, and how strictly.

`load("mindie")` returns a frozen Contract, resolved from the dialect's YAML file and the shapes that it uses. This
module knows nothing about HTTP: `openapi.description.description` writes a Contract as OpenAPI, and
`openapi.description.validation` validates requests and responses.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from openapi.contract import loading
from openapi.contract.authority import Authority
from openapi.contract.capability import Capability, narrow_parameter, narrow_rule, narrow_schemas
from openapi.contract.dialect_names import describe_missing, describe_names, list_all, list_names, names
from openapi.contract.document import Document, documents, find_document
from openapi.contract.forms import AnswerForm, ErrorKind, ErrorTable, StreamForm
from openapi.contract.interpretations import Interpretation, parse_interpretations
from openapi.contract.levels import derive_levels
from openapi.contract.parameter import ABSENT, Expect, Keyword, Parameter, Probe, Rule
from openapi.contract.resolution import dialect_files, is_path, resolve, resolve_file, vendor_files
from openapi.contract.tree.installed import DIALECTS, find_file
from openapi.contract.tree.removal import parameter_of
from openapi.contract.tree.yaml_file import ContractError, locate_error
from openapi.contract.validation.consistency_check import (
    check_interpretations,
    check_probes,
    check_references,
    check_requirements,
)
from openapi.contract.validation.file_schema import check_files
from openapi.contract.validation.schema_check import check_tree
from openapi.did_you_mean import suggest
from openapi.schema.server_limits import apply_limits

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from openapi.contract.sentence import Sentence
    from openapi.contract.tree.delta import Tree
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
    "describe_missing",
    "describe_names",
    "documents",
    "list_all",
    "load",
    "load_file",
    "load_tree",
    "names",
]


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
        return parameter_of(self.source)


@dataclass(frozen=True, slots=True, eq=False)
class Contract:
    """One resolved dialect. Every source has the form `document-id#anchor`.

    A contract is equal only to itself, so plans and descriptions can be kept for it.

    location: what `load` takes to return this contract, also in another process: its id, or the path of its file.
    files: the dialect files outside this package that it consists of, parents first.
    parents: the dialects that it extends, by the document that each of them follows.
    interpretations, scenarios, checks: those that these files add; scenarios as data, with the key `file`, and checks
        as the paths of Python files.
    todo: what is left to do in the file, as its author or an import noted it.
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
    location: str = ""
    files: tuple[str, ...] = ()
    parents: Mapping[str, str] = field(default_factory=dict)
    interpretations: Mapping[str, Interpretation] = field(default_factory=dict)
    scenarios: tuple[Mapping[str, Any], ...] = ()
    checks: tuple[str, ...] = ()
    todo: tuple[str, ...] = ()

    @property
    def is_built_in(self) -> bool:
        """Whether the dialect is part of this package."""
        return not self.files

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


def load(name: str) -> Contract:
    """Return the contract of a dialect, always the same in one process.

    name: the id or an alias of a built-in dialect, the id of a contract in `openapi/vendors`, the path of a dialect
        file, which has a separator or ends in `.yaml` or `.yml`, or an installed entry point of the group
        `chatproof.dialects`.

    Raises ContractError for an unknown name, and for an invalid or unreadable file.
    """
    if "://" in name:
        new = f"`chatproof dialect new {shlex.quote(name)} --extends openai --out FILE`"
        raise ContractError(
            f"{name!r} is a URL: expected {describe_names()}; {new} writes a dialect file from a description"
        )
    if is_path(name):
        return load_file(Path(name))
    known = {name: name} if name in dialect_files() else names()  # reading every file for its aliases is slow
    if name in known:
        return load_dialect(known[name])
    path = vendor_files().get(name) or find_file(DIALECTS, name)
    if path is not None:
        return load_file(path)
    raise ContractError(f"unknown dialect {name!r}: expected {describe_names()}{suggest(name, list_names())}")


def name_of(contract: Contract) -> str:
    """Return the shortest name by which `load` finds a contract: its id, or the path of a file outside this package."""
    return contract.name if contract.is_built_in or contract.name in vendor_files() else contract.location


@cache
def load_dialect(dialect: str) -> Contract:
    """Return the contract of a built-in dialect, by id."""
    return _load_consistent(resolve(dialect), f"openapi/{dialect_files()[dialect]}")


def load_file(path: Path) -> Contract:
    """Return the contract of a dialect file outside this package, which may extend another dialect.

    It is read again after a change. Raises ContractError with the file, the place and the problem.
    """
    resolved = path.resolve()
    state = resolved.stat() if resolved.is_file() else None
    return _load_resolved(resolved, None if state is None else (state.st_mtime_ns, state.st_size))


@cache
def _load_resolved(path: Path, _state: tuple[int, int] | None) -> Contract:
    check_files(path)
    tree = resolve_file(path)
    paths = [Path(item) for item in tree["files"]]
    try:
        if tree["id"] in names() or vendor_files().get(tree["id"], path) != path:
            raise ContractError(f"{path}: id: {tree['id']!r} is the name of a built-in dialect: choose another one")
        return _load_consistent(tree, str(path))
    except ContractError as error:
        raise locate_error(error, paths) from error


def _load_consistent(tree: Tree, where: str) -> Contract:
    contract = load_tree(tree, where)
    try:
        check_probes(contract.parameters, contract.schemas)
        check_references(contract)
        check_interpretations(contract)
    except ContractError as error:
        raise ContractError(f"{where}: {error}") from error
    return contract


def load_tree(tree: Tree, where: str) -> Contract:
    """Return the contract of a resolved tree, which is modified; its probes may contradict its schemas.

    Raises ContractError with `where` and the problem.
    """
    check_tree(tree, where)
    try:
        contract = build_contract(derive_levels(loading.make_sources_absolute(tree)))
        check_requirements(contract)
    except ContractError as error:
        raise ContractError(f"{where}: {error}") from error
    return contract


def build_contract(tree: Tree) -> Contract:
    """Build a Contract from a resolved tree. Raises ContractError for unknown keys."""
    loading.check_keys(tree, loading.DIALECT, tree["id"])
    document = find_document(tree)
    rows = tree.get("interpretations", {})
    own_interpretations = parse_interpretations(rows, (document.id,), "interpretations/")
    return Contract(
        name=tree["id"],
        aliases=tuple(tree["aliases"]),
        title=tree["title"],
        document=document,
        path=tree["endpoint"]["path"],
        models_path=tree["endpoint"]["models_path"],
        auth=tree["auth"]["scheme"],
        default_model=tree["default_model"],
        parameters=loading.parse_parameters(tree["parameters"], tree.get("stated", {})),
        rules={key: loading.parse_rule(key, row) for key, row in tree["rules"].items()},
        schemas=tree["schemas"],
        errors=loading.parse_error_table(tree["errors"]),
        answer=AnswerForm(**tree["answer"]),
        stream=loading.parse_stream_form(tree["stream"]),
        capabilities={key: loading.parse_capability(key, row) for key, row in tree["capabilities"].items()},
        requirements={key: _parse_requirement(key, row) for key, row in tree["requirements"].items()},
        unsupported=tuple(tree.get("unsupported", ())),
        sentences=loading.parse_sentences(tree.get("sentences", [])),
        location=tree["files"][-1] if tree.get("files") else tree["id"],
        files=tuple(tree.get("files", ())),
        parents=tree.get("parents", {}),
        interpretations=own_interpretations,
        scenarios=tuple(tree.get("scenarios", ())),
        checks=tuple(tree.get("checks", ())),
        todo=tuple(tree.get("todo", ())),
    )


def _parse_requirement(key: str, row: Tree) -> Requirement:
    loading.check_keys(row, loading.REQUIREMENT, f"requirements/{key}")
    return Requirement(
        key,
        Keyword(row["keyword"]),
        row["source"],
        row.get("interpretation"),
        row.get("capability"),
        row.get("authority", Authority.PAGE),
    )
