"""Problems: each is one line that names the parameter and the bound and never quotes the whole body."""

from __future__ import annotations

from typing import Any

import pytest

from openapi.contract.contract import load
from openapi.description.validation import Validator, compile_schema
from openapi.schema.problem import MAX_PROBLEMS, Problem, describe_errors

MINDIE = Validator(load("mindie").with_server_limits())
VLLM = Validator(load("mindie-vllm"))
OVMS = Validator(load("ovms"))


def request(**fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "Hello!"}], **fields}


def message(**fields: Any) -> dict[str, Any]:
    return {"messages": [fields]}


CASES: list[tuple[dict[str, Any], Problem]] = [
    ({"top_p": 0}, Problem("/top_p", "exclusiveMinimum", 1e-06, "top_p must be greater than 1e-06, got 0")),
    ({"temperature": 2.1}, Problem("/temperature", "maximum", 2.0, "temperature must be at most 2.0, got 2.1")),
    ({"temperature": -1}, Problem("/temperature", "minimum", 0.0, "temperature must be at least 0.0, got -1")),
    ({"seed": 2**64}, Problem("/seed", "maximum", 2**64 - 1, f"seed must be at most {2**64 - 1}, got {2**64}")),
    ({"stream": "yes"}, Problem("/stream", "type", ["null", "boolean"], 'stream must be boolean or null, got "yes"')),
    ({"model": 1}, Problem("/model", "type", ["string"], "model must be string, got 1")),
    ({"messages": []}, Problem("/messages", "minItems", 1, "messages must have at least 1 item, got an array")),
    ({"stop": ["x"] * 1025}, Problem("/stop", "maxItems", 1024, "stop must have at most 1024 items, got an array")),
    ({"stop": ""}, Problem("/stop", "minLength", 1, 'stop must have at least 1 character, got ""')),
    ({"stop": 1}, Problem("/stop", "anyOf", None, "stop must be string or array or null, got 1")),
    ({"stop": ["a", 1]}, Problem("/stop/1", "type", ["string"], "stop[1] must be string, got 1")),
    (
        {"stop": ["x" * 1024] * 33},
        Problem(
            "/stop",
            "x-maxCharacters",
            32768,
            "stop has 33792 characters in total, more than the 32768 allowed, got an array",
        ),
    ),
    (
        {"n": 2, "temperature": 0},
        Problem("/n", "rule", "n-needs-temperature", "n: n greater than 1 needs a temperature greater than 0."),
    ),
    (
        {"tool_choice": "any"},
        Problem(
            "/tool_choice",
            "anyOf",
            None,
            'tool_choice must be "none" or "auto" or "required" or object or null, got "any"',
        ),
    ),
    (
        {"tool_choice": {"type": "function"}},
        Problem("/tool_choice/function", "required", "function", "tool_choice.function is required"),
    ),
    (
        {"tools": [{"type": "plugin", "function": {"name": "f"}}]},
        Problem("/tools/0/type", "const", "function", 'tools[0].type must be "function", got "plugin"'),
    ),
    (message(content="x"), Problem("/messages/0", "oneOf", None, "messages[0] must have role, got an object")),
    (
        message(role="wizard", content="x"),
        Problem(
            "/messages/0",
            "oneOf",
            None,
            'messages[0] must have role one of "system", "user", "assistant", "tool", got an object',
        ),
    ),
    (
        message(role="user"),
        Problem("/messages/0/content", "required", "content", "messages[0].content is required"),
    ),
    (
        message(role="user", content=[{"type": "text"}]),
        Problem("/messages/0/content/0/text", "required", "text", "messages[0].content[0].text is required"),
    ),
    (
        message(role="assistant"),
        Problem(
            "/messages/0",
            "rule",
            "assistant-speaks",
            "messages[0]: an assistant message needs content or tool calls",
        ),
    ),
    (
        message(role="assistant", content=7),
        Problem("/messages/0/content", "anyOf", None, "messages[0].content must be string or array, got 7"),
    ),
    (
        message(role="assistant", tool_calls=[{"id": "1", "type": "function"}]),
        Problem(
            "/messages/0/tool_calls/0/function",
            "required",
            "function",
            "messages[0].tool_calls[0].function is required",
        ),
    ),
    ({"messages": ["Hello"]}, Problem("/messages/0", "oneOf", None, 'messages[0] must be object, got "Hello"')),
]


@pytest.mark.parametrize(("fields", "problem"), CASES, ids=[problem.message[:60] for _, problem in CASES])
def test_a_problem_names_the_path_the_bound_and_the_value(fields: dict[str, Any], problem: Problem) -> None:
    assert MINDIE.request_problems(request(**fields)) == (problem,)


def test_a_missing_parameter_is_named() -> None:
    assert [problem.message for problem in MINDIE.request_problems({})] == [
        "model is required",
        "messages is required",
    ]


