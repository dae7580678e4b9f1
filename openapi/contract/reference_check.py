"""Check that the facts of a contract refer only to parameters that it has."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from openapi.contract.interpretations import interpretations
from openapi.contract.resolution import ContractError
from openapi.did_you_mean import suggest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.contract import Contract
    from openapi.contract.parameter import Rule

NO_PARAMETERS: Final = ("unsupported", "examples")
"""Anchors below `#request` that name no parameter."""


def check_requirements(contract: Contract) -> None:
    """Raise ContractError for a requirement about a parameter that the contract does not have."""
    known = {*contract.parameters, *contract.unsupported, *NO_PARAMETERS}
    for row in contract.requirements.values():
        document = row.source.partition("#")[0]
        if document == contract.document.id and row.parameter is not None and row.parameter not in known:
            raise ContractError(
                f"requirements/{row.id}: the contract has no parameter {row.parameter} ({row.source}): "
                f"remove the requirement, or add the parameter{suggest(row.parameter, contract.parameters)}"
            )


def check_references(contract: Contract) -> None:
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


def check_interpretations(contract: Contract) -> None:
    """Raise ContractError for a fact that cites an unknown interpretation."""
    known = {*interpretations(), *contract.interpretations}
    for place, name in _cited_interpretations(contract):
        if name is not None and name not in known:
            raise ContractError(f"{place}: unknown interpretation {name!r}{suggest(name, known)}")


def _cited_interpretations(contract: Contract) -> Iterator[tuple[str, str | None]]:
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
