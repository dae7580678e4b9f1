"""Expand the short forms in which data files write the values of probes."""

from __future__ import annotations

from typing import Any

from openapi.contract.tree.yaml_file import ContractError


def expand_value(value: Any) -> Any:
    """Expand the short forms of a probe's value: `{repeat, times}`, `{list, times}` and `{literal}`."""
    if not isinstance(value, dict):
        return value
    match value:
        case {"literal": literal}:
            return literal
        case {"repeat": str(text), "times": int(times)}:
            return text * times
        case {"list": item, "times": int(times)}:
            return [expand_value(item)] * times
    raise ContractError(
        f"invalid value of a probe: expected repeat/times, list/times, literal or no object, got {value!r}"
    )
