"""Blind faults of usage, log-probabilities and stop reasons."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import is_whole
from reference_server.faults.blind.thought_recipes import thoughts_of
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

GREATEST: Final = 2**31 - 1
END: Final = 151_643
LEAST: Final = -9999.0


def _reduce(response: Json, tokens: int) -> None:
    usage = response.get("usage")
    if isinstance(usage, dict) and tokens:
        usage["completion_tokens"] -= tokens
        usage["total_tokens"] -= tokens


def _lose_last(response: Json, request: ServedRequest) -> None:
    for choice in choices_of(response):
        if choice.get("finish_reason") == "length":
            request.state["cut"] = True
    _reduce(response, int(request.state.get("cut", False)))


def _lose_thoughts(chunk: Json, request: ServedRequest) -> None:
    for choice in choices_of(chunk):
        if thoughts_of(message_of(choice)):
            request.state["thoughts"] = request.state.get("thoughts", 0) + 1
    _reduce(chunk, request.state.get("thoughts", 0))


def _divide(chunk: Json, request: ServedRequest) -> None:
    usage, number = chunk.get("usage"), request.payload.get("n")
    if isinstance(usage, dict) and is_whole(number, 2, GREATEST):
        _reduce(chunk, usage["completion_tokens"] - usage["completion_tokens"] // number)


def _entries(response: Json) -> Iterator[Json]:
    for choice in choices_of(response):
        scores = choice.get("logprobs")
        yield from (scores.get("content") or ()) if isinstance(scores, dict) else ()


def _normalise(response: Json, _request: ServedRequest) -> None:
    for entry in _entries(response):
        top: list[dict[str, Any]] = entry.get("top_logprobs") or []
        total = sum(math.exp(token["logprob"]) for token in top)
        for token in (entry, *top) if len(top) > 1 and total > 0 else ():
            token["logprob"] = max(LEAST, min(0.0, token["logprob"] - math.log(total)))


def _tell_end(response: Json, _request: ServedRequest) -> None:
    for choice in choices_of(response):
        if choice.get("finish_reason") == "stop" and choice.get("stop_reason", END) is None:
            choice["stop_reason"] = END


def _tells_stops(contract: Contract) -> bool:
    return "stop_reason" in contract.answer.choice


cut_answers_count_one_less = hooked_fault(
    "cut-answers-count-one-less",
    "The usage of an answer that max_tokens cuts lacks its last token.",
    answer=_lose_last,
    chunk=_lose_last,
)
streamed_thoughts_uncounted = hooked_fault(
    "streamed-thoughts-uncounted",
    "The usage of a stream lacks the tokens of its reasoning.",
    chunk=_lose_thoughts,
    applies_to=has_parameters("chat_template_kwargs"),
)
one_choice_counted_in_streams = hooked_fault(
    "one-choice-counted-in-streams",
    "The usage of a stream with several choices counts about one of them.",
    chunk=_divide,
    applies_to=allows(n=2, temperature=1.0, stream=True, stream_options={"include_usage": True}),
)
shown_scores_add_up = hooked_fault(
    "shown-scores-add-up",
    "With top_logprobs above 1, the probabilities of the listed tokens are scaled so that they add up to 1.",
    answer=_normalise,
    chunk=_normalise,
    applies_to=has_parameters("top_logprobs"),
)
ends_told_as_stop_tokens = hooked_fault(
    "ends-told-as-stop-tokens",
    "The stop_reason of an answer that ends on its own is the id of a token.",
    answer=_tell_end,
    chunk=_tell_end,
    applies_to=_tells_stops,
)
