"""Blind faults of long prompts and long histories."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from openapi.stream import sse
from reference_server.faults.blind.recipes import engine_fault, messages_of, text_length, when
from reference_server.faults.decorators import choices_of, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

    Edited = tuple[list[int], SamplingParams]

CHUNK: Final = 512  # tokens
NOISY: Final = 600
WINDOW: Final = 1_024
SILENT_CHARACTERS: Final = 2_500
TURNS: Final = 8
COUNTED: Final = 256
TOO_LONG: Final = "fit: shorten it"
"""Part of the message with which the server refuses a prompt that is too long."""


def _noise(prompt: list[int], params: SamplingParams) -> Edited:
    if len(prompt) > NOISY:
        params = replace(params, temperature=2.5, top_p=1.0, top_k=0, seed=None, beam_search=False)
    return prompt, params


def _forget(prompt: list[int], params: SamplingParams) -> Edited:
    return (prompt if len(prompt) <= CHUNK else prompt[-(len(prompt) % CHUNK or CHUNK) :]), params


def _halve(prompt: list[int], params: SamplingParams) -> Edited:
    return (prompt if len(prompt) <= WINDOW else prompt[-WINDOW // 2 :]), params


def _silence(response: Json, request: ServedRequest) -> None:
    if text_length(request.payload) > SILENT_CHARACTERS:
        for choice in choices_of(response):
            if message_of(choice).get("content"):
                message_of(choice)["content"] = ""


def _drop_middle(request: ServedRequest) -> None:
    messages = messages_of(request.payload)
    first = messages[:1] if messages[0].get("role") == "system" else []
    last = messages[-6:]
    while last and last[0].get("role") != "user":
        del last[0]
    if last:
        request.payload["messages"] = [*first, *last]


def _cap_count(response: Json, _request: ServedRequest) -> None:
    usage = response.get("usage")
    if isinstance(usage, dict) and usage["prompt_tokens"] > COUNTED:
        usage["prompt_tokens"] = COUNTED
        usage["total_tokens"] = COUNTED + usage["completion_tokens"]


def _as_event(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    if request.payload.get("stream") is True and TOO_LONG in str(body):
        head.status = 200
        head.headers["content-type"] = sse.MEDIA_TYPE
        return sse.encode(orjson.dumps(body))
    return body


def _as_answer(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    if request.payload.get("stream") is not True and TOO_LONG in str(body):
        head.status = 200
    return body


long_prompts_are_noise = engine_fault(
    "long-prompts-are-noise", "The answers to prompts of more than 600 tokens are noise.", lambda: _noise
)
first_chunks_forgotten = engine_fault(
    "first-chunks-forgotten",
    "Of a prompt of more than 512 tokens only the last chunk is read, although all tokens are counted.",
    lambda: _forget,
    counts_original=True,
)
window_halved = engine_fault(
    "window-halved", "A prompt of more than 1,024 tokens is truncated to its last 512.", lambda: _halve
)
long_prompts_are_silent = hooked_fault(
    "long-prompts-are-silent",
    "The answer to a prompt of more than 2,500 characters is empty.",
    answer=_silence,
    chunk=_silence,
)
middle_turns_dropped = when(
    "middle-turns-dropped",
    "Of a history of more than eight messages the server reads the system message and the last six.",
    lambda sent: len(messages_of(sent)) > TURNS,
    _drop_middle,
)
prompt_count_capped = hooked_fault(
    "prompt-count-capped", "Usage reports at most 256 prompt tokens.", answer=_cap_count, chunk=_cap_count
)
long_streams_refused_in_events = hooked_fault(
    "long-streams-refused-in-events",
    "A stream whose prompt is too long gets status 200 and an event with the error.",
    refusal=_as_event,
)
long_prompts_refused_with_200 = hooked_fault(
    "long-prompts-refused-with-200",
    "A plain request whose prompt is too long is refused with status 200.",
    refusal=_as_answer,
)
