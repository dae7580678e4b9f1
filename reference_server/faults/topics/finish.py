"""Faults in the finish reason."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import at_seams, demands, knows, said_by
from reference_server.faults.request_edits import null_as
from reference_server.faults.topics.choices import ONE
from reference_server.faults.topics.structured import STRUCTURED, has_form, has_forms
from reference_server.faults.topics.tools.calls import calls

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.hooks import Json, Told


null_limit_is_one = at_seams(
    "null-limit-is-one", "A max_tokens of null is 1.", request=null_as("max_tokens", 1),
    fits=demands("finish.null-limits-nothing"), about="max_tokens", bugs=[129],
)  # fmt: skip


def _others_stop(answer: Json, _told: Told) -> None:
    for choice in answer["choices"]:
        if choice["index"] > 0 and choice["finish_reason"] == "length":
            choice["finish_reason"] = "stop"


other_choices_stop = at_seams(
    "other-choices-stop", "Of several choices that the limit cuts only the first ends with length.",
    answer=_others_stop, fits=knows(*ONE),
)  # fmt: skip


def reason_instead(found: str | None, other: str | None) -> Callable[[Json, Told], None]:
    def edit(choice: Json, _told: Told) -> None:
        if choice.get("finish_reason") == found:
            choice["finish_reason"] = other

    return edit


def _ended(choice: Json, other: str | None) -> None:
    if choice.get("finish_reason") is not None:
        choice["finish_reason"] = other


never_finishes = said_by(
    "never-finishes", lambda choice, _told: _ended(choice, None), "No choice of a stream gets a finish_reason.",
    plain=False, bugs=[42],
)  # fmt: skip
reason_null_plain = said_by(
    "reason-null-plain", lambda choice, _told: _ended(choice, None), "The finish_reason of plain answers is null.",
    streamed=False, bugs=[42],
)  # fmt: skip
reason_of_the_engine = said_by(
    "reason-of-the-engine",
    reason_instead("stop", "eos_token"),
    "An answer that ended by itself has an engine's reason.",
)
reason_capital = said_by("reason-in-capitals", reason_instead("length", "LENGTH"), "Finish reasons are in capitals.")
stop_when_cut = said_by(
    "stop-when-cut", reason_instead("length", "stop"), "What the limit cut ends with stop.", bugs=[55]
)
length_always = said_by(
    "length-always", reason_instead("stop", "length"), "What ended by itself ends with length.", bugs=[56]
)
tool_calls_for_nothing = said_by(
    "tool-calls-for-nothing",
    reason_instead("stop", "tool_calls"),
    "An answer without a tool call ends with tool_calls.",
    bugs=[52],
)
streams_end_otherwise = said_by(
    "streams-end-otherwise", reason_instead("stop", "length"), "Streams end for another reason than plain answers.",
    plain=False, bugs=[57],
)  # fmt: skip


def _short(told: Told) -> None:
    limit = told.sent.get("max_tokens")
    if type(limit) is int and limit > 1:
        told.sent["max_tokens"] = limit - 1


one_token_short = at_seams("one-token-short", "An answer is cut one token before max_tokens.", request=_short)


def _whole_though_cut(answer: Json, told: Told) -> None:
    for choice in answer["choices"] if has_form(told) else ():
        choice["finish_reason"] = "stop"


cut_forms_stop = at_seams(
    "cut-forms-stop", "JSON of a form that the limit cuts off ends with stop.", answer=_whole_though_cut,
    fits=has_forms, declares=STRUCTURED,
)  # fmt: skip


def _ends_with_stop(choice: Json, _told: Told) -> None:
    if choice.get("finish_reason") == "tool_calls":
        choice["finish_reason"] = "stop"


calls_end_with_stop = said_by(
    "calls-end-with-stop", _ends_with_stop, "An answer that calls tools ends with stop.", fits=calls, bugs=[51]
)


def _called_when_cut(choice: Json, told: Told) -> None:
    if told.sent.get("tools") and choice.get("finish_reason") == "length":
        choice["finish_reason"] = "tool_calls"


cut_calls_end_with_tool_calls = said_by(
    "cut-calls-end-with-tool-calls", _called_when_cut, "What the limit cut ends with tool_calls.",
    fits=calls, bugs=[52],
)  # fmt: skip
