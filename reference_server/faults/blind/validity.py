"""Decide by the contract whether a request is valid."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi.contract.contract import Contract

GREETING = [{"role": "user", "content": "Hello"}]
NO_TOOL = {"type": "function", "function": {"name": "wait", "parameters": {"type": "object", "properties": {}}}}
"""A tool without parameters."""
KEPT: Final = 16  # contracts of which the compiled schemas are kept; hundreds of faults ask about each


def allows(**fields: Any) -> Callable[[Contract], bool]:
    """Apply a fault to dialects in which a short request with these fields is valid."""

    def is_valid(contract: Contract) -> bool:
        known = fields.keys() <= {*contract.parameters, "messages"}
        body = {"model": contract.default_model, "messages": GREETING, **fields}
        return known and not _compile(contract).request_problems(body)

    return is_valid


@lru_cache(maxsize=KEPT)
def _compile(contract: Contract) -> Validator:
    """Return a validator of the contract."""
    return Validator(contract)


def reports_cached(contract: Contract) -> bool:
    """Apply a fault to dialects whose usage has the number of cached tokens."""
    return bool(contract.answer.cached_tokens)


def has_own_ids(contract: Contract) -> bool:
    """Apply a variation to dialects whose documents show ids as examples only, and let no request name one."""
    return contract.answer.id_prefix == "chatcmpl-" and "request_id" not in contract.parameters
