"""Check that a contract is consistent: its values fit its schemas, and its facts refer to parameters that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import jsonschema_rs

from openapi.contract.interpretations import interpretations
from openapi.contract.parameter import ABSENT
from openapi.contract.tree.yaml_file import ContractError
from openapi.did_you_mean import suggest

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi.contract.document import Document
    from openapi.contract.interpretations import Interpretation
    from openapi.contract.parameter import Parameter, Rule
    from openapi.schema.json_schema import Schema

NO_PARAMETERS: Final = ("unsupported", "examples")
"""Anchors below `#request` that name no parameter."""


class CheckedContract(Protocol):
    """The parts of a contract that are checked."""

    @property
    def document(self) -> Document: ...
    @property
    def parameters(self) -> Mapping[str, Parameter]: ...
    @property
    def rules(self) -> Mapping[str, Rule]: ...
    @property
    def requirements(self) -> Mapping[str, CheckedRequirement]: ...
    @property
    def unsupported(self) -> tuple[str, ...]: ...
    @property
    def interpretations(self) -> Mapping[str, Interpretation]: ...


class CheckedRequirement(Protocol):
    """The parts of a requirement that are checked."""

    @property
    def id(self) -> str: ...
    @property
    def source(self) -> str: ...
    @property
    def parameter(self) -> str | None: ...
    @property
    def interpretation(self) -> str | None: ...


def check_probes(parameters: Mapping[str, Parameter], schemas: Mapping[str, Schema]) -> None:
    """Raise ContractError for a probe that must be accepted, or a default, that the schema of its parameter forbids."""
    for name, parameter in parameters.items():
        probes = [probe for probe in parameter.probes if probe.expect == "accept"]
        has_default = parameter.default is not ABSENT and parameter.default is not None
        if not probes and not has_default:
            continue
        schema = {**parameter.schema, "components": {"schemas": dict(schemas)}}
        is_valid = jsonschema_rs.validator_for(schema).is_valid
        if has_default and not is_valid(parameter.default):
            raise ContractError(
                f"parameters/{name}/default: {parameter.default!r} is not a value of the parameter: "
                "replace or remove the default, or allow the value"
            )
        for probe in probes:
            if not is_valid(probe.value):
                raise ContractError(
                    f"parameters/{name}/probes/{probe.name}: the value must be accepted, but the schema of the "
                    "parameter forbids it: remove the probe, or allow the value"
                )


def check_requirements(contract: CheckedContract) -> None:
    """Raise ContractError for a requirement about a parameter that the contract does not have."""
    known = {*contract.parameters, *contract.unsupported, *NO_PARAMETERS}
    for row in contract.requirements.values():
        document = row.source.partition("#")[0]
        if document == contract.document.id and row.parameter is not None and row.parameter not in known:
            raise ContractError(
                f"requirements/{row.id}: the contract has no parameter {row.parameter} ({row.source}): "
                f"remove the requirement, or add the parameter{suggest(row.parameter, contract.parameters)}"
            )


def check_references(contract: CheckedContract) -> None:
    """Raise ContractError for a rule or a companion about a parameter that the contract does not have."""
    known = {*contract.parameters, *contract.unsupported}
    for rule in contract.rules.values():
        for name in _parameters_of(rule):
            if name not in known:
                raise ContractError(
                    f"rules/{rule.id}: the contract has no parameter {name}: "
                    f"remove the rule, or add the parameter{suggest(name, contract.parameters)}"
                )
    for parameter in contract.parameters.values():
        for name in parameter.needs:
            if name not in known:
                raise ContractError(
                    f"parameters/{parameter.name}/needs: the contract has no parameter {name}"
                    f"{suggest(name, contract.parameters)}"
                )


def check_interpretations(contract: CheckedContract) -> None:
    """Raise ContractError for a fact that cites an unknown interpretation."""
    known = {*interpretations(), *contract.interpretations}
    for place, name in _cited_interpretations(contract):
        if name is not None and name not in known:
            raise ContractError(f"{place}: unknown interpretation {name!r}{suggest(name, known)}")


def _cited_interpretations(contract: CheckedContract) -> Iterator[tuple[str, str | None]]:
    for name, parameter in contract.parameters.items():
        yield f"parameters/{name}", parameter.interpretation
        yield from ((f"parameters/{name}/probes/{probe.name}", probe.interpretation) for probe in parameter.probes)
        yield f"parameters/{name}/null_value", parameter.null.interpretation
    for name, rule in contract.rules.items():
        yield f"rules/{name}", rule.interpretation
    for name, requirement in contract.requirements.items():
        yield f"requirements/{name}", requirement.interpretation


def _parameters_of(rule: Rule) -> Iterator[str]:
    """Yield the parameters that a rule is about: its trigger, those of its schema and those of its examples."""
    if rule.trigger is not None:
        yield rule.trigger
    yield from _top_level_fields(rule.schema)
    yield from (*(rule.broken or ()), *(rule.kept or ()))


def _top_level_fields(schema: Any) -> Iterator[str]:
    """Yield the fields of the request body that a schema names: not those of values inside it."""
    if not isinstance(schema, dict):
        return
    yield from schema.get("required", ())
    yield from schema.get("properties", {})
    for keyword in ("allOf", "anyOf", "oneOf"):
        for branch in schema.get(keyword, ()):
            yield from _top_level_fields(branch)
    for keyword in ("not", "if", "then", "else"):
        yield from _top_level_fields(schema.get(keyword))
