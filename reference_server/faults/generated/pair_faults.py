"""Generates faults from pairs: a parameter is ignored in requests of one kind, and heeded in all others.

`ignored:top_p.in-streams` ignores top_p in streams. All pairs together are the set `pairs`, with an origin of its own
like the blind sets: no author has written them, and few requests show each of them.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import jsonschema_rs

from openapi.schema.json_schema import REFERENCE
from reference_server.faults.decorators import hooked_fault
from reference_server.faults.generated.request_kinds import KINDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi.contract.contract import Contract, Parameter
    from reference_server.faults.fault import Fault
    from reference_server.faults.generated.request_kinds import Kind
    from reference_server.faults.hooks import ServedRequest

ORIGIN: Final = "pairs"
NEVER_IGNORED: Final = frozenset({"model", "messages", "stream"})


def pair_faults_of(contract: Contract) -> Iterator[Fault]:
    """Yield a fault for each parameter of a served contract and each kind of request that the contract has."""
    for parameter in contract.parameters.values():
        for name, kind in KINDS.items():
            is_apart = parameter.name not in NEVER_IGNORED | kind.fields.keys()
            if is_apart and kind.fields.keys() <= contract.parameters.keys():
                schema = _schema_of(parameter, kind)
                fault = hooked_fault(
                    f"ignored:{parameter.name}.{name}",
                    f"{parameter.name} is ignored {kind.line}.",
                    shows_in=schema,
                    request=_ignoring(parameter.name, schema),
                )
                yield replace(fault, origin=ORIGIN, group=name)


def _schema_of(parameter: Parameter, kind: Kind) -> dict[str, Any]:
    """Return the schema of requests of a kind with a value of a parameter that is not refused and not null."""
    required = [parameter.name, *kind.fields] if kind.present else [parameter.name]
    refers = REFERENCE in json.dumps(parameter.schema)
    value = {"allOf": [{} if refers else parameter.schema, {"not": {"type": "null"}}]}
    return {"type": "object", "required": required, "properties": {**kind.fields, parameter.name: value}}


def _ignoring(parameter: str, schema: dict[str, Any]) -> Callable[[ServedRequest], None]:
    def edit(request: ServedRequest) -> None:
        if jsonschema_rs.is_valid(schema, request.payload):
            del request.payload[parameter]

    return edit
