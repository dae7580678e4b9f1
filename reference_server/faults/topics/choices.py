"""Faults in the number of choices, or in how choices differ."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.faults.decorators import (
    fault,
    has_parameters,
    hooked_fault,
    message_of,
    sampling_fault,
    variation,
    wrapping_fault,
)
from reference_server.faults.fault_middleware import FaultMiddleware
from reference_server.faults.hooks import Hooks
from reference_server.faults.topics.effects.beside import lost_beside

if TYPE_CHECKING:
    from collections.abc import Iterator

    from starlette.types import ASGIApp

    from openapi.contract.contract import Contract
    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest

ONE = ("n",)


def several(request: ServedRequest) -> bool:
    return (request.payload.get("n") or 1) > 1


def _second(response: Json, _request: ServedRequest) -> None:
    if len(response["choices"]) == 1:
        response["choices"].append({**response["choices"][0], "index": 1})


def _ignore_n(request: ServedRequest) -> None:
    request.payload.pop("n", None)
    request.payload.pop("best_of", None)


def _one_too_few(response: Json, request: ServedRequest) -> None:
    if several(request) and len(response["choices"]) > 1:
        response["choices"].pop()


def _alike(response: Json, request: ServedRequest) -> None:
    if several(request):
        first = response["choices"][0]
        response["choices"] = [{**first, "index": at} for at in range(len(response["choices"]))]


second_choice_unasked = hooked_fault(
    "second-choice-unasked", "Two choices are returned if one is requested.", answer=_second, chunk=_second
)
n_ignored = hooked_fault(
    "n-ignored",
    "`n` is ignored: one choice is returned.",
    request=_ignore_n,
    bugs=[49],
    applies_to=has_parameters(*ONE),
)
one_choice_too_few = hooked_fault(
    "one-choice-too-few",
    "One choice fewer than `n` is returned.",
    answer=_one_too_few,
    applies_to=has_parameters(*ONE),
    bugs=[49],
)
choices_alike = hooked_fault(
    "choices-alike", "All choices are copies of the first.", answer=_alike, applies_to=has_parameters(*ONE), bugs=[48]
)


def _last_like_first(response: Json, request: ServedRequest) -> None:
    if several(request):
        first, last = response["choices"][0], response["choices"][-1]
        last["message"] = first["message"]
        last["finish_reason"] = first["finish_reason"]


def _sort_by_length(response: Json, request: ServedRequest) -> None:
    if several(request):
        ordered = sorted(response["choices"], key=lambda choice: -len(message_of(choice).get("content") or ""))
        response["choices"] = [{**choice, "index": at} for at, choice in enumerate(ordered)]


last_choice_repeats_the_first = hooked_fault(
    "last-choice-repeats-the-first",
    "The last of several choices is drawn like the first.",
    answer=_last_like_first,
    applies_to=has_parameters(*ONE),
    bugs=[167],
)
choices_sorted = variation(
    "choices-sorted",
    "Choices of unseeded plain answers are sorted, the longest first.",
    answer=lambda response, request: None if "seed" in request.payload else _sort_by_length(response, request),
    applies_to=has_parameters(*ONE),
)


def _second_silent(response: Json, _request: ServedRequest) -> None:
    for choice in response["choices"]:
        if choice["index"] == 1:
            message_of(choice)["content"] = ""


def _second_endless(response: Json, _request: ServedRequest) -> None:
    for choice in response["choices"]:
        if choice["index"] == 1:
            choice["finish_reason"] = None


second_choice_silent = hooked_fault(
    "second-choice-silent",
    "The second choice is empty.",
    answer=_second_silent,
    chunk=_second_silent,
    applies_to=has_parameters(*ONE),
)
second_choice_endless = hooked_fault(
    "second-choice-endless",
    "The second choice has no finish_reason.",
    answer=_second_endless,
    chunk=_second_endless,
    applies_to=has_parameters(*ONE),
    bugs=[42],
)


def _others_lose_their_first(chunk: Json, request: ServedRequest) -> None:
    for choice in chunk["choices"]:
        index, lost = choice["index"], request.state.setdefault("lost", set())
        if index > 0 and choice["delta"].get("content") and index not in lost:
            lost.add(index)
            choice["delta"]["content"] = ""


other_choices_begin_late = hooked_fault(
    "other-choices-begin-late",
    "Streams lose the first text of every choice except the first.",
    chunk=_others_lose_their_first,
    applies_to=has_parameters(*ONE),
)


@fault("last-choice-chunk-lost", "event", bugs=[42])
def last_choice_chunk_lost(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """The chunk with the finish_reason is lost."""
    if b'"finish_reason":"' not in frame:
        yield frame


@sampling_fault("choices-share-a-seed", bugs=[48], applies_to=has_parameters("n"))
def best_of_ignored(params: SamplingParams) -> SamplingParams:
    """Several choices are sampled greedily and are all the same."""
    return replace(params, temperature=0.0, beam_search=False, best_of=None) if params.n > 1 else params


def _returns_the_best(contract: Contract) -> bool:
    """Apply to dialects that return `n` of `best_of` choices."""
    return "best_of" in contract.parameters and contract.answer.best_of != "all"


@sampling_fault("all-of-best-of", applies_to=_returns_the_best)
def all_of_best_of(params: SamplingParams) -> SamplingParams:
    """All `best_of` choices are returned."""
    return replace(params, n=params.width)


@wrapping_fault("beams-wander", applies_to=has_parameters("use_beam_search"), bugs=[106])
def beams_wander(app: ASGIApp, contract: Contract) -> ASGIApp:
    """The same beam search gives a different answer each time."""
    asked = itertools.count(1)

    def change(answer: Json, request: ServedRequest) -> None:
        if request.payload.get("use_beam_search"):
            number = next(asked)
            for choice in answer["choices"]:
                choice["message"]["content"] = f"{choice['message']['content']} {number}"

    return FaultMiddleware(app, contract, Hooks(answer=change))


def _beams_alike(answer: Json, request: ServedRequest) -> None:
    if request.payload.get("use_beam_search"):
        first = answer["choices"][0]["message"]
        for choice in answer["choices"]:
            choice["message"] = first


beams_alike = hooked_fault(
    "beams-alike",
    "All beams are the same.",
    answer=_beams_alike,
    applies_to=has_parameters("use_beam_search"),
    bugs=[48],
)

beams_lost = lost_beside(
    "beam-search-lost-beside-logprobs",
    "use_beam_search",
    "logprobs",
    "`use_beam_search` is ignored if log-probabilities are asked for.",
)
