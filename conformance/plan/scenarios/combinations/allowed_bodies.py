"""Tell whether a contract certainly allows the body of a request, so that a server must not refuse it."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from conformance.plan.scenarios.fitting import complete_body
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi.contract.contract import Contract

    Body = dict[str, Any]

KEPT: Final = 4  # contracts, of which few are planned at the same time


class AllowedBodies:
    """Judges bodies by the contract, by the limits that a server may set, and by the rules that are only in words."""

    def __init__(self, contract: Contract) -> None:
        self._contract = contract
        self._validators = Validator(contract), Validator(contract.with_server_limits())
        self._in_words = [rule.broken for rule in contract.rules.values() if rule.broken and rule.schema is None]

    def allows(self, body: Body) -> bool:
        """Return whether every server that follows the contract accepts the body. It needs no model."""
        complete = complete_body({"model": "m", **body}, self._contract)
        if any(_resembles(complete, broken) for broken in self._in_words):
            return False
        return not any(validator.request_problems(complete) for validator in self._validators)


@lru_cache(maxsize=KEPT)
def find_allowed_bodies(contract: Contract) -> AllowedBodies:
    """Return what judges the bodies of a contract. Cached: it compiles two schemas, and every combination asks it."""
    return AllowedBodies(contract)


def _resembles(body: Body, example: Mapping[str, Any]) -> bool:
    """Return whether a body has the fields of an example: numbers and lists may have other values."""
    return all(
        body.get(name) == value if isinstance(value, bool | str) else body.get(name) is not None
        for name, value in example.items()
    )
