"""Capabilities are features that a server may lack; this module narrows a contract to a server without some of them.

A server rejects a parameter of a missing capability by name and never ignores it. Only neutral values, which request
nothing, are still accepted.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from openapi.contract.parameter import ABSENT, Keyword
from openapi.contract.tree.delta import copy_tree, walk_tree

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from openapi.contract.parameter import Parameter, Probe, Rule
    from openapi.schema.json_schema import Schema


@dataclass(frozen=True, slots=True)
class Capability:
    """A feature that a server may lack.

    assumed: whether the server has it if it does not declare it.
    conditions: the deployments and models for which the document takes the feature away.
    """

    name: str
    summary: str
    source: str
    assumed: bool
    interpretation: str | None = None
    conditions: tuple[str, ...] = ()


def request_for(capability: str, parameters: Mapping[str, Parameter]) -> dict[str, Any] | None:
    """Return the fields of a request that uses a capability; None if no parameter or option belongs to it.

    An option is a boolean field of a parameter that is an object, as those of `stream_options`.
    """
    for parameter in parameters.values():
        in_use = _values_in_use(parameter) if parameter.capability == capability else _options(parameter, capability)
        for value in in_use:
            return {**parameter.companions(value), parameter.name: value}
    return None


def _options(parameter: Parameter, capability: str) -> Iterator[dict[str, Any]]:
    """Yield values that use an option which belongs to the capability, in addition to options that every server has."""
    common = next((probe.value for probe in _certain(parameter) if isinstance(probe.value, dict)), {})
    for name, schema in parameter.schema.get("properties", {}).items():
        if schema.get("x-capability") == capability and schema.get("type") in ("boolean", ["boolean", "null"]):
            yield from ({**common, name: value} for value in (True, False) if value not in schema.get("x-neutral", ()))


def _certain(parameter: Parameter) -> list[Probe]:
    """Return the probes that every server with the parameter accepts."""
    accepted = [probe for probe in parameter.probes if probe.expect == "accept" and probe.keyword is not Keyword.MAY]
    return [probe for probe in accepted if probe.capability is None]


def _values_in_use(parameter: Parameter) -> Iterator[Any]:
    """Yield values that every server with the capability accepts and that are not neutral."""
    values = [probe.value for probe in _certain(parameter)]
    schema = parameter.schema
    if schema.get("type") == "boolean":
        values += [True, False]
    elif schema.get("type") in ("integer", "number"):
        least = max(1, schema.get("minimum", 1))
        values += [least, least + 1]
    yield from (value for value in values if value not in parameter.neutral)


def narrow_parameter(parameter: Parameter, gone: frozenset[str]) -> Parameter:
    """Narrow a parameter to a server that lacks the capabilities `gone`."""
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


def disable_parameter(parameter: Parameter) -> Parameter:
    """Narrow a parameter to a server that does not support it: only its neutral values and its default are left."""
    default = [] if parameter.default is ABSENT or parameter.default is None else [parameter.default]
    values = [value for value in parameter.neutral if value is not None]
    values += [value for value in default if value not in values]
    schema = {"enum": values, "x-lacking": parameter.name}
    return replace(parameter, schema=schema, neutral=(*values, None), probes=(), needs={}, levels={}, lacking=True)


def narrow_rule(rule: Rule, parameters: Mapping[str, Parameter]) -> Rule:
    """Remove the examples that use a parameter which the server lacks. `parameters` are the narrowed parameters."""

    def uses_missing(example: Mapping[str, Any] | None) -> bool:
        used = [(parameters[name], value) for name, value in (example or {}).items() if name in parameters]
        return any(parameter.lacking and value not in parameter.neutral for parameter, value in used)

    return replace(
        rule,
        broken=None if uses_missing(rule.broken) else rule.broken,
        kept=None if uses_missing(rule.kept) else rule.kept,
    )


def narrow_schemas(schemas: Mapping[str, Schema], gone: frozenset[str]) -> dict[str, Schema]:
    """Remove the named schemas that belong to a capability in `gone`, and narrow the others."""
    removed = frozenset(name for name, schema in schemas.items() if schema.get("x-capability") in gone)
    return {name: _narrow(schema, gone, removed) for name, schema in schemas.items() if name not in removed}


def _narrow(schema: Schema, gone: frozenset[str], removed: frozenset[str]) -> Schema:
    """Copy a schema, restrict properties of missing capabilities to neutral values and drop branches that refer to
    removed schemas.
    """
    narrowed = copy_tree(schema)
    references = {f"#/components/schemas/{name}" for name in removed}
    for key, value, holder in list(walk_tree(narrowed)):
        if key in ("anyOf", "oneOf") and isinstance(value, list):
            holder[key] = [branch for branch in value if branch.get("$ref") not in references]
        if key == "mapping" and isinstance(value, dict):
            holder[key] = {tag: target for tag, target in value.items() if target not in references}
        if isinstance(value, dict) and value.get("x-capability") in gone and "x-neutral" in value:
            kept = {name: value[name] for name in ("description", "x-capability", "x-source") if name in value}
            holder[key] = {**kept, "enum": value["x-neutral"], "x-lacking": value["x-capability"]}
    return narrowed
