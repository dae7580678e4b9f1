"""Calls in answers and chunks: of functions, of custom tools, and in the older form."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reference_server.engine import CallPiece, Delta
from reference_server.errors import ApiError
from reference_server.request.tool_choice import calling, earlier_calls
from reference_server.tool_call_output import FUNCTIONS, CallForm, CallWriter

TIME: dict[str, Any] = {"type": "function", "function": {"name": "get_time"}}
NOTE: dict[str, Any] = {"type": "custom", "custom": {"name": "note", "description": "Writes."}}


def called(*pieces: tuple[int, str | None, str]) -> list[Delta]:
    """A delta for each piece of a call."""
    return [
        Delta("", 1, None, batch_size=1, queue_wait_s=0.0, step_s=0.0, calls=(CallPiece(*piece),)) for piece in pieces
    ]


TWO = called((0, "get_time", ""), (0, None, '{"zone"'), (0, None, ': "a"}'), (1, "get_time", ""), (1, None, "{}"))


def test_an_answer_lists_its_calls_each_with_a_name_of_its_own() -> None:
    found = CallWriter(CallForm("call_x"), 2).whole(TWO)["tool_calls"]
    assert ["call_x_2_0", "call_x_2_1"] == [call["id"] for call in found]
    assert ['{"zone": "a"}', "{}"] == [call["function"]["arguments"] for call in found]
    assert {} == CallWriter(FUNCTIONS, 0).whole([])


def test_chunks_name_a_call_once_and_always_its_place() -> None:
    writer = CallWriter(FUNCTIONS, 0)
    (calls,) = zip(*(writer.added([delta])["tool_calls"] for delta in TWO), strict=True)
    assert [0, 0, 0, 1, 1] == [call["index"] for call in calls]
    assert [True, False, False, True, False] == ["id" in call for call in calls]
    assert [True, False, False, True, False] == ["name" in call["function"] for call in calls]
    assert '{"zone": "a"}{}' == "".join(call["function"]["arguments"] for call in calls)
    assert {} == writer.added([])


def test_pieces_of_a_call_that_come_together_are_one() -> None:
    (first, second) = CallWriter(FUNCTIONS, 0).added(TWO)["tool_calls"]
    assert ("get_time", '{"zone": "a"}') == (first["function"]["name"], first["function"]["arguments"])
    assert (1, "{}") == (second["index"], second["function"]["arguments"])


def test_a_custom_tool_is_called_with_a_text() -> None:
    form = calling({"tools": [TIME, NOTE]}).form
    pieces = called((0, "note", ""), (0, None, '{"input": "a '), (0, None, '\\n b"}'))
    assert {"name": "note", "input": "a \n b"} == CallWriter(form, 0).whole(pieces)["tool_calls"][0]["custom"]
    writer = CallWriter(form, 0)
    chunks = [writer.added([delta]) for delta in pieces]
    assert "note" == chunks[0]["tool_calls"][0]["custom"]["name"]
    assert "a \n b" == "".join(call["custom"]["input"] for chunk in chunks for call in chunk.get("tool_calls", ()))


def test_the_older_form_has_one_call_and_its_own_reason() -> None:
    asked = {"functions": [TIME["function"]], "function_call": {"name": "get_time"}}
    found = calling(asked)
    assert found.use is not None
    assert (True, False, 1) == (found.use.required, found.use.parallel, len(found.use.tools))
    assert {"function_call": {"name": "get_time", "arguments": '{"zone": "a"}'}} == CallWriter(found.form, 0).whole(
        TWO[:3]
    )
    writer = CallWriter(found.form, 0)
    pieces = [writer.added([delta])["function_call"] for delta in TWO[:3]]
    assert [{"name": "get_time", "arguments": ""}, {"arguments": '{"zone"'}, {"arguments": ': "a"}'}] == pieces
    assert ["function_call", "length"] == [found.form.reason(reason) for reason in ("tool_calls", "length")]
    assert "tool_calls" == FUNCTIONS.reason("tool_calls")


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"functions": [{"name": "a"}], "tools": [TIME]}, "leave functions out"),
        ({"function_call": {"name": "a"}}, "there are no functions"),
        ({"functions": [{"name": "a"}], "function_call": {"name": "b"}}, "'b', which is none"),
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
            "syntax regex",
        ),
        (
            {
                "tools": [
                    {"type": "function", "function": {"name": "f", "strict": True, "parameters": {"type": "array"}}}
                ]
            },
            "no object",
        ),
        (
            {"tools": [{"type": "function", "function": {"name": "note"}}, NOTE]},
            "'note' is a function and a custom tool",
        ),
    ],
)
def test_what_cannot_be_called_is_refused(given: dict[str, Any], words: str) -> None:
    with pytest.raises(ApiError, match=words):
        calling(given)


@pytest.mark.parametrize("tool", [TIME, NOTE])
def test_tools_of_one_kind_may_share_a_name(tool: dict[str, Any]) -> None:
    use = calling({"tools": [tool, tool], "tool_choice": {"type": tool["type"], tool["type"]: tool[tool["type"]]}}).use
    assert use is not None
    assert [tool[tool["type"]]["name"]] * 2 == [each.name for each in use.tools]


def test_some_tools_may_be_left() -> None:
    left = {"mode": "required", "tools": [{"type": "function", "function": {"name": "get_time"}}]}
    found = calling({"tools": [TIME, NOTE], "tool_choice": {"type": "allowed_tools", "allowed_tools": left}})
    assert found.use is not None
    assert (["get_time"], True) == ([tool.name for tool in found.use.tools], found.use.required)
    assert found.shown is not None
    assert 2 == len(found.shown)


def test_parameters_are_narrowed_only_to_what_they_allow_already() -> None:
    def schema(parameters: Any) -> Any:
        use = calling({"tools": [{"type": "function", "function": {"name": "f", "parameters": parameters}}]}).use
        assert use is not None
        return json.loads(use.tools[0].schema)

    assert {"type": "object", "properties": {}, "additionalProperties": False} == schema({})
    assert schema({"properties": {"a": {}}})["additionalProperties"] is False
    assert "additionalProperties" not in schema({"properties": {}, "required": ["a"]})
    assert "additionalProperties" not in schema({"properties": {"a": {}}, "anyOf": [{"required": ["b"]}]})
    assert schema({"properties": {}, "additionalProperties": True})["additionalProperties"] is True
    assert "x-guidance" not in schema({"x-guidance": {"lenient": True}})


def test_arguments_of_earlier_calls_are_parsed_where_templates_want_that() -> None:
    call = {"id": "1", "type": "function", "function": {"name": "f", "arguments": '{"a": 1}'}}
    bad = {"id": "2", "type": "function", "function": {"name": "f", "arguments": "[1"}}
    note = {"id": "3", "type": "custom", "custom": {"name": "note", "input": "x"}}
    parsed = [each["function"]["arguments"] for each in earlier_calls([call, bad, note], parsed=True)]
    assert [{"a": 1}, "[1", {"input": "x"}] == parsed
    assert ['{"a": 1}', "[1"] == [each["function"]["arguments"] for each in earlier_calls([call, bad], parsed=False)]
