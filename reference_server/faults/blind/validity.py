"""Decide by the contract whether a request is valid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi.contract.contract import Contract

GREETING = [{"role": "user", "content": "Hello"}]
NO_TOOL = {"type": "function", "function": {"name": "wait", "parameters": {"type": "object", "properties": {}}}}
"""A tool without parameters."""


def allows(**fields: Any) -> Callable[[Contract], bool]:
    """Apply a fault to dialects in which a short request with these fields is valid."""

    def is_valid(contract: Contract) -> bool:
        known = fields.keys() <= {*contract.parameters, "messages"}
        body = {"model": contract.default_model, "messages": GREETING, **fields}
        return known and not Validator(contract).request_problems(body)

    return is_valid


def reports_cached(contract: Contract) -> bool:
    """Apply a fault to dialects whose usage has the number of cached tokens."""
    return bool(contract.answer.cached_tokens)


def has_own_ids(contract: Contract) -> bool:
    """Apply a variation to dialects whose documents show ids as examples only, and let no request name one."""
    return contract.answer.id_prefix == "chatcmpl-" and "request_id" not in contract.parameters
