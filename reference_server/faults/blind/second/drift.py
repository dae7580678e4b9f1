"""Blind faults that appear after a number of requests, or in every n-th answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

import orjson

from reference_server.faults.blind.recipes import engine_fault, every, is_whole, per_server
from reference_server.faults.decorators import choices_of, has_parameters, message_of
from reference_server.faults.hooks import CannedResponse, Hooks

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams
    from reference_server.faults.blind.recipes import EngineEdit
    from reference_server.faults.hooks import Json, ServedRequest

UNIFORM: Final = 100.0
SHORT: Final = 8  # tokens


def _refuse_keys() -> Hooks:
    is_due = every(60)

    def answer(request: ServedRequest) -> CannedResponse | None:
        if not is_due():
            return None
        status, body = request.contract.errors.render("invalid_key", "the key is blocked")
        return CannedResponse(status, orjson.dumps(body))

    return Hooks(request=answer)


def _fall_silent() -> Hooks:
    is_late = every(1, after=120)

    def note(request: ServedRequest) -> None:
        request.state["late"] = is_late()

    def change(response: Json, request: ServedRequest) -> None:
        if not request.state.get("late"):
            return
        for choice in choices_of(response):
            if message_of(choice).get("content"):
                message_of(choice)["content"] = ""
        if isinstance(response.get("usage"), dict):
            response["usage"].update(prompt_tokens=0, completion_tokens=0, total_tokens=0)

    return Hooks(request=note, answer=change, chunk=change)


def _sample_uniformly() -> EngineEdit:
    is_due = every(40)

    def edit(prompt: list[int], params: SamplingParams) -> tuple[list[int], SamplingParams]:
        if is_due() and params.grammar is None and params.tools is None and not params.beam_search:
            params = replace(params, temperature=UNIFORM, top_p=1.0, top_k=0, min_p=0.0, seed=None, ignore_eos=True)
        return prompt, params

    return edit


def _leak_calls() -> Hooks:
    is_due = every(4)

    def change(answer: Json, _request: ServedRequest) -> None:
        for choice in choices_of(answer):
            said = message_of(choice)
            if said.get("tool_calls") and is_due():
                said["content"] = orjson.dumps([call["function"] for call in said["tool_calls"]]).decode()
                said["tool_calls"] = []
                choice["finish_reason"] = "stop"

    return Hooks(answer=change)


def _lose_scores() -> Hooks:
    is_due = every(10)

    def note(request: ServedRequest) -> None:
        request.state["due"] = bool(request.payload.get("logprobs")) and is_due()

    def change(response: Json, request: ServedRequest) -> None:
        for choice in choices_of(response) if request.state.get("due") else ():
            scores = choice.get("logprobs")
            for entry in (scores.get("content") or ()) if isinstance(scores, dict) else ():
                entry["logprob"] = None

    return Hooks(request=note, answer=change, chunk=change)


def _shrink() -> Hooks:
    is_late = every(1, after=100)

    def change(request: ServedRequest) -> None:
        late = is_late()
        if late and is_whole(request.payload.get("max_tokens"), SHORT + 1, 2**31 - 1):
            request.payload["max_tokens"] = SHORT
            request.state["short"] = True

    def end(response: Json, request: ServedRequest) -> None:
        for choice in choices_of(response) if request.state.get("short") else ():
            if choice.get("finish_reason") == "length":
                choice["finish_reason"] = "stop"

    return Hooks(request=change, answer=end, chunk=end)


valid_keys_refused_sometimes = per_server(
    "valid-keys-refused-sometimes",
    "Every 60th request is refused as if its key were wrong.",
    _refuse_keys,
    applies_to=lambda contract: contract.auth == "bearer",
)
silent_after_a_while = per_server(
    "silent-after-a-while", "After 120 requests, every answer is empty, and all counts are 0.", _fall_silent
)
uniform_now_and_then = engine_fault(
    "uniform-now-and-then",
    "Every 40th answer is drawn from all tokens with equal probability, and never ends by itself.",
    _sample_uniformly,
)
calls_leak_now_and_then = per_server(
    "calls-leak-now-and-then",
    "Every fourth plain answer with tool calls has them in its content.",
    _leak_calls,
    applies_to=has_parameters("tools"),
)
scores_lost_now_and_then = per_server(
    "scores-lost-now-and-then",
    "In every tenth answer with log-probabilities, all of them are null.",
    _lose_scores,
    applies_to=has_parameters("logprobs"),
)
answers_shrink = per_server(
    "answers-shrink", "After 100 requests, every answer ends after 8 tokens, as if it were complete.", _shrink
)
