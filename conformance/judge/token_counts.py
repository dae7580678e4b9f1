"""Read the token counts of an answer and the length limit of its request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.check import NotExercised, NotObserved

if TYPE_CHECKING:
    from conformance.exchange import Exchange

SAFE_LIMIT = 64  # tokens that every server can generate, whatever its own limit is
LIMITED_STEPS = ("whole", *(f"at-{limit}" for limit in range(1, 7)))
"""The steps that send one greedy request with different limits."""
STREAMED_CUTS = tuple(f"{name}-streamed" for name in LIMITED_STEPS[1:])
"""The streamed steps with the same limits."""
NOT_COUNTED = "usage counts no tokens, so its counts show nothing else"
COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


def requested_limit(exchange: Exchange) -> int:
    """Return the request's max_completion_tokens, or else its max_tokens. Raises NotExercised if it has neither."""
    sent: Any = exchange.request_json
    limits = [sent.get(name) for name in ("max_completion_tokens", "max_tokens")] if isinstance(sent, dict) else []
    limit = next((limit for limit in limits if limit is not None), None)
    if isinstance(limit, bool) or not isinstance(limit, (int, float)) or limit != int(limit):
        raise NotExercised("the request has no max_tokens")
    return int(limit)


def completion_count(exchange: Exchange) -> int:
    """Return the answer's completion_tokens. Raises NotExercised if usage does not have it or counts nothing."""
    count = (exchange.usage or {}).get("completion_tokens")
    if isinstance(count, bool) or not isinstance(count, int):
        raise NotExercised("the answer has no usage")
    if count < 1 and has_text(exchange):
        raise NotExercised(NOT_COUNTED)
    return count


def has_text(exchange: Exchange) -> bool:
    """Return whether a choice has text, reasoning or a call, so that the answer has completion tokens."""
    return any(choice.content or choice.reasoning or choice.tool_calls for choice in exchange.choices.values())


def comparable_counts(exchange: Exchange) -> tuple[int, int, int]:
    """Return prompt_tokens, completion_tokens and total_tokens for a comparison with those of other answers.

    Raises NotExercised also if usage counts no tokens: other requirements are about that.
    """
    prompt, completion, total = usage_counts(exchange)
    if prompt < 1 or (completion < 1 and has_text(exchange)):
        raise NotExercised(NOT_COUNTED)
    return prompt, completion, total


def visible_count(exchange: Exchange) -> int:
    """Return completion_tokens without the tokens of reasoning, if usage counts these.

    Raises as `comparable_counts`.
    """
    _prompt, completion, _total = comparable_counts(exchange)
    details = (exchange.usage or {}).get("completion_tokens_details")
    hidden = details.get("reasoning_tokens") if isinstance(details, dict) else None
    return completion - hidden if type(hidden) is int and 0 <= hidden <= completion else completion


def prompt_count(exchange: Exchange) -> int:
    """Return the answer's prompt_tokens. Raises NotExercised if usage does not have it."""
    count = (exchange.usage or {}).get("prompt_tokens")
    if type(count) is not int:
        raise NotExercised("usage has no prompt_tokens")
    return count


def known_prompt_count(exchange: Exchange) -> int:
    """Return the answer's prompt_tokens, or 0 if usage does not have it."""
    try:
        return prompt_count(exchange)
    except NotExercised:
        return 0


def usage_object(exchange: Exchange) -> dict[str, Any]:
    """Return the usage of an answer. Raises NotExercised if it has none."""
    if exchange.usage is None:
        raise NotExercised("the answer has no usage")
    return exchange.usage


def usage_counts(exchange: Exchange) -> tuple[int, int, int]:
    """Return prompt_tokens, completion_tokens and total_tokens.

    Raises NotExercised without usage, and NotObserved if a count is not an integer.
    """
    counts = [usage_object(exchange).get(name) for name in COUNTS]
    if not all(type(count) is int for count in counts):
        raise NotObserved("the counts of usage are not integers")
    prompt, completion, total = counts
    return prompt, completion, total  # type: ignore[return-value]  # checked above
