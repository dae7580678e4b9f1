"""Blind faults that appear after a number of requests, or in every n-th answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import Silence, engine_fault, every, fail, garble, per_server
from reference_server.faults.decorators import choices_of, message_of
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.engine import SamplingParams
    from reference_server.faults.blind.recipes import EngineEdit
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest

LONG_PROMPT = 48  # tokens


def _garble_later() -> Hooks:
    is_late = every(1, after=150)

    def change(request: ServedRequest) -> None:
        if is_late():
            garble(request)

    return Hooks(request=change)


def _lose_reasons() -> Hooks:
    is_due = every(10)

    def note(request: ServedRequest) -> None:
        request.state["due"] = request.payload.get("stream") is True and is_due()

    def change(chunk: Json, request: ServedRequest) -> None:
        if request.state.get("due"):
            for choice in choices_of(chunk):
                choice["finish_reason"] = None

    return Hooks(request=note, chunk=change)


def _stall() -> Hooks:
    is_due = every(40, after=100)
    return Hooks(request=lambda _request: Silence() if is_due() else None)


def _fail_later() -> Hooks:
    is_due = every(9, after=200)

    def answer(request: ServedRequest) -> CannedResponse | None:
        return fail(request) if is_due() else None

    return Hooks(request=answer)


def _exclaim() -> Hooks:
    is_due = every(31)

    def note(request: ServedRequest) -> None:
        request.state["due"] = is_due() and not request.payload.get("logprobs")

    def change(response: Json, request: ServedRequest) -> None:
        for choice in choices_of(response) if request.state.get("due") else ():
            said = message_of(choice)
            if isinstance(said.get("content"), str):
                said["content"] = "!" * len(said["content"])

    return Hooks(request=note, answer=change, chunk=change)


def _loop_later() -> EngineEdit:
    is_late = every(1, after=100)

    def edit(prompt: list[int], params: SamplingParams) -> tuple[list[int], SamplingParams]:
        if is_late() and len(prompt) > LONG_PROMPT:
            params = replace(params, repetition_penalty=0.2)
        return prompt, params

    return edit


def _lose_details() -> Hooks:
    is_due = every(5)

    def note(request: ServedRequest) -> None:
        request.state["due"] = request.payload.get("stream") is True and is_due()

    def change(chunk: Json, request: ServedRequest) -> None:
        if request.state.get("due") and isinstance(chunk.get("usage"), dict):
            chunk["usage"].pop("prompt_tokens_details", None)

    return Hooks(request=note, chunk=change)


def _reports_cached_tokens(contract: Contract) -> bool:
    return contract.answer.cached_tokens


garbled_after_a_while = per_server(
    "garbled-after-a-while", "After 150 requests, every answer is sampled at the highest temperature.", _garble_later
)
stream_reasons_flicker = per_server("stream-reasons-flicker", "Every tenth stream has no finish_reason.", _lose_reasons)
stalls_after_a_hundred = per_server(
    "stalls-after-a-hundred", "After 100 requests, every fortieth request is never answered.", _stall
)
fails_after_two_hundred = per_server(
    "fails-after-two-hundred", "After 200 requests, every ninth request gets a 500.", _fail_later
)
exclaims_now_and_then = per_server(
    "exclaims-now-and-then", "Every 31st answer consists of exclamation marks.", _exclaim
)
long_prompts_loop_later = engine_fault(
    "long-prompts-loop-later", "After 100 requests, the answers to longer prompts repeat themselves.", _loop_later
)
cached_tokens_flicker = per_server(
    "cached-tokens-flicker",
    "Every fifth stream has no prompt_tokens_details in its usage.",
    _lose_details,
    applies_to=_reports_cached_tokens,
)
