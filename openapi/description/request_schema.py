"""Build the schema of the request body from the parameters and rules of a contract."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi.contract.parameter import ABSENT
from openapi.contract.tree.delta import copy_tree
from openapi.schema.null_values import add_null

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi.contract.contract import Contract
    from openapi.contract.parameter import Parameter
    from openapi.schema.json_schema import Schema


def request_schema(contract: Contract, examples: Mapping[str, list[Any]]) -> Schema:
    """Build the schema of the request body; `examples` are values by parameter.

    Rules that combine parameters become `dependentSchemas`, each marked with `x-rule`, because case generators follow
    these; from `if` and `then` they make one valid case instead of more than a hundred. Rules that JSON Schema
    cannot express, such as those about how a server is deployed, are listed as text in `x-rules`.

    `anyOf` has a branch for plain answers and one for streams, and rejects nothing. Generators vary each branch, and so
    reach what needs a stream; for OVMS, the smallest dialect, they make nearly three times as many cases.
    """
    schema: Schema = {
        "description": "A request for a chat completion.",
        "type": "object",
        "required": [name for name, parameter in contract.parameters.items() if parameter.required],
        "properties": {
            name: _parameter_schema(parameter, examples[name]) for name, parameter in contract.parameters.items()
        },
    }
    if "stream" in contract.parameters:
        schema["anyOf"] = _stream_branches(contract.parameters["stream"].source)
    rules = _rules_by_trigger(contract)
    if rules:
        schema["dependentSchemas"] = {
            trigger: marked[0] if len(marked) == 1 else {"allOf": marked} for trigger, marked in rules.items()
        }
    in_words = [rule for rule in contract.rules.values() if rule.schema is None or not rule.enforced]
    if in_words:
        schema["x-rules"] = [{"id": rule.id, "summary": rule.summary, "x-source": rule.source} for rule in in_words]
    return schema


def _parameter_schema(parameter: Parameter, examples: list[Any]) -> Schema:
    """Build the schema of a parameter, with null if it is accepted."""
    schema = copy_tree(parameter.schema)
    if parameter.null.expect == "accept":
        schema = add_null(schema)
    notes: Schema = {"description": parameter.summary, "x-source": parameter.source}
    if parameter.default_note:
        notes["description"] += f" Default: {parameter.default_note}."
    if parameter.default is not ABSENT and not parameter.lacking:
        notes["default"] = parameter.default
    if parameter.capability:
        notes["x-capability"] = parameter.capability
    if parameter.interpretation:
        notes["x-interpretation"] = parameter.interpretation
    if examples:
        notes["examples"] = copy_tree(examples)
    return {**notes, **schema}


def _rules_by_trigger(contract: Contract) -> dict[str, list[Schema]]:
    rules: dict[str, list[Schema]] = {}
    for rule in contract.rules.values():
        if rule.trigger and rule.schema and rule.enforced:
            marked = {**rule.schema, "x-rule": {"id": rule.id, "summary": rule.summary}, "x-source": rule.source}
            rules.setdefault(rule.trigger, []).append(marked)
    return rules


def _stream_branches(source: str) -> list[Schema]:
    """Return two branches, of which exactly one accepts any request: the first is the negation of the second."""
    return [
        {"title": "Plain answer", "properties": {"stream": {"not": {"const": True}, "x-source": source}}},
        {
            "title": "Streamed answer",
            "required": ["stream"],
            "properties": {"stream": {"const": True, "x-source": source}},
        },
    ]
