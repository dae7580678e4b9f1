"""Faults in the token counts of usage."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reference_server.faults.decorators import (
    envelope_fault,
    fault,
    has_parameters,
    hooked_fault,
    requires_check,
    sampling_fault,
    wrapping_fault,
)
from reference_server.faults.fault_middleware import FaultMiddleware
from reference_server.faults.hooks import Hooks
from reference_server.faults.topics.reasoning import MEMBERS, thinks

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp

    from openapi.contract.contract import Contract
    from reference_server.engine import SamplingParams
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest

LONG_PROMPT = 500
COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")


def _uncounted(answer: Json, _request: ServedRequest) -> None:
    if any(any(choice["message"].get(name) for name in MEMBERS) for choice in answer["choices"]):
        answer["usage"]["completion_tokens"] = 1
        answer["usage"]["total_tokens"] = answer["usage"]["prompt_tokens"] + 1


thoughts_uncounted = hooked_fault(
    "thoughts-uncounted", "Reasoning tokens are not counted.", answer=_uncounted, applies_to=thinks
)


@sampling_fault("limit-ignored", bugs=[128])
def limit_ignored(params: SamplingParams) -> SamplingParams:
    """`max_tokens` is replaced by a limit three times as high."""
    return replace(params, max_tokens=None if params.max_tokens is None else 3 * params.max_tokens + 8)


@sampling_fault("limit-off-by-one", bugs=[71])
def limit_off_by_one(params: SamplingParams) -> SamplingParams:
    """One token more than max_tokens is generated."""
    return replace(params, max_tokens=None if params.max_tokens is None else params.max_tokens + 1)


def counted(
    name: str,
    edit: Callable[[Json], object],
    line: str,
    *,
    plain: bool = True,
    streamed: bool = True,
    **options: Any,
) -> Fault:
    """Make a fault that edits usage in answers and chunks."""

    def change(response: Json, _request: ServedRequest) -> None:
        if isinstance(response.get("usage"), dict):
            edit(response["usage"])

    return envelope_fault(name, change, line, plain=plain, streamed=streamed, **options)


def _add(usage: Json, prompt: int = 0, completion: int = 0) -> None:
    usage["prompt_tokens"] += prompt
    usage["completion_tokens"] += completion
    usage["total_tokens"] += prompt + completion


def _to(usage: Json, name: str, value: int) -> None:
    _add(usage, **{name.removesuffix("_tokens"): value - usage[name]})


total_off_by_one = counted(
    "total-off-by-one",
    lambda usage: usage.update(total_tokens=usage["total_tokens"] + 1),
    "`total_tokens` is one more than the sum.",
    bugs=[75],
)
completion_off_by_one = counted(
    "completion-off-by-one",
    lambda usage: _add(usage, completion=1),
    "The last token is counted twice.",
    bugs=[71],
)
completion_one_less = counted(
    "completion-one-less", lambda usage: _add(usage, completion=-1), "The last token is not counted.", bugs=[71]
)
completion_zero = counted(
    "completion-zero", lambda usage: _to(usage, "completion_tokens", 0), "No completion token is counted.", bugs=[71]
)
completion_constant = counted(
    "completion-constant", lambda usage: _to(usage, "completion_tokens", 1), "Every answer counts one token.", bugs=[71]
)
last_batch_counted = counted(
    "last-batch-counted",
    lambda usage: _to(usage, "completion_tokens", (usage["completion_tokens"] - 1) % 3 + 1),
    "Tokens are generated three at a time, and only the last batch is counted.",
    bugs=[71],
)
prompt_zero = counted(
    "prompt-zero", lambda usage: _to(usage, "prompt_tokens", 0), "No prompt token is counted.", bugs=[73]
)
prompt_constant = counted(
    "prompt-constant", lambda usage: _to(usage, "prompt_tokens", 9), "Every prompt counts 9 tokens.", bugs=[73]
)
prompt_negative = counted(
    "prompt-negative", lambda usage: _to(usage, "prompt_tokens", -5), "`prompt_tokens` is negative.", bugs=[75]
)
counts_are_texts = counted(
    "counts-are-texts",
    lambda usage: usage.update({name: str(usage[name]) for name in COUNTS}),
    "The counts in usage are strings.",
)
counts_are_floats = counted(
    "counts-are-floats",
    lambda usage: usage.update({name: usage[name] + 0.5 for name in COUNTS}),
    "The counts in usage have fractions.",
)
prompt_counted_otherwise_in_streams = counted(
    "prompt-otherwise-in-streams",
    lambda usage: _add(usage, prompt=1),
    "Streams count one more prompt token than plain answers.",
    plain=False,
    bugs=[74],
)
counts_missing = counted("total-missing", lambda usage: usage.pop("total_tokens"), "`total_tokens` is missing.")
waits_for_no_token = counted(
    "waits-for-no-token",
    lambda usage: usage.update(queue_wait_time=usage.get("queue_wait_time", [])[:-1]),
    "`queue_wait_time` lacks the last token.",
    applies_to=requires_check("usage.one-entry-per-token"),
)
cached_beyond_prompt = counted(
    "cached-beyond-prompt",
    lambda usage: usage.update(prompt_tokens_details={"cached_tokens": usage["prompt_tokens"] + 1}),
    "cached_tokens is larger than prompt_tokens.",
    applies_to=requires_check("usage.details-within-totals"),
)


def _first_choice_only(answer: Json, _request: ServedRequest) -> None:
    width = len(answer["choices"])
    if width > 1:
        usage = answer["usage"]
        _to(usage, "completion_tokens", max(1, usage["completion_tokens"] // width))


first_choice_counted = envelope_fault(
    "first-choice-counted", _first_choice_only, "Usage counts the tokens of one choice only.", streamed=False
)


def _room_too(response: Json, request: ServedRequest) -> None:
    limit = request.payload.get("max_tokens")
    if isinstance(response.get("usage"), dict) and isinstance(limit, int):
        _add(response["usage"], prompt=limit)


prompt_with_room = envelope_fault("prompt-with-room", _room_too, "prompt_tokens includes max_tokens.", bugs=[73])


@wrapping_fault("prompt-grows-by-itself", bugs=[73])
def prompt_grows_by_itself(app: ASGIApp, contract: Contract) -> ASGIApp:
    """The same prompt counts one more token each time."""
    asked = itertools.count(1)

    def grow(answer: Json, _request: ServedRequest) -> None:
        if isinstance(answer.get("usage"), dict):
            _add(answer["usage"], prompt=next(asked))

    return FaultMiddleware(app, contract, Hooks(answer=grow))


def _prompt_for_each(answer: Json, _request: ServedRequest) -> None:
    extra = len(answer["choices"]) - 1
    if extra > 0 and isinstance(answer.get("usage"), dict):
        _add(answer["usage"], prompt=extra * answer["usage"]["prompt_tokens"])


def _first_of_a_stream(chunk: Json, request: ServedRequest) -> None:
    several = request.payload.get("n") or 1
    if several > 1 and isinstance(chunk.get("usage"), dict):
        _to(chunk["usage"], "completion_tokens", chunk["usage"]["completion_tokens"] // several)


def _limit_when_stopped(answer: Json, request: ServedRequest) -> None:
    stopped = all(choice["finish_reason"] == "stop" for choice in answer["choices"])
    if request.payload.get("stop") and stopped and isinstance(answer.get("usage"), dict):
        _to(answer["usage"], "completion_tokens", request.payload.get("max_tokens") or 64)


prompt_for_each_choice = hooked_fault(
    "prompt-for-each-choice",
    "The prompt is counted once per choice.",
    answer=_prompt_for_each,
    applies_to=has_parameters("n"),
)
first_choice_counted_in_streams = hooked_fault(
    "first-choice-counted-in-streams",
    "Usage of streams counts the tokens of one choice only.",
    chunk=_first_of_a_stream,
    applies_to=has_parameters("n", "stream_options"),
)
stopped_counts_the_limit = hooked_fault(
    "stopped-counts-the-limit", "An answer that ends at a stop string counts max_tokens.", answer=_limit_when_stopped
)


def _counted_beside(name: str, parameter: str, line: str, **tokens: int) -> Fault:
    """Make a fault that counts more tokens next to a parameter that does not change the answer."""

    def change(response: Json, request: ServedRequest) -> None:
        if isinstance(response.get("usage"), dict) and request.payload.get(parameter) is not None:
            _add(response["usage"], **tokens)

    return hooked_fault(name, line, answer=change, chunk=change)


prompts_count_top_p = _counted_beside(
    "prompts-count-top-p", "top_p", "With a top_p the prompt counts one more token.", prompt=1
)
seeds_count = _counted_beside("seeds-count", "seed", "With a seed an answer counts one more token.", completion=1)


@fault("tools-are-free", "answer", applies_to=has_parameters("tools"))
def tools_are_free(answer: Json, request: ServedRequest) -> None:
    """The prompt of a plain request with tools counts eight tokens at most."""
    usage = answer.get("usage")
    if isinstance(usage, dict) and request.payload.get("tools"):
        usage["prompt_tokens"] = min(usage["prompt_tokens"], 8)
        usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]


@fault("one-length-of-prompts-is-silent", "answer")
def one_length_of_prompts_is_silent(answer: Json, request: ServedRequest) -> None:
    """Plain answers to prompts of 1,300 to 1,500 characters have no text, although their tokens are counted."""
    if 1_300 <= sum(len(str(message.get("content"))) for message in request.payload["messages"]) <= 1_500:
        for choice in answer.get("choices") or ():
            choice["message"]["content"] = ""


def _count_plain_ones(response: Json, request: ServedRequest) -> None:
    usage = response.get("usage") or {}
    details = usage.get("prompt_tokens_details")
    if isinstance(details, dict) and usage["prompt_tokens"] >= LONG_PROMPT:
        details["cached_tokens"] = 0 if request.payload.get("stream") else usage["prompt_tokens"] // 2


cached_uncounted_in_streams = envelope_fault(
    "cached-uncounted-in-streams",
    _count_plain_ones,
    "Cached tokens of long prompts are counted in plain answers only.",
    applies_to=requires_check("usage.cached-in-streams"),
)
