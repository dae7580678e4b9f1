"""Faults in the finish reason."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import (
    choice_fault,
    choices_of,
    fault,
    has_parameters,
    hooked_fault,
    message_of,
    requires_check,
)
from reference_server.faults.request_edits import null_as
from reference_server.faults.topics.choices import ONE
from reference_server.faults.topics.structured.forms import STRUCTURED, has_form, has_forms
from reference_server.faults.topics.tools.calls import calls

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.hooks import Json, ServedRequest


null_limit_is_one = hooked_fault(
    "null-limit-is-one",
    "A max_tokens of null is treated as 1.",
    request=null_as("max_tokens", 1),
    applies_to=requires_check("finish.null-limits-nothing"),
    parameter="max_tokens",
    bugs=[129],
)


SHORT: Final = 48


def _limit_unasked(request: ServedRequest) -> None:
    if not ({"max_tokens", "max_completion_tokens"} & set(request.payload)):
        request.payload["max_tokens"] = SHORT


def _hide_limit(chunk: Json, request: ServedRequest) -> None:
    if request.payload.get("max_tokens") == SHORT:
        for choice in chunk.get("choices") or ():
            if choice.get("finish_reason") == "length":
                choice["finish_reason"] = "stop"


missing_limit_is_short = hooked_fault(
    "missing-limit-is-short",
    "Without max_tokens an answer ends after 48 tokens, with the reason stop.",
    request=_limit_unasked,
    chunk=_hide_limit,
    bugs=[168],
)


def _others_stop(answer: Json, _request: ServedRequest) -> None:
    for choice in answer["choices"]:
        if choice["index"] > 0 and choice["finish_reason"] == "length":
            choice["finish_reason"] = "stop"


other_choices_stop = hooked_fault(
    "other-choices-stop",
    "If max_tokens cuts several choices, only the first ends with length.",
    answer=_others_stop,
    applies_to=has_parameters(*ONE),
)


def reason_instead(found: str | None, other: str | None) -> Callable[[Json, ServedRequest], None]:
    def edit(choice: Json, _request: ServedRequest) -> None:
        if choice.get("finish_reason") == found:
            choice["finish_reason"] = other

    return edit


def _ended(choice: Json, other: str | None) -> None:
    if choice.get("finish_reason") is not None:
        choice["finish_reason"] = other


never_finishes = choice_fault(
    "never-finishes",
    lambda choice, _request: _ended(choice, None),
    "Streamed choices have no finish_reason.",
    plain=False,
    bugs=[42],
)
reason_null_plain = choice_fault(
    "reason-null-plain",
    lambda choice, _request: _ended(choice, None),
    "The finish_reason of plain answers is null.",
    streamed=False,
    bugs=[42],
)
reason_of_the_engine = choice_fault(
    "reason-of-the-engine",
    reason_instead("stop", "eos_token"),
    "An answer that ends on its own has a finish_reason of the engine.",
)
reason_capital = choice_fault(
    "reason-in-capitals", reason_instead("length", "LENGTH"), "Finish reasons are in capitals."
)
stop_when_cut = choice_fault(
    "stop-when-cut", reason_instead("length", "stop"), "An answer cut by max_tokens ends with stop.", bugs=[55]
)
streamed_cuts_stop = choice_fault(
    "streamed-cuts-stop",
    reason_instead("length", "stop"),
    "A stream cut by max_tokens ends with stop.",
    plain=False,
    bugs=[55],
)


def _stopped_by_length(choice: Json, request: ServedRequest) -> None:
    if request.payload.get("stop") and choice.get("finish_reason") == "stop":
        choice["finish_reason"] = "length"


streamed_stops_length = choice_fault(
    "streamed-stops-length", _stopped_by_length, "A stream that a stop string ends has the reason length.", plain=False
)
length_always = choice_fault(
    "length-always", reason_instead("stop", "length"), "An answer that ends on its own ends with length.", bugs=[56]
)
tool_calls_for_nothing = choice_fault(
    "tool-calls-for-nothing",
    reason_instead("stop", "tool_calls"),
    "An answer without a tool call ends with tool_calls.",
    bugs=[52],
)
streams_end_otherwise = choice_fault(
    "streams-end-otherwise",
    reason_instead("stop", "length"),
    "Streams have another finish_reason than plain answers.",
    plain=False,
    bugs=[57],
)


def _short(request: ServedRequest) -> None:
    limit = request.payload.get("max_tokens")
    if type(limit) is int and limit > 1:
        request.payload["max_tokens"] = limit - 1


one_token_short = hooked_fault("one-token-short", "Answers are cut one token before max_tokens.", request=_short)


def _whole_though_cut(answer: Json, request: ServedRequest) -> None:
    for choice in answer["choices"] if has_form(request) else ():
        choice["finish_reason"] = "stop"


cut_forms_stop = hooked_fault(
    "cut-forms-stop",
    "Structured output cut by max_tokens ends with stop.",
    answer=_whole_though_cut,
    applies_to=has_forms,
    declares=STRUCTURED,
)


def _ends_with_stop(choice: Json, _request: ServedRequest) -> None:
    if choice.get("finish_reason") == "tool_calls":
        choice["finish_reason"] = "stop"


calls_end_with_stop = choice_fault(
    "calls-end-with-stop", _ends_with_stop, "An answer that calls tools ends with stop.", applies_to=calls, bugs=[51]
)


def _called_when_cut(choice: Json, request: ServedRequest) -> None:
    if request.payload.get("tools") and choice.get("finish_reason") == "length":
        choice["finish_reason"] = "tool_calls"


cut_calls_end_with_tool_calls = choice_fault(
    "cut-calls-end-with-tool-calls",
    _called_when_cut,
    "An answer cut by max_tokens ends with tool_calls.",
    applies_to=calls,
    bugs=[52],
)


INT32_GREATEST: Final = 2**31 - 1


ROOM: Final = 4096  # tokens of a context


@fault("greatest-limit-leaves-nothing", "answer", bugs=[164])
def greatest_limit_leaves_nothing(answer: Json, request: ServedRequest) -> None:
    """The sum of the prompt and a `max_tokens` close to 2**31 overflows, and the answer is empty."""
    limit = request.payload.get("max_tokens")
    if isinstance(limit, int) and INT32_GREATEST - ROOM < limit <= INT32_GREATEST:
        for choice in choices_of(answer):
            message_of(choice)["content"] = ""
            choice["finish_reason"] = "length"


def _end_as_the_first(answer: Json, _request: ServedRequest) -> None:
    choices = list(choices_of(answer))
    for choice in choices:
        choice["finish_reason"] = choices[0]["finish_reason"]


choices_end_as_the_first = hooked_fault(
    "choices-end-as-the-first",
    "All choices of a plain answer have the finish_reason of the first.",
    answer=_end_as_the_first,
    applies_to=requires_check("finish.of-each-choice"),
)
