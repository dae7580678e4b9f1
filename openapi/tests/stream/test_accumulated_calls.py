"""Tests of accumulated tool calls: plain and streamed, of functions and of custom tools."""

from __future__ import annotations

from typing import Any

import pytest

from openapi.stream.accumulated_choice import ChoiceAccumulator, ToolCall, accumulate_answer

KINDS = {"function": "arguments", "custom": "input"}


def _call(kind: str, name: str, text: str) -> dict[str, Any]:
    return {"id": "call-1", "type": kind, kind: {"name": name, KINDS[kind]: text}}


@pytest.mark.parametrize("kind", KINDS)
def test_a_streamed_call_is_the_plain_one_whatever_kind_of_tool_it_calls(kind: str) -> None:
    accumulator = ChoiceAccumulator()
    accumulator.add(0, {"tool_calls": [{"index": 0, **_call(kind, "write_note", "")}]}, None)
    for text in ("a", "", "bc"):
        accumulator.add(1, {"tool_calls": [{"index": 0, kind: {KINDS[kind]: text}}]}, None)
    message = {"tool_calls": [_call(kind, "write_note", "abc")]}
    plain = accumulate_answer({"choices": [{"index": 0, "message": message}]})
    expected = (ToolCall(0, kind, ("call-1",), (kind,), ("write_note",), "abc"),)
    assert expected == accumulator.result().tool_calls
    assert expected == plain[0].tool_calls
