"""Mutants of finish reasons of answers that call tools."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.mutants.finish.changes import with_calls, with_reason
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("finish.tool-calls-when-called")
def answer_without_a_call_ends_with_tool_calls(exchange: Exchange) -> Exchange:
    """An answer that calls no tool ends with "tool_calls"."""
    return with_reason(with_calls(exchange, None), "tool_calls")


@mutant("finish.calls-end-with-tool-calls")
def call_ends_with_stop(exchange: Exchange) -> Exchange:
    """An answer that calls a tool ends with "stop"."""
    return with_reason(exchange, "stop")


@mutant("finish.streamed-calls-end-with-tool-calls")
def streamed_call_ends_with_stop(exchange: Exchange) -> Exchange:
    """A streamed answer that calls a tool ends with "stop"."""
    return with_reason(exchange, "stop")


@mutant("finish.length-when-call-cut")
def cut_call_says_tool_calls(exchange: Exchange) -> Exchange:
    """A tool call that max_tokens has cut off ends with "tool_calls"."""
    function = {"name": "get_weather", "arguments": '{"city": "Ro'}
    return with_reason(
        with_calls(exchange, [{"index": 0, "id": "call-1", "type": "function", "function": function}]), "tool_calls"
    )
