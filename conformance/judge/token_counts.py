"""TODO."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.check import NoOccasion, NotObserved

if TYPE_CHECKING:
    from conformance.exchange import Exchange

CERTAIN = 64  # tokens that every server can make, whatever its own limit

CUTS = ("whole", *(f"at-{limit}" for limit in range(1, 7)))  # steps of one greedy request, cut shorter and shorter

COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


def limit_of(exchange: Exchange) -> int:
    """The request's max_completion_tokens, else its max_tokens; raises NoOccasion when it has neither."""
    sent: Any = exchange.request_json
    asked = [sent.get(name) for name in ("max_completion_tokens", "max_tokens")] if isinstance(sent, dict) else []
    limit = next((each for each in asked if each is not None), None)
    if isinstance(limit, bool) or not isinstance(limit, (int, float)) or limit != int(limit):
        raise NoOccasion("the request has no max_tokens")
    return int(limit)


def completion_of(exchange: Exchange) -> int:
    """The answer's completion_tokens; raises NoOccasion when usage does not say."""
    found = (exchange.usage or {}).get("completion_tokens")
    if isinstance(found, bool) or not isinstance(found, int):
        raise NoOccasion("the answer has no usage")
    return found


def prompt_tokens(exchange: Exchange) -> int:
    """How many tokens usage counts for the prompt; raises NoOccasion where it counts none."""
    found = (exchange.usage or {}).get("prompt_tokens")
    if type(found) is not int:
        raise NoOccasion("usage does not count the prompt")
    return found


def usage_of(exchange: Exchange) -> dict[str, Any]:
    if exchange.usage is None:
        raise NoOccasion("the answer has no usage")
    return exchange.usage


def counts_of(exchange: Exchange) -> tuple[int, int, int]:
    """Tokens of the prompt, of the answer, and their sum, as usage has them.

    Raises NoOccasion without usage, and NotObserved where a count is no integer.
    """
    found = [usage_of(exchange).get(name) for name in COUNTS]
    if not all(type(value) is int for value in found):
        raise NotObserved("usage is not made of integers")
    prompt, completion, total = found
    return prompt, completion, total  # type: ignore[return-value]  # checked above
