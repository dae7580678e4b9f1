"""Check that the values which a server must accept are valid by the schema of their parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jsonschema_rs

from openapi.contract.resolution import ContractError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi.contract.parameter import Parameter
    from openapi.schema.json_schema import Schema


def check_probes(parameters: Mapping[str, Parameter], schemas: Mapping[str, Schema]) -> None:
    """Raise ContractError for a probe that must be accepted and that the schema of its parameter forbids.

    A dialect that narrows a parameter of the dialect that it extends inherits such probes.
    """
    for name, parameter in parameters.items():
        probes = [probe for probe in parameter.probes if probe.expect == "accept"]
        if not probes:
            continue
        schema = {**parameter.schema, "components": {"schemas": dict(schemas)}}
        is_valid = jsonschema_rs.validator_for(schema).is_valid
        for probe in probes:
            if not is_valid(probe.value):
                raise ContractError(
                    f"parameters/{name}/probes/{probe.name}: the value must be accepted, but the schema of the "
                    "parameter forbids it: remove the probe, or allow the value"
                )
