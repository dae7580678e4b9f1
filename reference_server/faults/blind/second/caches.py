"""Blind faults of caches: keys that lack a part of the request, and hits that differ from misses."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.faults.blind.answer_cache import answer_cache, cached_without, key_of
from reference_server.faults.blind.recipes import engine_fault, fail, is_greedy, messages_of, per_server
from reference_server.faults.decorators import choices_of, has_parameters, message_of
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams
    from reference_server.faults.blind.recipes import EngineEdit
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest

THOUGHTS: Final = ("reasoning_content", "reasoning")
BLOCK: Final = 16  # tokens
LOOP: Final = 0.2


def _last_question(sent: Json) -> bytes:
    messages = messages_of(sent)
    last: Any = messages[-1] if messages else None
    return orjson.dumps([key_of(sent, "messages").decode(), last], option=orjson.OPT_SORT_KEYS)


def _counts_nothing() -> Hooks:
    seen: set[bytes] = set()

    def note(request: ServedRequest) -> None:
        key = orjson.dumps(request.payload.get("messages"), option=orjson.OPT_SORT_KEYS)
        request.state["hit"] = key in seen
        seen.add(key)

    def change(response: Json, request: ServedRequest) -> None:
        usage = response.get("usage")
        if isinstance(usage, dict) and request.state.get("hit"):
            usage.update(prompt_tokens=0, total_tokens=usage["completion_tokens"])
            if isinstance(usage.get("prompt_tokens_details"), dict):
                usage["prompt_tokens_details"]["cached_tokens"] = 0

    return Hooks(request=note, answer=change, chunk=change)


def _loses_thoughts() -> Hooks:
    seen: set[bytes] = set()

    def note(request: ServedRequest) -> None:
        key = key_of(request.payload)
        request.state["hit"] = key in seen
        seen.add(key)

    def change(response: Json, request: ServedRequest) -> None:
        for choice in choices_of(response) if request.state.get("hit") else ():
            for name in THOUGHTS:
                if message_of(choice).get(name):
                    message_of(choice)[name] = None if "message" in choice else ""

    return Hooks(request=note, answer=change, chunk=change)


def _fails_for_scores() -> Hooks:
    seen: set[bytes] = set()

    def look_up(request: ServedRequest) -> CannedResponse | None:
        key = orjson.dumps(request.payload.get("messages"), option=orjson.OPT_SORT_KEYS)
        hit = key in seen and request.payload.get("prompt_logprobs") is not None
        seen.add(key)
        return fail(request) if hit else None

    return Hooks(request=look_up)


def _corrupts_blocks() -> EngineEdit:
    seen: set[tuple[int, ...]] = set()

    def edit(prompt: list[int], params: SamplingParams) -> tuple[list[int], SamplingParams]:
        blocks = len(prompt) // BLOCK
        hit = blocks > 1 and tuple(prompt[: BLOCK * 2]) in seen
        seen.add(tuple(prompt[: BLOCK * 2]))
        return prompt, (replace(params, repetition_penalty=LOOP) if hit else params)

    return edit


cached_whatever_the_history = answer_cache(
    "cached-whatever-the-history",
    "Greedy answers are cached, and of the messages only the last is part of the key.",
    _last_question,
    is_greedy,
)
cached_whatever_the_instructions = answer_cache(
    "cached-whatever-the-instructions",
    "Greedy answers are cached, and the key of the cache lacks the system message.",
    lambda sent: orjson.dumps(
        [
            key_of(sent, "messages").decode(),
            [message for message in messages_of(sent) if message.get("role") != "system"],
        ]
    ),
    is_greedy,
)
cached_whatever_the_tools = answer_cache(
    "cached-whatever-the-tools",
    "Greedy answers are cached, and the key of the cache lacks the tools.",
    lambda sent: key_of(sent, "tools", "tool_choice", "parallel_tool_calls"),
    is_greedy,
    applies_to=has_parameters("tools"),
)
cached_whatever_the_form = cached_without(
    "cached-whatever-the-form",
    "Greedy answers are cached, and the key of the cache lacks response_format.",
    "response_format",
    is_greedy,
    applies_to=has_parameters("response_format"),
)
cached_whatever_the_effort = answer_cache(
    "cached-whatever-the-effort",
    "Greedy answers are cached, and the key of the cache lacks what controls the reasoning.",
    lambda sent: key_of(sent, "reasoning_effort", "chat_template_kwargs", "thinking_token_budget"),
    is_greedy,
    applies_to=has_parameters("chat_template_kwargs"),
)
cached_prompts_uncounted = per_server(
    "cached-prompts-uncounted", "The usage of a repeated prompt reports 0 prompt tokens.", _counts_nothing
)
thoughts_lost_on_hits = per_server(
    "thoughts-lost-on-hits",
    "If a request is repeated, the answer lacks its reasoning.",
    _loses_thoughts,
    applies_to=has_parameters("chat_template_kwargs"),
)
scores_of_cached_prompts_fail = per_server(
    "scores-of-cached-prompts-fail",
    "A request for the log-probabilities of a prompt that is in the cache gets a 500.",
    _fails_for_scores,
    applies_to=has_parameters("prompt_logprobs"),
)
shared_beginnings_corrupt = engine_fault(
    "shared-beginnings-corrupt",
    "The answer to a prompt whose first 32 tokens are in the cache repeats itself.",
    _corrupts_blocks,
)
