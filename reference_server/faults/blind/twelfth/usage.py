"""Blind faults of token counts: at stop strings, of reasoning and predictions, by words, and in streams."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.validity import allows, reports_cached
from reference_server.faults.decorators import choices_of, envelope_fault, message_of

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest


def _usage_of(response: Json) -> Json | None:
    """Return the usage of a response, if it has all counts."""
    usage = response.get("usage")
    counts = {"prompt_tokens", "completion_tokens", "total_tokens"}
    return usage if isinstance(usage, dict) and counts <= usage.keys() else None


def _details_of(usage: Json | None, name: str) -> Any:
    details = usage.get("completion_tokens_details") if usage else None
    return details.get(name) if isinstance(details, dict) else None


def _forget_at_stops(response: Json, request: ServedRequest) -> None:
    """Stop before the counts arrive. Violates usage: the tokens of the request."""
    reasons = [choice.get("finish_reason") for choice in choices_of(response)]
    request.state["stopped"] = request.state.get("stopped") or "stop" in reasons
    usage = _usage_of(response)
    if usage and request.payload.get("stop") and request.state["stopped"]:
        usage.update(prompt_tokens=0, completion_tokens=0, total_tokens=0)


def _leave_out_thoughts(response: Json, _request: ServedRequest) -> None:
    """Copy counts of another API. Violates total_tokens: the sum of the other counts."""
    usage = _usage_of(response)
    thoughts = _details_of(usage, "reasoning_tokens")
    if usage and thoughts:
        usage["completion_tokens"] -= thoughts


def _counts_thoughts(contract: Contract) -> bool:
    return "UsageCompletionDetails" in contract.schemas and "chat_template_kwargs" in contract.parameters


def _count_words(response: Json, request: ServedRequest) -> None:
    """Estimate by words. Violates completion_tokens: the tokens that were generated."""
    said = [message_of(choice).get("content") for choice in choices_of(response)]
    request.state["text"] = request.state.get("text", "") + "".join(text for text in said if isinstance(text, str))
    usage = _usage_of(response)
    words = len(request.state["text"].split())
    if usage and words:
        usage.update(completion_tokens=words, total_tokens=usage["prompt_tokens"] + words)


def _count_predicted_twice(response: Json, _request: ServedRequest) -> None:
    """Add a part to the whole. Violates completion_tokens, which has the accepted tokens."""
    usage = _usage_of(response)
    accepted = _details_of(usage, "accepted_prediction_tokens")
    if usage and accepted:
        usage["completion_tokens"] += accepted
        usage["total_tokens"] += accepted


def _forget_cache(chunk: Json, _request: ServedRequest) -> None:
    """Report the last step. Violates cached_tokens: those of the prompt that were cached."""
    usage = _usage_of(chunk)
    details = usage.get("prompt_tokens_details") if usage else None
    if isinstance(details, dict) and details.get("cached_tokens"):
        details["cached_tokens"] = 0


def _add_totals(chunk: Json, _request: ServedRequest) -> None:
    """Add the total of the last piece to the counts of all. Violates completion_tokens."""
    usage = _usage_of(chunk)
    if usage and usage["completion_tokens"]:
        more = usage["completion_tokens"] - 1
        usage["completion_tokens"] += more
        usage["total_tokens"] += more


usage_is_zero_at_stops = envelope_fault(
    "usage-is-zero-at-stops",
    _forget_at_stops,
    "If the request has stop strings, the counts of an answer that ends with stop are 0.",
)
thoughts_only_in_totals = envelope_fault(
    "thoughts-only-in-totals",
    _leave_out_thoughts,
    "The tokens of the reasoning are counted in total_tokens and not in completion_tokens.",
    applies_to=_counts_thoughts,
)
answers_counted_by_words = envelope_fault(
    "answers-counted-by-words", _count_words, "completion_tokens is the number of words of the content."
)
predictions_counted_twice = envelope_fault(
    "predictions-counted-twice",
    _count_predicted_twice,
    "The accepted tokens of a prediction are counted twice in completion_tokens.",
    applies_to=allows(prediction={"type": "content", "content": "Hello"}),
)
cached_tokens_lost_in_streams = envelope_fault(
    "cached-tokens-lost-in-streams",
    _forget_cache,
    "The number of cached tokens is 0 in streams.",
    plain=False,
    applies_to=reports_cached,
)
streamed_answers_counted_almost_twice = envelope_fault(
    "streamed-answers-counted-almost-twice",
    _add_totals,
    "The completion_tokens of a stream is one less than twice the number of its tokens.",
    plain=False,
)
