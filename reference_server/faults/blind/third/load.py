"""Blind faults that depend on other requests that are running."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import (
    Crowd,
    crowd_fault,
    fail,
    is_greedy,
    is_number,
    text_length,
)
from reference_server.faults.decorators import choices_of, has_parameters, message_of
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest

WARM: Final = 1.2
MANY: Final = 6
LATE: Final = 3  # pieces of text
GREATEST_PENALTY: Final = 2.0
PENALTIES: Final = ("presence_penalty", "frequency_penalty")


def _greedy_lost(crowd: Crowd) -> Hooks:
    def change(request: ServedRequest) -> None:
        if is_greedy(request.payload) and not all(map(is_greedy, crowd.others(request))):
            request.payload["temperature"] = WARM

    return Hooks(request=change)


def _penalties_grow(crowd: Crowd) -> Hooks:
    def change(request: ServedRequest) -> None:
        own = text_length(request.payload)
        padded = any(text_length(other) > own for other in crowd.others(request))
        for name in PENALTIES if padded else ():
            if is_number(request.payload.get(name), 0.01, GREATEST_PENALTY):
                request.payload[name] = GREATEST_PENALTY

    return Hooks(request=change)


def _start_over(crowd: Crowd) -> Hooks:
    def note(request: ServedRequest) -> None:
        request.state["preempted"] = crowd.size > MANY and not request.payload.get("tools")

    def change(chunk: Json, request: ServedRequest) -> None:
        for choice in choices_of(chunk) if request.state.get("preempted") else ():
            said = message_of(choice)
            pieces: list[str] = request.state.setdefault("pieces", [])
            if said.get("content") and choice.get("index") == 0:
                pieces.append(said["content"])
                if len(pieces) == LATE:
                    said["content"] += "".join(pieces)

    return Hooks(request=note, chunk=change)


def _streams_crossed(crowd: Crowd) -> Hooks:
    latest: dict[int, str] = {}
    keys = itertools.count()

    def note(request: ServedRequest) -> None:
        request.state.update(own=next(keys), beside=crowd.size > 1, sent=0)

    def change(chunk: Json, request: ServedRequest) -> None:
        for choice in choices_of(chunk) if request.state.get("beside") else ():
            said = message_of(choice)
            if said.get("content"):
                request.state["sent"] += 1
                others = [text for key, text in latest.items() if key != request.state["own"]]
                latest[request.state["own"]] = said["content"]
                if others and request.state["sent"] == LATE:
                    said["content"] = others[-1]

    return Hooks(request=note, chunk=change)


def _scores_fail(crowd: Crowd) -> Hooks:
    def answer(request: ServedRequest) -> CannedResponse | None:
        mixed = any(not other.get("logprobs") for other in crowd.others(request))
        return fail(request) if mixed and request.payload.get("logprobs") is True else None

    return Hooks(request=answer)


def _samples_fail(crowd: Crowd) -> Hooks:
    def answer(request: ServedRequest) -> CannedResponse | None:
        others = crowd.others(request)
        samples = is_number(request.payload.get("temperature"), 0.01, 2)
        return fail(request) if samples and others and all(map(is_greedy, others)) else None

    return Hooks(request=answer)


greedy_lost_beside_samples = crowd_fault(
    "greedy-lost-beside-samples",
    "While a sampled request is running, temperature 0 is treated as 1.2.",
    _greedy_lost,
)
penalties_grow_beside_others = crowd_fault(
    "penalties-grow-beside-others",
    "While a request with a longer prompt is running, penalties also count its padding, and are as strong as possible.",
    _penalties_grow,
)
preempted_answers_start_over = crowd_fault(
    "preempted-answers-start-over",
    "While more than 6 requests are running, streams repeat their beginning after the third piece of text.",
    _start_over,
)
streams_crossed = crowd_fault(
    "streams-crossed",
    "While several requests are running, the third piece of text of a stream is one of another stream.",
    _streams_crossed,
)
scores_fail_beside_others = crowd_fault(
    "scores-fail-beside-others",
    "A request with logprobs gets a 500 while a request without them is running.",
    _scores_fail,
    applies_to=has_parameters("logprobs"),
)
samples_fail_beside_greedy = crowd_fault(
    "samples-fail-beside-greedy",
    "A sampled request gets a 500 if all other running requests are greedy.",
    _samples_fail,
)
