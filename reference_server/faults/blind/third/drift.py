"""Blind faults that appear after a number of requests, or in every n-th answer."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import engine_fault, every, fail, messages_of, per_server
from reference_server.faults.blind.tool_recipes import calls_of
from reference_server.faults.decorators import has_parameters
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams
    from reference_server.faults.blind.recipes import EngineEdit
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest

IDS: Final = 50
FIRST_ID: Final = 10**18
STEP: Final = 7919
WARM: Final = 0.9


def _cycle_ids() -> Hooks:
    numbers = itertools.cycle(range(IDS))

    def change(response: Json, request: ServedRequest) -> None:
        if isinstance(response.get("id"), str) and "request_id" not in request.payload:
            if "number" not in request.state:
                request.state["number"] = FIRST_ID + STEP * next(numbers)
            response["id"] = f"{request.contract.answer.id_prefix}{request.state['number']}"

    return Hooks(answer=change, chunk=change)


def _waver() -> EngineEdit:
    is_due = every(4, after=40)

    def edit(prompt: list[int], params: SamplingParams) -> tuple[list[int], SamplingParams]:
        if params.temperature == 0 and not params.beam_search and is_due():
            params = replace(params, temperature=WARM)
        return prompt, params

    return edit


def _lose_arguments() -> Hooks:
    is_due = every(3)

    def change(chunk: Json, request: ServedRequest) -> None:
        for call in calls_of(chunk):
            if "due" not in request.state:
                request.state["due"] = is_due()
            if request.state["due"] and "arguments" in call:
                call["arguments"] = ""

    return Hooks(chunk=change)


def _miscount() -> Hooks:
    is_due = every(5)

    def change(chunk: Json, request: ServedRequest) -> None:
        usage = chunk.get("usage")
        if isinstance(usage, dict):
            if "due" not in request.state:
                request.state["due"] = is_due()
            if request.state["due"] and usage["completion_tokens"] > 1:
                usage["completion_tokens"] -= 1
                usage["total_tokens"] -= 1

    return Hooks(chunk=change)


def _fail_for_calls() -> Hooks:
    is_due = every(6)

    def answer(request: ServedRequest) -> CannedResponse | None:
        called = any(message.get("tool_calls") for message in messages_of(request.payload))
        return fail(request) if called and is_due() else None

    return Hooks(request=answer)


ids_repeat_after_fifty = per_server(
    "ids-repeat-after-fifty",
    "Only 50 different ids exist, so that every 51st answer has the id of an earlier one.",
    _cycle_ids,
    applies_to=lambda contract: contract.answer.id_prefix is not None,
)
greedy_wavers_later = engine_fault(
    "greedy-wavers-later", "After 40 greedy answers, every fourth one is sampled at a temperature of 0.9.", _waver
)
arguments_lost_now_and_then = per_server(
    "arguments-lost-now-and-then",
    "Every third stream with tool calls lacks their arguments.",
    _lose_arguments,
    applies_to=has_parameters("tools"),
)
streams_miscounted_now_and_then = per_server(
    "streams-miscounted-now-and-then", "Every fifth stream with usage counts one token too few.", _miscount
)
past_calls_fail_now_and_then = per_server(
    "past-calls-fail-now-and-then",
    "Every sixth conversation with earlier tool calls gets a 500.",
    _fail_for_calls,
    applies_to=has_parameters("tools"),
)
