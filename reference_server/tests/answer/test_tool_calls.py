"""Tests of tool calls in responses and chunks: functions, custom tools, and the deprecated `functions`."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reference_server.engine import CallPiece, Delta
from reference_server.errors import ApiError
from reference_server.request.tool_choice import convert_earlier_calls, select_tools
from reference_server.tool_call_output import DEFAULT_FORMAT, ToolCallFormat, ToolCallWriter

TIME: dict[str, Any] = {"type": "function", "function": {"name": "get_time"}}
NOTE: dict[str, Any] = {"type": "custom", "custom": {"name": "note", "description": "Writes."}}


def call_deltas(*pieces: tuple[int, str | None, str]) -> list[Delta]:
    """Return a delta for each piece of a call."""
    return [
        Delta("", 1, None, batch_size=1, queue_wait_s=0.0, step_s=0.0, calls=(CallPiece(*piece),)) for piece in pieces
    ]


TWO = call_deltas((0, "get_time", ""), (0, None, '{"zone"'), (0, None, ': "a"}'), (1, "get_time", ""), (1, None, "{}"))


def test_a_response_lists_its_calls_with_unique_ids() -> None:
    calls = ToolCallWriter(ToolCallFormat("call_x"), 2).message_fields(TWO)["tool_calls"]
    assert ["call_x_2_0", "call_x_2_1"] == [call["id"] for call in calls]
    assert ['{"zone": "a"}', "{}"] == [call["function"]["arguments"] for call in calls]
    assert {} == ToolCallWriter(DEFAULT_FORMAT, 0).message_fields([])


def test_chunks_name_a_call_once_and_its_index_always() -> None:
    writer = ToolCallWriter(DEFAULT_FORMAT, 0)
    (calls,) = zip(*(writer.delta_fields([delta])["tool_calls"] for delta in TWO), strict=True)
    assert [0, 0, 0, 1, 1] == [call["index"] for call in calls]
    assert [True, False, False, True, False] == ["id" in call for call in calls]
    assert [True, False, False, True, False] == ["name" in call["function"] for call in calls]
    assert '{"zone": "a"}{}' == "".join(call["function"]["arguments"] for call in calls)
    assert {} == writer.delta_fields([])


def test_pieces_of_a_call_in_one_chunk_are_joined() -> None:
    (first, second) = ToolCallWriter(DEFAULT_FORMAT, 0).delta_fields(TWO)["tool_calls"]
    assert ("get_time", '{"zone": "a"}') == (first["function"]["name"], first["function"]["arguments"])
    assert (1, "{}") == (second["index"], second["function"]["arguments"])


def test_a_custom_tool_is_called_with_a_string() -> None:
    call_format = select_tools({"tools": [TIME, NOTE]}).call_format
    pieces = call_deltas((0, "note", ""), (0, None, '{"input": "a '), (0, None, '\\n b"}'))
    assert {"name": "note", "input": "a \n b"} == ToolCallWriter(call_format, 0).message_fields(pieces)["tool_calls"][
        0
    ]["custom"]
    writer = ToolCallWriter(call_format, 0)
    chunks = [writer.delta_fields([delta]) for delta in pieces]
    assert "note" == chunks[0]["tool_calls"][0]["custom"]["name"]
    assert "a \n b" == "".join(call["custom"]["input"] for chunk in chunks for call in chunk.get("tool_calls", ()))


def test_deprecated_functions_have_one_call_and_their_own_finish_reason() -> None:
    given = {"functions": [TIME["function"]], "function_call": {"name": "get_time"}}
    selection = select_tools(given)
    assert selection.use is not None
    assert (True, False, 1) == (selection.use.required, selection.use.parallel, len(selection.use.tools))
    assert {"function_call": {"name": "get_time", "arguments": '{"zone": "a"}'}} == ToolCallWriter(
        selection.call_format, 0
    ).message_fields(TWO[:3])
    writer = ToolCallWriter(selection.call_format, 0)
    pieces = [writer.delta_fields([delta])["function_call"] for delta in TWO[:3]]
    assert [{"name": "get_time", "arguments": ""}, {"arguments": '{"zone"'}, {"arguments": ': "a"}'}] == pieces
    assert ["function_call", "length"] == [
        selection.call_format.finish_reason(reason) for reason in ("tool_calls", "length")
    ]
    assert "tool_calls" == DEFAULT_FORMAT.finish_reason("tool_calls")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"functions": [{"name": "a"}], "tools": [TIME]}, "remove functions"),
        ({"function_call": {"name": "a"}}, "functions is missing"),
        ({"functions": [{"name": "a"}], "function_call": {"name": "b"}}, "unknown tool 'b'"),
        (
            {
                "tools": [TIME],
                "tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [{}]}},
            },
            "name",
        ),
        (
            {
                "tools": [
                    {
                        "type": "custom",
                        "custom": {"name": "n", "format": {"type": "grammar", "grammar": {"syntax": "lark"}}},
                    }
                ]
            },
            "expected regex",
        ),
        (
            {
                "tools": [
                    {"type": "function", "function": {"name": "f", "strict": True, "parameters": {"type": "array"}}}
                ]
            },
            "set type to object",
        ),
        (
            {"tools": [{"type": "function", "function": {"name": "note"}}, NOTE]},
            "'note' names both a function and a custom tool",
        ),
    ],
)
def test_invalid_tool_parameters_are_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ApiError, match=words):
        select_tools(given)


@pytest.mark.parametrize(
    "item", [{"": []}, {"": None}, {"type": []}, {"type": "function", "function": []}, {"type": "a", "a": {"name": {}}}]
)
def test_an_allowed_tool_may_be_any_object_and_one_without_a_name_is_refused(item: dict[str, Any]) -> None:
    choice = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [item]}}
    with pytest.raises(ApiError, match="each item must name one of tools"):
        select_tools({"tools": [TIME], "tool_choice": choice})


@pytest.mark.parametrize("tool", [TIME, NOTE])
def test_tools_of_the_same_type_may_share_a_name(tool: dict[str, Any]) -> None:
    use = select_tools(
        {"tools": [tool, tool], "tool_choice": {"type": tool["type"], tool["type"]: tool[tool["type"]]}}
    ).use
    assert use is not None
    assert [tool[tool["type"]]["name"]] * 2 == [engine_tool.name for engine_tool in use.tools]


def test_allowed_tools_select_some_of_the_tools() -> None:
    allowed = {"mode": "required", "tools": [{"type": "function", "function": {"name": "get_time"}}]}
    selection = select_tools(
        {"tools": [TIME, NOTE], "tool_choice": {"type": "allowed_tools", "allowed_tools": allowed}}
    )
    assert selection.use is not None
    assert (["get_time"], True) == ([tool.name for tool in selection.use.tools], selection.use.required)
    assert selection.prompt_tools is not None
    assert 2 == len(selection.prompt_tools)


def test_argument_schemas_are_only_narrowed() -> None:
    def schema(parameters: Any) -> Any:
        use = select_tools({"tools": [{"type": "function", "function": {"name": "f", "parameters": parameters}}]}).use
        assert use is not None
        return json.loads(use.tools[0].schema)

    assert {"type": "object", "properties": {}, "additionalProperties": False} == schema({})
    assert schema({"properties": {"a": {}}})["additionalProperties"] is False
    assert "additionalProperties" not in schema({"properties": {}, "required": ["a"]})
    assert "additionalProperties" not in schema({"properties": {"a": {}}, "anyOf": [{"required": ["b"]}]})
    assert schema({"properties": {}, "additionalProperties": True})["additionalProperties"] is True
    assert "x-guidance" not in schema({"x-guidance": {"lenient": True}})


def test_arguments_of_earlier_calls_are_parsed_for_templates_that_need_it() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    bad = {"id": "2", "type": "function", "function": {"name": "f", "arguments": "[1"}}
    note = {"id": "3", "type": "custom", "custom": {"name": "note", "input": "x"}}
    converted = convert_earlier_calls([call, bad, note], parsed_arguments=True)
    assert [{"a": 1}, "[1", {"input": "x"}] == [call["function"]["arguments"] for call in converted]
    unparsed = convert_earlier_calls([call, bad], parsed_arguments=False)
    assert ['{"a": 1}', "[1"] == [call["function"]["arguments"] for call in unparsed]
