"""Capabilities: features that a server may lack, and what is left of parameters and schemas without them.

What a server lacks it refuses by name and never ignores: only neutral values, which ask for nothing, still pass.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from openapi.contract.parameter import ABSENT
from openapi.contract.resolution import members

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi.contract.parameter import Parameter, Rule
    from openapi.schema.json_schema import Schema


@dataclass(frozen=True, slots=True)
class Capability:
    """A feature that a server may lack. `assumed`: taken for present when the server does not say."""

    name: str
    summary: str
    source: str
    assumed: bool
    interpretation: str | None = None


def narrow_parameter(parameter: Parameter, gone: frozenset[str]) -> Parameter:
    """The parameter of a server that lacks the capabilities `gone`."""
    schema = _narrow(parameter.schema, gone, frozenset())
    if parameter.capability not in gone:
        return replace(parameter, schema=schema)
    values = [value for value in parameter.neutral if value is not None]  # null is added where it is accepted
    return replace(
        parameter,
        schema={"enum": values, "x-lacking": parameter.capability},
        probes=(),
        lacking=True,
        needs={},
    )


def lacking_parameter(parameter: Parameter) -> Parameter:
    """The parameter of a server that lacks nothing but this: neutral values only, its default among them."""
    default = [] if parameter.default is ABSENT or parameter.default is None else [parameter.default]
    values = [value for value in parameter.neutral if value is not None]
    values += [value for value in default if value not in values]
    schema = {"enum": values, "x-lacking": parameter.name}
    return replace(parameter, schema=schema, neutral=(*values, None), probes=(), needs={}, levels={}, lacking=True)


def narrow_rule(rule: Rule, parameters: Mapping[str, Parameter]) -> Rule:
    """The rule without the examples that ask for what the server lacks. `parameters` are the narrowed ones."""

    def asks_for_more(members: Mapping[str, Any] | None) -> bool:
        named = [(parameters[name], value) for name, value in (members or {}).items() if name in parameters]
        return any(parameter.lacking and value not in parameter.neutral for parameter, value in named)

    return replace(
        rule,
        broken=None if asks_for_more(rule.broken) else rule.broken,
        kept=None if asks_for_more(rule.kept) else rule.kept,
    )


def narrow_schemas(schemas: Mapping[str, Schema], gone: frozenset[str]) -> dict[str, Schema]:
    """The named schemas without those that belong to a capability in `gone`."""
    lost = frozenset(name for name, schema in schemas.items() if schema.get("x-capability") in gone)
    return {name: _narrow(schema, gone, lost) for name, schema in schemas.items() if name not in lost}


def _narrow(schema: Schema, gone: frozenset[str], lost: frozenset[str]) -> Schema:
    """A copy in which properties of lacking capabilities take neutral values and lost branches are left out."""
    narrowed = copy.deepcopy(schema)
    references = {f"#/components/schemas/{name}" for name in lost}
    for key, value, holder in list(members(narrowed)):
        if key == "oneOf" and isinstance(value, list):
            holder[key] = [branch for branch in value if branch.get("$ref") not in references]
        if key == "mapping" and isinstance(value, dict):
            holder[key] = {tag: target for tag, target in value.items() if target not in references}
        if isinstance(value, dict) and value.get("x-capability") in gone and "x-neutral" in value:
            kept = {name: value[name] for name in ("description", "x-capability", "x-source") if name in value}
            holder[key] = {**kept, "enum": value["x-neutral"], "x-lacking": value["x-capability"]}
    return narrowed
