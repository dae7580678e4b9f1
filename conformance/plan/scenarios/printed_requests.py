"""Send the requests that a page prints, with the model of the server and with few tokens.

A request is sent as it is printed, so its fields are not pruned. It is left out only if the contract of the server does
not allow it, for example because the server lacks a capability.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from conformance.scenario import Scenario, Step
from openapi.contract.page.printed_examples import load_printed_examples
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from openapi.contract.contract import Contract

MAX_TOKENS: Final = 32
"""Maximum length of an answer to a printed request."""


def generate(contract: Contract) -> tuple[Scenario, ...]:
    """Return one scenario for each request that the document prints and the contract allows."""
    validator = Validator(contract)
    known = {name for name, parameter in contract.parameters.items() if not parameter.lacking}
    scenarios = []
    for example in load_printed_examples(contract.document.id):
        if example.kind == "request" and example.unsent is None:
            body = shorten(example.body)
            if set(body) - {"model"} <= known and not validator.request_problems(body):
                scenarios.append(_scenario(example.name, example.line, body))
    return tuple(scenarios)


def shorten(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return a request with a lower limit of tokens."""
    limit = body.get("max_tokens")
    return {**body, "max_tokens": min(limit, MAX_TOKENS) if isinstance(limit, int) else MAX_TOKENS}


def _scenario(name: str, line: int, body: Mapping[str, Any]) -> Scenario:
    sent = {field: value for field, value in body.items() if field != "model"}
    return Scenario(f"printed-{name}", f"the request that the document prints in line {line}", (Step(body=sent),))
