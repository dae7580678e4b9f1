"""Mutants of finish reasons."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from conformance.errors import HarnessError
from conformance.proof.editing.answers import add_tokens, edit_answer, edit_choice, edit_message
from conformance.proof.editing.streams import FIRST, LAST, edit_choices, edit_deltas, edit_frames
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("finish.unlimited-goes-on", steps="unlimited")
def another_limit_replaces_a_missing_one(exchange: Exchange) -> Exchange:
    """Without max_tokens an answer ends after a few tokens."""
    if exchange.response is None:
        raise HarnessError(f"{exchange.id} has no response to change")
    complete = replace(exchange, failure=None, response=replace(exchange.response, complete=True))
    short = edit_frames(complete, lambda events: events[:6])
    return edit_choices(short, lambda choice: choice.update(finish_reason="length"), LAST)


@mutant("finish.null-limits-nothing")
def null_is_a_limit(exchange: Exchange) -> Exchange:
    """A max_tokens of null counts as 1."""

    def change(answer: dict[str, Any]) -> None:
        answer["choices"][0]["finish_reason"] = "length"
        answer["usage"].update(completion_tokens=1, total_tokens=answer["usage"]["prompt_tokens"] + 1)

    return edit_answer(exchange, change)


def _with_reason(exchange: Exchange, reason: str) -> Exchange:
    """Replace the finish reason, streamed or plain."""
    if exchange.is_stream:
        return edit_choices(exchange, lambda choice: choice.update(finish_reason=reason), LAST)
    return edit_choice(exchange, lambda choice: choice.update(finish_reason=reason))


def _with_calls(exchange: Exchange, calls: list[dict[str, Any]] | None) -> Exchange:
    """Replace the tool calls of the first choice, streamed or plain. In a stream they are in its first delta."""
    if not exchange.is_stream:
        return edit_message(exchange, lambda message: message.update(tool_calls=calls))
    silent = edit_deltas(exchange, lambda delta: delta.pop("tool_calls", None))
    return edit_deltas(silent, lambda delta: delta.update(tool_calls=calls), FIRST) if calls else silent


@mutant("finish.reason-known")
def reason_is_the_engine_s(exchange: Exchange) -> Exchange:
    """A plain answer ends with the engine's own name of the reason, "eos"."""
    return _with_reason(exchange, "eos")


@mutant("finish.length-when-cut")
def cut_answer_ends_with_stop(exchange: Exchange) -> Exchange:
    """An answer that max_tokens cuts off ends with "stop"."""
    return _with_reason(exchange, "stop")


@mutant("finish.length-only-at-limit")
def length_comes_before_the_limit(exchange: Exchange) -> Exchange:
    """An answer ends with "length" one token before max_tokens."""
    return add_tokens(exchange, completion=-1)


@mutant("finish.stop-when-stopped")
def stopped_answer_ends_with_length(exchange: Exchange) -> Exchange:
    """An answer that a stop string ends has the reason "length"."""
    return _with_reason(exchange, "length")


@mutant("finish.stop-when-stream-stopped", steps="stopped-streamed")
def stopped_stream_ends_with_length(exchange: Exchange) -> Exchange:
    """A stream that a stop string ends has the reason "length"."""
    return _with_reason(exchange, "length")


@mutant("finish.tool-calls-when-called")
def answer_without_a_call_ends_with_tool_calls(exchange: Exchange) -> Exchange:
    """An answer that calls no tool ends with "tool_calls"."""
    return _with_reason(_with_calls(exchange, None), "tool_calls")


@mutant("finish.streamed-as-plain")
def stream_ends_for_another_reason(exchange: Exchange) -> Exchange:
    """The streamed answer ends with another reason than the plain one."""
    return _with_reason(exchange, "length" if exchange.finish_reason() == "stop" else "stop")


@mutant("finish.reason-given")
def reason_is_null(exchange: Exchange) -> Exchange:
    """The finish_reason of a plain answer is null."""
    return edit_choice(exchange, lambda choice: choice.update(finish_reason=None))


@mutant("finish.length-when-more-follows", steps="at-2")
def answer_of_two_tokens_ends_with_stop(exchange: Exchange) -> Exchange:
    """An answer that max_tokens 2 cuts off ends with "stop"."""
    return _with_reason(exchange, "stop")


@mutant("finish.length-when-stream-cut", steps="at-2-streamed")
def stream_of_two_tokens_ends_with_stop(exchange: Exchange) -> Exchange:
    """A stream that max_tokens 2 cuts off ends with "stop"."""
    return _with_reason(exchange, "stop")


@mutant("finish.stop-when-ended", steps="roomy")
def ended_answer_says_length(exchange: Exchange) -> Exchange:
    """An answer that ended by itself has the reason "length"."""
    return _with_reason(exchange, "length")


@mutant("finish.calls-end-with-tool-calls")
def call_ends_with_stop(exchange: Exchange) -> Exchange:
    """An answer that calls a tool ends with "stop"."""
    return _with_reason(exchange, "stop")


@mutant("finish.streamed-calls-end-with-tool-calls")
def streamed_call_ends_with_stop(exchange: Exchange) -> Exchange:
    """A streamed answer that calls a tool ends with "stop"."""
    return _with_reason(exchange, "stop")


@mutant("finish.length-when-call-cut")
def cut_call_says_tool_calls(exchange: Exchange) -> Exchange:
    """A tool call that max_tokens has cut off ends with "tool_calls"."""
    function = {"name": "get_weather", "arguments": '{"city": "Ro'}
    return _with_reason(
        _with_calls(exchange, [{"index": 0, "id": "call-1", "type": "function", "function": function}]), "tool_calls"
    )


@mutant("finish.length-when-choices-cut", steps="cut-choices")
def cut_choices_end_with_stop(exchange: Exchange) -> Exchange:
    """Several choices that max_tokens cuts off end with "stop"."""

    def change(answer: dict[str, Any]) -> None:
        for choice in answer["choices"]:
            choice.update(finish_reason="stop")

    return edit_answer(exchange, change)


@mutant("finish.length-when-form-cut", steps="person-cut")
def cut_form_ends_with_stop(exchange: Exchange) -> Exchange:
    """JSON that max_tokens cuts off ends with "stop"."""
    return edit_choice(exchange, lambda choice: choice.update(finish_reason="stop"))
