"""Blind faults of concurrent requests: answers and calls of other requests, and prompts that are padded."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.body_recipes import swapping_in_crowds
from reference_server.faults.blind.recipes import crowd_fault, text_length
from reference_server.faults.decorators import choices_of, has_parameters, message_of
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.blind.recipes import Crowd
    from reference_server.faults.hooks import Json, ServedRequest

SHARED_SEED: Final = 7
CHARACTERS: Final = 4  # of a token


def _share_answers(crowd: Crowd) -> Hooks:
    """Send equal requests on as one. Violates temperature: each request is sampled for itself."""

    def share(request: ServedRequest) -> None:
        if request.payload in crowd.others(request) and request.payload.get("seed") is None:
            request.payload["seed"] = SHARED_SEED

    return Hooks(request=share)


def _count_padding(crowd: Crowd) -> Hooks:
    """Count all columns of a batch. Violates prompt_tokens: the tokens of this prompt."""

    def note(request: ServedRequest) -> None:
        longest = max((text_length(sent) for sent in crowd.others(request)), default=0)
        request.state["padding"] = max(0, longest - text_length(request.payload)) // CHARACTERS

    def count(response: Json, request: ServedRequest) -> None:
        usage = response.get("usage")
        if isinstance(usage, dict) and isinstance(usage.get("prompt_tokens"), int):
            usage["prompt_tokens"] += request.state.get("padding", 0)
            usage["total_tokens"] += request.state.get("padding", 0)

    return Hooks(request=note, answer=count, chunk=count)


def _exchange_calls(answer: Json, earlier: Any) -> Any:
    """Return the calls, and write those of another answer. Violates tool_calls: those of this answer."""
    own = earlier
    for choice in choices_of(answer):
        said = message_of(choice)
        if said.get("tool_calls"):
            own = said["tool_calls"]
            said["tool_calls"] = own if earlier is None else earlier
    return own


equal_requests_share_an_answer = crowd_fault(
    "equal-requests-share-an-answer",
    "Equal requests without a seed that are running together get the same sample.",
    _share_answers,
    applies_to=has_parameters("seed"),
)
padding_counted_in_crowds = crowd_fault(
    "padding-counted-in-crowds",
    "While a request with a longer prompt is running, the prompt_tokens of a request contain its padding.",
    _count_padding,
)
calls_swapped_in_crowds = crowd_fault(
    "calls-swapped-in-crowds",
    "Of three and more concurrent requests, a plain answer with tool calls has those of the one before it.",
    lambda crowd: swapping_in_crowds(crowd, _exchange_calls),
    applies_to=has_parameters("tools"),
)
