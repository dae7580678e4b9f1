"""The part of a contract that is available through an upstream, so that the served description stays true."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.capability import narrow_rule
from openapi.contract.parameter import ABSENT
from openapi.contract.tree.delta import copy_tree
from reference_server.upstream.kind import TEMPLATE_OPTIONS
from reference_server.upstream.parameters import engine_parameters
from reference_server.upstream.request_translation import ENGINE_DEFAULTS, REASONING_OFF, STOP_TOKENS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openapi.contract.contract import Contract, Parameter, Rule
    from openapi.schema.json_schema import Schema
    from reference_server.upstream.kind import UpstreamKind

MEASURED_IN_ENGINE: Final = ("batch_size", "queue_wait_time")
"""Fields of usage that can be measured only where the model runs; no document requires them."""


def narrow_contract(contract: Contract, kind: UpstreamKind) -> Contract:
    """Return the contract without what the upstream lacks; neutral values of lacking parameters are still accepted."""
    available = kind.capabilities(contract)
    while True:
        narrowed = contract.without(set(contract.capabilities) - available)
        refused = kind.refused_parameters()
        parameters = {
            name: _mark_lacking(parameter) if name in refused and not parameter.lacking else parameter
            for name, parameter in narrowed.parameters.items()
        }
        useless = {
            parameter.capability for parameter in parameters.values() if _needs_lacking(parameter, parameters)
        } & available
        if not useless:
            break
        available -= useless
    return replace(
        narrowed,
        parameters=parameters,
        rules={key: _narrow_rule(rule, parameters, kind) for key, rule in narrowed.rules.items()},
        schemas={name: _without_measurements(schema) for name, schema in narrowed.schemas.items()},
        answer=replace(narrowed.answer, token_arrays=False),
    )


def _narrow_rule(rule: Rule, parameters: Mapping[str, Parameter], kind: UpstreamKind) -> Rule:
    """Remove the examples that cannot be translated."""
    excluded = {"tools", STOP_TOKENS} if not kind.stops_with_tools else None
    rule = narrow_rule(rule, parameters)
    return replace(rule, kept=None) if excluded is not None and excluded <= (rule.kept or {}).keys() else rule


def neutral_values(contract: Contract) -> Mapping[str, Sequence[Any]]:
    """Return the values of each engine parameter that are accepted even if the upstream lacks it.

    They are the engine's default and those of the dialect, which a client that does not send the parameter gets.
    """
    return {
        key: [
            value
            for name in (*parameter.names, *parameter.also)
            if name in contract.parameters
            for value in _neutral(contract.parameters[name])
        ]
        for key, parameter in engine_parameters().items()
    }


def _neutral(parameter: Parameter) -> list[Any]:
    values: list[Any] = [*parameter.neutral]
    if parameter.name == TEMPLATE_OPTIONS:
        values += [{}, REASONING_OFF]
    for value in (ENGINE_DEFAULTS.get(parameter.name), parameter.default):
        plain = sorted(value) if isinstance(value, frozenset) else list(value) if isinstance(value, tuple) else value
        if value is not None and value is not ABSENT and plain not in values:
            values.append(plain)
    return values


def _needs_lacking(parameter: Parameter, parameters: Mapping[str, Parameter]) -> bool:
    """Whether no value of the parameter has an effect without another parameter that the upstream lacks."""
    needed = {name: value for name, value in parameter.needs.items() if name in parameters and not parameter.lacking}
    return any(parameters[name].lacking and value not in parameters[name].neutral for name, value in needed.items())


def _mark_lacking(parameter: Parameter) -> Parameter:
    values = _neutral(parameter)
    return replace(
        parameter,
        schema={"enum": [value for value in values if value is not None], "x-lacking": parameter.name},
        neutral=(*values, None),
        probes=(),
        needs={},
        levels={},
        lacking=True,
    )


def _without_measurements(schema: Schema) -> Schema:
    if not set(MEASURED_IN_ENGINE) & set(schema.get("properties", ())):
        return schema
    smaller = copy_tree(schema)
    for name in MEASURED_IN_ENGINE:
        smaller["properties"].pop(name, None)
        if name in smaller.get("required", ()):
            smaller["required"].remove(name)
    return smaller
