"""The request that a boundary is tested in, what is expected of it, and how values are written in ids and summaries."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from conformance.plan.scenarios import fitting
from openapi.contract.contract import Keyword
from openapi.schema.nearest_value import nearest_value

if TYPE_CHECKING:
    from conformance.scenario import Expectation
    from openapi.contract.contract import Contract, Expect, Parameter

GREETING = [{"role": "user", "content": "Hello!"}]
OBJECT_ASKED = [{"role": "user", "content": "Greet me with a JSON object."}]
"""The message of a request for any JSON object, which some servers refuse if no message has the word JSON."""


def body_with(parameter: Parameter, value: Any, contract: Contract) -> dict[str, Any]:
    body = {
        "model": "m",
        "messages": OBJECT_ASKED if asks_for_object(value) else GREETING,
        **limit_answer(contract),
        **parameter.companions(value),
        parameter.name: value,
    }
    return fitting.complete_body(body, contract)


def asks_for_object(value: Any) -> bool:
    """Return whether a value makes the answer any JSON object."""
    return isinstance(value, dict) and value.get("type") == "json_object"


def limit_answer(contract: Contract) -> dict[str, Any]:
    """Return the field that limits an answer to two tokens, or to as few as the contract allows."""
    known = (contract.parameters.get(name) for name in ("max_tokens", "max_completion_tokens"))
    limit = next((parameter for parameter in known if parameter is not None and not parameter.lacking), None)
    return {} if limit is None else {limit.name: nearest_value(limit.schema, 2)}


def expectation_of(keyword: Keyword, expect: Expect) -> Expectation:
    if keyword is Keyword.MAY:
        return "either"
    return "answer" if expect == "accept" else "refusal"


def shorten_value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:40]}... ({len(text)} characters)"


def slug_of(text: str) -> str:
    """Return the letters, digits, dots and signs of a value, for use in an id."""
    kept = "".join(char if char.isalnum() or char in "._+-" else " " for char in text[:40])
    return "-".join(kept.split()) or ("object" if text == "{}" else "list" if text == "[]" else "empty")