def test_missing_fields_of_a_tool_call_are_named_although_type_is_a_discriminator_elsewhere() -> None:
    problems = MINDIE.request_problems(request(**message(role="assistant", tool_calls=[{}])))
    assert sorted(problem.message for problem in problems) == [
        "messages[0].tool_calls[0].function is required",
        "messages[0].tool_calls[0].id is required",
        "messages[0].tool_calls[0].type is required",
    ]


def test_a_value_that_is_excluded_within_the_range_is_named() -> None:
    assert [problem.message for problem in VLLM.request_problems(request(top_k=0))] == ["top_k must not be 0, got 0"]


def test_a_body_of_another_type_is_named() -> None:
    assert [problem.message for problem in MINDIE.request_problems([1])] == ["the body must be object, got an array"]


def test_a_violated_rule_is_described_by_its_summary() -> None:
    broken: list[dict[str, Any]] = [
        {"n": 2},
        {"stream_options": {}},
        {"stream": True, "include_stop_str_in_output": False},
        {"ignore_eos": True, "max_tokens": 4001},
    ]
    assert [OVMS.request_problems(request(**fields))[0].message for fields in broken] == [
        "n: n is at most best_of, whose default is 1.",
        "stream_options: stream_options needs stream to be true.",
        "include_stop_str_in_output: A stream cannot exclude the stop string.",
        "ignore_eos: max_tokens is at most 4000 with ignore_eos.",
    ]


def test_several_problems_are_reported_together_up_to_a_limit() -> None:
    problems = MINDIE.request_problems(request(top_p=2, temperature=3, seed=-1))
    assert sorted(problem.parameter for problem in problems) == ["seed", "temperature", "top_p"]
    assert len(MINDIE.request_problems(request(stop=[1] * 100))) == MAX_PROBLEMS


def test_long_values_are_shortened_and_containers_are_not_quoted() -> None:
    [problem] = MINDIE.request_problems(request(stop="secret" * 1000))
    assert len(problem.message) < 150
    [problem] = MINDIE.request_problems(request(stream={"secret": "x" * 1000}))
    assert "secret" not in problem.message


def test_special_characters_in_names_are_escaped_in_pointers() -> None:
    tool = {"type": "function", "function": {"name": "f", "parameters": {"properties": {"a/b~c": 1}}}}
    [problem] = MINDIE.request_problems(request(tools=[tool]))
    assert problem.where == "/tools/0/function/parameters/properties/a~1b~0c"
    assert problem.parameter == "tools"
    assert Problem("", "type", None, "").parameter == ""


@pytest.mark.parametrize(
    ("schema", "value", "message"),
    [
        ({"properties": {}, "additionalProperties": False}, {"b": 1}, 'the body must not have "b"'),
        (
            {"properties": {"a": {}}, "additionalProperties": False},
            {"x" * 99: 1},
            f'the body must not have "{"x" * 60}..."',
        ),
        ({"pattern": "^/"}, "v1", 'the body must match ^/, got "v1"'),
        ({"multipleOf": 5}, 3, "the body must be a multiple of 5, got 3"),
        ({"uniqueItems": True}, [1, 1], "the body must not contain duplicate items, got an array"),
        ({"minProperties": 1}, {}, "the body must have at least 1 field, got an object"),
        ({"properties": {"a": False}}, {"a": 1}, "a is not allowed, got 1"),
        ({"contains": {"const": 1}}, [2], "the body does not satisfy contains, got an array"),
    ],
)
def test_rarely_used_keywords_have_messages(schema: dict[str, Any], value: Any, message: str) -> None:
    document = {"components": {"schemas": {"X": schema}}}
    errors = compile_schema(document, "#/components/schemas/X").iter_errors(value)
    assert [problem.message for problem in describe_errors(errors, document)] == [message]


def test_only_a_few_of_many_unknown_fields_are_named() -> None:
    document = {"components": {"schemas": {"X": {"properties": {"a": {}}, "additionalProperties": False}}}}
    errors = compile_schema(document, "#/components/schemas/X").iter_errors(dict.fromkeys(map(str, range(10_000)), 1))
    [problem] = describe_errors(errors, document)
    assert problem.bound == ["0", "1", "2", "3", "4"]
    assert len(problem.message) < 100


def test_a_value_that_matches_several_alternatives_of_oneof_is_a_problem() -> None:
    document = {"components": {"schemas": {"Both": {"oneOf": [{"type": "integer"}, {"type": "number"}]}}}}
    errors = compile_schema(document, "#/components/schemas/Both").iter_errors(3)
    (problem,) = describe_errors(errors, document)
    assert ("oneOf", "the body matches more than one alternative, got 3") == (problem.keyword, problem.message)
