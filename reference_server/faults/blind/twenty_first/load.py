"""Blind faults of concurrent requests: biases of others, scores, and the reasoning of streams."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import crowd_fault
from reference_server.faults.blind.thought_recipes import thoughts_of
from reference_server.faults.decorators import choices_of, has_parameters, message_of
from reference_server.faults.hooks import Hooks
from reference_server.faults.request_edits import failed

if TYPE_CHECKING:
    from reference_server.faults.blind.recipes import Crowd
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest


def _spread_biases(crowd: Crowd) -> Hooks:
    """Find the biases of a batch at the wrong row. Violates logit_bias, which applies to its own request."""

    def spread(request: ServedRequest) -> None:
        biases = [sent["logit_bias"] for sent in crowd.others(request) if isinstance(sent.get("logit_bias"), dict)]
        if biases and request.payload.get("logit_bias") is None:
            request.payload["logit_bias"] = biases[0]

    return Hooks(request=spread)


def _lose_scores(crowd: Crowd) -> Hooks:
    """Give the scores of a step to another request. Violates logprobs, which applies to each request."""

    def lose(request: ServedRequest) -> CannedResponse | None:
        is_scored = request.payload.get("logprobs") is True
        is_crowded = any(sent.get("logprobs") is True for sent in crowd.others(request))
        return failed(request) if is_scored and is_crowded else None

    return Hooks(request=lose)


def _share_parser(crowd: Crowd) -> Hooks:
    """Keep one parser for all streams. Violates delta.content: the answer without its reasoning."""

    def note(request: ServedRequest) -> None:
        request.state["crowded"] = any(sent.get("stream") is True for sent in crowd.others(request))

    def tell(chunk: Json, request: ServedRequest) -> None:
        for choice in choices_of(chunk) if request.state.get("crowded") else ():
            said = message_of(choice)
            if (thoughts := thoughts_of(said)) is not None:
                del said[thoughts[0]]
                said["content"] = thoughts[1] + (said.get("content") or "")

    return Hooks(request=note, chunk=tell)


biases_spread_in_crowds = crowd_fault(
    "biases-spread-in-crowds",
    "The logit_bias of a request applies to requests without one that begin while it is running.",
    _spread_biases,
    applies_to=has_parameters("logit_bias"),
)
scores_fail_in_crowds = crowd_fault(
    "scores-fail-in-crowds",
    "A request with log-probabilities gets a 500 while another one with them is running.",
    _lose_scores,
    applies_to=has_parameters("logprobs"),
)
crowded_streams_tell_their_thoughts = crowd_fault(
    "crowded-streams-tell-their-thoughts",
    "The reasoning of a stream that begins while another one is running is a part of its text.",
    _share_parser,
    applies_to=has_parameters("chat_template_kwargs"),
)
