"""The part of a contract that is available through an upstream, so that the served description stays true."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.parameter import ABSENT
from reference_server.upstream.request_translation import ENGINE_DEFAULTS

if TYPE_CHECKING:
    from openapi.contract.contract import Contract, Parameter
    from openapi.schema.json_schema import Schema
    from reference_server.upstream.kind import UpstreamKind

MEASURED_IN_ENGINE: Final = ("batch_size", "queue_wait_time")
"""Fields of usage that can be measured only where the model runs; no document requires them."""


def narrow_contract(contract: Contract, kind: UpstreamKind) -> Contract:
    """Return the contract without what the upstream lacks; neutral values of lacking parameters are still accepted."""
    narrowed = contract.without(set(contract.capabilities) - kind.capabilities(contract))
    refused = kind.refused_parameters()
    return replace(
        narrowed,
        parameters={
            name: _mark_lacking(parameter) if name in refused and not parameter.lacking else parameter
            for name, parameter in narrowed.parameters.items()
        },
        schemas={name: _without_measurements(schema) for name, schema in narrowed.schemas.items()},
        answer=replace(narrowed.answer, token_arrays=False),
    )


def _mark_lacking(parameter: Parameter) -> Parameter:
    values: list[Any] = [*parameter.neutral]
    for value in (ENGINE_DEFAULTS.get(parameter.name), parameter.default):
        plain = sorted(value) if isinstance(value, frozenset) else list(value) if isinstance(value, tuple) else value
        if value is not None and value is not ABSENT and plain not in values:
            values.append(plain)
    return replace(
        parameter, schema={"enum": values, "x-lacking": parameter.name}, probes=(), needs={}, levels={}, lacking=True
    )


def _without_measurements(schema: Schema) -> Schema:
    if not set(MEASURED_IN_ENGINE) & set(schema.get("properties", ())):
        return schema
    smaller = deepcopy(schema)
    for name in MEASURED_IN_ENGINE:
        smaller["properties"].pop(name, None)
        if name in smaller.get("required", ()):
            smaller["required"].remove(name)
    return smaller
