"""Check that the values which a server must accept, and the defaults, are valid by the schema of their parameter."""

from __future__ import annotations

from typing import TYPE_CHECKING

import jsonschema_rs

from openapi.contract.parameter import ABSENT
from openapi.contract.resolution import ContractError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi.contract.parameter import Parameter
    from openapi.schema.json_schema import Schema


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
