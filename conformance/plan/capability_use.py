"""Tell which capabilities the steps of a plan, and the places of a contract, depend on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.plan.coverage_map import used_schemas
from openapi.contract.tree.delta import walk_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.plan.plan import Plan
    from conformance.scenario import Scenario, Step
    from openapi.contract.capability import Capability
    from openapi.contract.contract import Contract
    from openapi.contract.parameter import Parameter


def list_unjudged(plan: Plan) -> tuple[Capability, ...]:
    """Return the capabilities that the server declares and that no requirement of a complete plan judges."""
    names = set() if plan.partial else set(plan.contract.capabilities)
    names.difference_update(assertion.requirement.capability for assertion in plan.assertions)
    fields = {name: dict(_fields(parameter)) for name, parameter in plan.contract.parameters.items()}
    steps = {id(assertion.step): (assertion.scenario, assertion.step) for assertion in plan.assertions}
    for scenario, step in steps.values():
        if not names:
            break
        names.difference_update(_capabilities(scenario, step, plan.contract, fields))
    return tuple(capability for name, capability in plan.contract.capabilities.items() if name in names)


def find_capabilities(place: str, contract: Contract) -> set[str]:
    """Return the capabilities that a place of the contract belongs to, such as `parameters/tools/schema`."""
    kind, _, rest = place.partition("/")
    name, _, key = rest.partition("/")
    match kind:
        case "parameters" if name in contract.parameters:
            parameter = contract.parameters[name]
            probes = {probe.capability for probe in parameter.probes if key == f"probes/{probe.name}"}
            found = {parameter.capability, *probes}
        case "rules" if name in contract.rules:
            rule = contract.rules[name]
            parameters = {rule.trigger, *(rule.broken or {}), *(rule.kept or {})}
            found = {item.capability for item in contract.parameters.values() if item.name in parameters}
        case "schemas" if name in contract.schemas:
            users = [
                item.capability for item in contract.parameters.values() if name in used_schemas(item.schema, contract)
            ]
            common = set(users[:1]) if len(set(users)) == 1 else set()
            found = {contract.schemas[name].get("x-capability"), *common}
        case _:
            found = set()
    return {capability for capability in found if isinstance(capability, str)}


def _fields(parameter: Parameter) -> Iterator[tuple[str, str]]:
    """Yield (field, capability) for the parameter itself and the fields of its values that belong to a capability."""
    if parameter.capability is not None:
        yield parameter.name, parameter.capability
    for key, schema, _ in walk_tree(parameter.schema):
        if isinstance(schema, dict) and isinstance(schema.get("x-capability"), str):
            yield key, schema["x-capability"]


def _capabilities(
    scenario: Scenario, step: Step, contract: Contract, fields: Mapping[str, Mapping[str, str]]
) -> Iterator[str]:
    """Yield the capabilities that a server needs for a step: of its scenario, its fields and its subject."""
    subject, body = scenario.subject_of(step), step.body or {}
    yield from scenario.capabilities
    if subject is not None and subject.parameter in contract.parameters:
        probes = contract.parameters[subject.parameter].probes
        yield from (probe.capability for probe in probes if probe.capability and probe.value == subject.value)
    for name, value in {**({} if subject is None else {subject.parameter: subject.value}), **body}.items():
        known = fields.get(name)
        if known:
            yield from (known[key] for key in (name, *(key for key, _, _ in walk_tree(value))) if key in known)
