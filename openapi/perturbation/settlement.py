"""Settle a perturbed contract: leave out the probes, examples and companions that its own schemas contradict.

A document that states another bound would not print an example beyond it. A default that is out of range cannot be
settled and is refused.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.contract import ABSENT
from openapi.contract.tree.yaml_file import ContractError
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi.contract.contract import Contract, Parameter, Probe, Rule

MESSAGES: Final = [{"role": "user", "content": "Hello!"}]


def settle(contract: Contract) -> Contract:
    """Return the contract without contradictions. Raises ContractError if a default or an accepted null is invalid."""
    known = {name: _with_known_needs(parameter, contract) for name, parameter in contract.parameters.items()}
    contract = replace(contract, parameters=known)
    validator = Validator(contract)
    for parameter in contract.parameters.values():
        default = parameter.default
        if default is not ABSENT and default is not None and _is_refused(parameter, default, validator):
            raise ContractError(f"parameters/{parameter.name}/default: {default!r} is not a value of the parameter")
        null_is_accepted = not validator.request_problems(_body(parameter, None, contract))
        if parameter.null.expect == "accept" and not null_is_accepted:
            raise ContractError(f"parameters/{parameter.name}/null_value: null is accepted, but a rule refuses it")
    limited = Validator(contract.with_server_limits())  # refuses what only our own server refuses, too
    parameters = {
        name: replace(item, probes=tuple(probe for probe in item.probes if _agrees(item, probe, validator, limited)))
        for name, item in contract.parameters.items()
    }
    rules = {name: _settled_rule(rule, contract, validator) for name, rule in contract.rules.items()}
    return replace(contract, parameters=parameters, rules=rules)


def _with_known_needs(parameter: Parameter, contract: Contract) -> Parameter:
    """Leave out the companions of a parameter that the contract does not have."""
    return replace(
        parameter, needs={name: value for name, value in parameter.needs.items() if name in contract.parameters}
    )


def _body(parameter: Parameter, value: Any, contract: Contract) -> Mapping[str, Any]:
    body = {"model": contract.default_model, "messages": MESSAGES, **parameter.companions(value)}
    for other in contract.parameters.values():
        if other.required and other.name not in body and other.default is not ABSENT:
            body[other.name] = other.default
    return {**body, parameter.name: value}


def _is_refused(parameter: Parameter, value: Any, validator: Validator) -> bool:
    """Return whether the schema of a parameter itself refuses a value."""
    problems = validator.request_problems(_body(parameter, value, validator.contract))
    return any(problem.parameter == parameter.name for problem in problems)


def _agrees(parameter: Parameter, probe: Probe, validator: Validator, limited: Validator) -> bool:
    """Return whether the schemas accept what a probe says is accepted, and refuse what it says is refused."""
    body = _body(parameter, probe.value, validator.contract)
    if probe.expect == "accept":
        return not validator.request_problems(body)
    return bool(limited.request_problems(body))


def _settled_rule(rule: Rule, contract: Contract, validator: Validator) -> Rule:
    """Leave out the examples of a rule that do not show it any more."""

    def problems(example: Mapping[str, Any]) -> bool:
        body = {"model": contract.default_model, "messages": MESSAGES, **example}
        return not set(example) <= set(contract.parameters) or bool(validator.request_problems(body))

    kept = rule.kept if rule.kept is None or not problems(rule.kept) else None
    broken = rule.broken
    if broken is not None and (not set(broken) <= set(contract.parameters) or (rule.schema and not problems(broken))):
        broken = None
    return replace(rule, kept=kept, broken=broken)
