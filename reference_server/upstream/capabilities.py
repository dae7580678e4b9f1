"""Offering: a contract less what cannot be had through an upstream, so that the description stays true."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.parameter import ABSENT
from reference_server.upstream.request_translation import NEUTRAL

if TYPE_CHECKING:
    from openapi.contract.contract import Contract, Parameter
    from openapi.schema.json_schema import Schema
    from reference_server.upstream.kind import Kind

MEASURED_THERE: Final = ("batch_size", "queue_wait_time")
"""Members of usage that only who runs the forward passes can know; no document demands them."""


def through(contract: Contract, kind: Kind) -> Contract:
    """What a gateway of this contract offers in front of such an upstream: neutral values of the rest still pass.

    What a kind's capabilities do not name is lacking, so that nothing new is offered before somebody thought of it.
    """
    narrowed = contract.without(set(contract.capabilities) - kind.capabilities(contract))
    refused = kind.refused()
    return replace(
        narrowed,
        parameters={
            name: _lacking(each) if name in refused and not each.lacking else each
            for name, each in narrowed.parameters.items()
        },
        schemas={name: _less(schema) for name, schema in narrowed.schemas.items()},
        answer=replace(narrowed.answer, token_arrays=False),
    )


def _lacking(parameter: Parameter) -> Parameter:
    values: list[Any] = [*parameter.neutral]
    for value in (NEUTRAL.get(parameter.name), parameter.default):
        plain = sorted(value) if isinstance(value, frozenset) else list(value) if isinstance(value, tuple) else value
        if value is not None and value is not ABSENT and plain not in values:
            values.append(plain)
    return replace(
        parameter, schema={"enum": values, "x-lacking": parameter.name}, probes=(), needs={}, levels={}, lacking=True
    )


def _less(schema: Schema) -> Schema:
    if not set(MEASURED_THERE) & set(schema.get("properties", ())):
        return schema
    less = deepcopy(schema)
    for name in MEASURED_THERE:
        less["properties"].pop(name, None)
        if name in less.get("required", ()):
            less["required"].remove(name)
    return less
