"""Generates faults from pairs: a parameter is ignored in requests of one kind, and heeded in all others.

`ignored:top_p.in-streams` ignores top_p in streams. Real servers have such faults because streams, calls and forms take
paths of their own through them. All pairs together are the set `pairs`, with an origin of its own like the blind sets:
no author has written them, and few requests show each of them.
"""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import jsonschema_rs

from openapi.schema.json_schema import REFERENCE
from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from openapi.contract.contract import Contract, Parameter
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import ServedRequest

ORIGIN: Final = "pairs"
NEVER_IGNORED: Final = frozenset({"model", "messages", "stream"})


class Kind(NamedTuple):
    """A kind of request.

    fields: the JSON Schemas of the fields that make a request one of this kind.
    present: whether these fields must be present.
    """

    line: str
    fields: Mapping[str, Any]
    present: bool = True


KINDS: Final[Mapping[str, Kind]] = {
    "in-streams": Kind("in streams", {"stream": {"const": True}}),
    "in-plain-answers": Kind("in plain answers", {"stream": {"enum": [False, None]}}, present=False),
    "next-to-tools": Kind("next to tools", {"tools": {"type": "array", "minItems": 1}}),
    "next-to-a-form": Kind(
        "next to a response_format",
        {"response_format": {"type": "object", "properties": {"type": {"not": {"const": "text"}}}}},
    ),
    "next-to-choices": Kind("next to several choices", {"n": {"type": "integer", "minimum": 2}}),
    "next-to-logprobs": Kind("next to log-probabilities", {"logprobs": {"const": True}}),
    "next-to-a-seed": Kind("next to a seed", {"seed": {"type": "integer"}}),
    "next-to-stop": Kind("next to stop strings", {"stop": {"type": ["string", "array"]}}),
    "when-greedy": Kind("at temperature 0", {"temperature": {"const": 0}}),
    "after-an-answer": Kind(
        "after an earlier answer", {"messages": {"contains": {"properties": {"role": {"const": "assistant"}}}}}
    ),
    "next-to-an-image": Kind(
        "next to an image",
        {
            "messages": {
                "contains": {
                    "required": ["content"],
                    "properties": {
                        "content": {"type": "array", "contains": {"properties": {"type": {"const": "image_url"}}}}
                    },
                }
            }
        },
    ),
}


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
