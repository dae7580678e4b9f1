"""Blind faults of usage, log-probabilities and `created`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import is_greedy, messages_of
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest

UNLIKELY = -9999.0


def _entries(response: Json) -> Iterator[Json]:
    for choice in choices_of(response):
        scores = choice.get("logprobs")
        yield from (scores.get("content") or ()) if isinstance(scores, dict) else ()


def _empty(response: Json, request: ServedRequest) -> None:
    if not request.payload.get("top_logprobs"):
        for choice in choices_of(response):
            if isinstance(choice.get("logprobs"), dict):
                choice["logprobs"] = {"content": []}


def _certain(response: Json, request: ServedRequest) -> None:
    for entry in _entries(response) if is_greedy(request.payload) else ():
        entry["logprob"] = 0.0
        for alternative in (entry.get("top_logprobs") or ())[:1]:
            alternative["logprob"] = 0.0


def _unlikely(response: Json, _request: ServedRequest) -> None:
    for entry in _entries(response):
        for alternative in (entry.get("top_logprobs") or ())[1:]:
            alternative["logprob"] = UNLIKELY


def _add_up(usage: Json) -> None:
    usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]


def _count_chunks(chunk: Json, request: ServedRequest) -> None:
    said = [message_of(choice).get("content") for choice in choices_of(chunk)]
    request.state["chunks"] = request.state.get("chunks", 0) + sum(map(bool, said))
    if isinstance(chunk.get("usage"), dict):
        chunk["usage"]["completion_tokens"] = request.state["chunks"]
        _add_up(chunk["usage"])


def _estimate(chunk: Json, request: ServedRequest) -> None:
    if isinstance(chunk.get("usage"), dict):
        words = " ".join(str(message.get("content")) for message in messages_of(request.payload)).split()
        chunk["usage"]["prompt_tokens"] = max(1, len(words) * 4 // 3)
        _add_up(chunk["usage"])


def _zero(chunk: Json, request: ServedRequest) -> None:
    if isinstance(chunk.get("usage"), dict) and request.payload.get("tools"):
        chunk["usage"].update(prompt_tokens=0, completion_tokens=0, total_tokens=0)


def _count_one(answer: Json, _request: ServedRequest) -> None:
    if isinstance(answer.get("usage"), dict) and any(
        message_of(choice).get("tool_calls") for choice in choices_of(answer)
    ):
        answer["usage"]["completion_tokens"] = 1
        _add_up(answer["usage"])


def _lose_time(chunk: Json, _request: ServedRequest) -> None:
    if "created" in chunk and any(choice.get("finish_reason") for choice in choices_of(chunk)):
        chunk["created"] = 0


logprobs_empty_without_alternatives = hooked_fault(
    "logprobs-empty-without-alternatives",
    "Without top_logprobs the list of log-probabilities is empty.",
    answer=_empty,
    chunk=_empty,
    applies_to=has_parameters("top_logprobs"),
)
greedy_tokens_are_certain = hooked_fault(
    "greedy-tokens-are-certain",
    "At temperature 0 every chosen token has the log-probability 0.",
    answer=_certain,
    chunk=_certain,
    applies_to=has_parameters("logprobs"),
)
alternatives_unlikely = hooked_fault(
    "alternatives-unlikely",
    "All alternatives except the first have the log-probability -9999.",
    answer=_unlikely,
    chunk=_unlikely,
    applies_to=has_parameters("top_logprobs"),
)
streams_count_chunks = hooked_fault(
    "streams-count-chunks", "Streams count the chunks with text instead of the tokens.", chunk=_count_chunks
)
streams_estimate_the_prompt = hooked_fault(
    "streams-estimate-the-prompt",
    "Streams report an estimate of the prompt tokens, which is made from the number of words.",
    chunk=_estimate,
)
tools_zero_the_usage_of_streams = hooked_fault(
    "tools-zero-the-usage-of-streams",
    "The counts in the usage of streams are 0 if the request has tools.",
    chunk=_zero,
    applies_to=has_parameters("tools"),
)
calls_count_one_token = hooked_fault(
    "calls-count-one-token",
    "A plain answer with tool calls counts one token.",
    answer=_count_one,
    applies_to=has_parameters("tools"),
)
created_lost_at_the_end = hooked_fault(
    "created-lost-at-the-end", "The `created` of the last chunk is 0.", chunk=_lose_time
)
