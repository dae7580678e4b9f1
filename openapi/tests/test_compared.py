"""The two interfaces that users compare with, against lists written by hand from their references."""

from __future__ import annotations

import math
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

from openapi.contract import ABSENT, Contract, Keyword, Parameter, load
from openapi.description import describe_down
from openapi.forms import ErrorKind, ErrorTable
from openapi.validation import Validator

COMPARED = ("openai", "vllm")
CONTRACTS: dict[str, Contract] = {dialect: load(dialect) for dialect in COMPARED}
VALIDATORS = {dialect: Validator(contract) for dialect, contract in CONTRACTS.items()}

SHARED = [
    *("messages", "model", "frequency_penalty", "logit_bias", "logprobs", "top_logprobs", "max_tokens"),
    *("max_completion_tokens", "n", "presence_penalty", "response_format", "seed", "stop", "stream", "stream_options"),
    *("temperature", "top_p", "tools", "tool_choice", "parallel_tool_calls", "reasoning_effort", "user"),
]
PARAMETERS = {
    "openai": [
        *SHARED,
        *("audio", "function_call", "functions", "metadata", "modalities", "moderation", "prediction"),
        *("prompt_cache_key", "prompt_cache_options", "prompt_cache_retention", "safety_identifier", "service_tier"),
        *("store", "verbosity", "web_search_options"),
    ],
    "vllm": [
        *SHARED,
        *("thinking_token_budget", "include_reasoning", "use_beam_search", "top_k", "min_p", "repetition_penalty"),
        *("watermarking", "length_penalty", "stop_token_ids", "include_stop_str_in_output", "ignore_eos", "min_tokens"),
        *("skip_special_tokens", "spaces_between_special_tokens", "truncate_prompt_tokens", "truncation_side"),
        *("prompt_logprobs", "logprob_token_ids", "allowed_token_ids", "bad_words", "echo", "add_generation_prompt"),
        *("continue_final_message", "add_special_tokens", "documents", "chat_template", "chat_template_kwargs"),
        *("media_io_kwargs", "mm_processor_kwargs", "structured_outputs", "priority", "request_id", "session_id"),
        *("return_tokens_as_token_ids", "return_token_ids", "return_weight_versions", "routed_experts_prompt_start"),
        *("return_token_offsets", "return_prompt_text", "mm_payload", "return_mm_kwargs", "cache_salt"),
        *("kv_transfer_params", "ec_transfer_params", "vllm_xargs", "repetition_detection", "stream_interval"),
    ],
}

BOTH_DEFAULTS = {
    "frequency_penalty": 0.0,
    "logit_bias": None,
    "logprobs": False,
    "n": 1,
    "parallel_tool_calls": True,
    "presence_penalty": 0.0,
    "stream": False,
    "temperature": 1.0,
    "top_p": 1.0,
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "openai": {
        **BOTH_DEFAULTS,
        "modalities": ["text"],
        "service_tier": "auto",
        "stop": None,
        "store": False,
        "verbosity": "medium",
    },
    "vllm": {
        **BOTH_DEFAULTS,
        "add_generation_prompt": True,
        "add_special_tokens": False,
        "bad_words": [],
        "continue_final_message": False,
        "echo": False,
        "ignore_eos": False,
        "include_reasoning": True,
        "include_stop_str_in_output": False,
        "length_penalty": 1.0,
        "min_p": 0.0,
        "min_tokens": 0,
        "mm_payload": "tensors",
        "priority": 0,
        "repetition_penalty": 1.0,
        "return_token_offsets": False,
        "return_weight_versions": False,
        "routed_experts_prompt_start": 0,
        "skip_special_tokens": True,
        "spaces_between_special_tokens": True,
        "stop": [],
        "stop_token_ids": [],
        "top_k": 0,
        "top_logprobs": 0,
        "use_beam_search": False,
    },
}

NULL_UNSAID = {  # the types have no null and do not forbid one
    "openai": {
        *("function_call", "functions", "parallel_tool_calls", "prompt_cache_options", "response_format", "tools"),
        *("tool_choice", "user", "web_search_options"),
    },
    "vllm": {"model", "request_id"},
}
NULL_REFUSED = {
    "openai": {"messages", "model"},
    "vllm": {
        *("messages", "include_reasoning", "use_beam_search", "length_penalty", "include_stop_str_in_output"),
        *("ignore_eos", "min_tokens", "spaces_between_special_tokens", "bad_words", "echo", "add_generation_prompt"),
        *("continue_final_message", "add_special_tokens", "priority", "return_weight_versions", "mm_payload"),
        "routed_experts_prompt_start",
    },
}

ABOVE_2 = math.nextafter(2.0, 3.0)
INT64 = 2**63 - 1
WEATHER = {"type": "function", "function": {"name": "get_weather"}}
BOUNDS: list[tuple[str, str, list[Any], list[Any]]] = [
    ("openai", "temperature", [0, 1, 2.0], [-0.1, ABOVE_2, "1", True]),
    ("openai", "top_p", [5e-324, 1], [-0.1, math.nextafter(1.0, 2), "1"]),
    ("openai", "frequency_penalty", [-2.0, 0, 2.0], [-ABOVE_2, ABOVE_2]),
    ("openai", "presence_penalty", [-2.0, 0, 2.0], [-ABOVE_2, ABOVE_2]),
    ("openai", "n", [1, 128], [0, 129, 1.5]),
    ("openai", "top_logprobs", [0, 20], [-1, 21, "1"]),
    ("openai", "seed", [0, INT64], [INT64 + 1, 1.5, "1"]),
    ("openai", "max_tokens", [1, 2**31], [0, "1", 1.5]),
    ("openai", "max_completion_tokens", [1, 2**31], [0, "1", 1.5]),
    ("openai", "stop", ["x", ["x"], ["x"] * 4, "x" * 9999], [["x"] * 5, 1, [1], {}]),
    ("openai", "logit_bias", [{}, {"1": -100, "2": 100}], [{"1": -101}, {"1": 101}, {"1": "1"}, []]),
    (
        "openai",
        "metadata",
        [{}, {str(at): "" for at in range(16)}, {"x" * 64: "x" * 512}],
        [{str(at): "" for at in range(17)}, {"x" * 65: ""}, {"x": "x" * 513}, {"x": 1}],
    ),
    ("openai", "tools", [[WEATHER] * 128], [[{"type": "function", "function": {"name": "x" * 65}}], [{}], {}]),
    ("openai", "functions", [[{"name": "f"}] * 128], [[], [{"name": "f"}] * 129, [{"name": "a b"}]]),
    ("openai", "modalities", [["text"], ["text", "audio"], ["audio"]], [["video"], "text"]),
    ("openai", "reasoning_effort", ["none", "minimal", "low", "medium", "high", "xhigh", "max"], ["huge", "", 1]),
    ("openai", "verbosity", ["low", "medium", "high"], ["none", 1]),
    ("openai", "service_tier", ["auto", "default", "flex", "scale", "priority", "fast"], ["slow", 1]),
    ("openai", "prompt_cache_retention", ["in_memory", "24h"], ["1h"]),
    ("openai", "safety_identifier", ["x" * 128], ["x" * 129, 1]),
    ("openai", "response_format", [{"type": "text"}, {"type": "json_object"}], [{"type": "xml"}, {}, "text"]),
    ("openai", "stream_options", [{}, {"include_usage": True, "include_obfuscation": False}], [{"include_usage": 1}]),
    ("openai", "prediction", [{"type": "content", "content": [{"type": "text", "text": "x"}]}], [{}, "x"]),
    ("openai", "web_search_options", [{}, {"search_context_size": "high"}], [{"search_context_size": "all"}]),
    ("vllm", "temperature", [0, 2], [-0.1, ABOVE_2]),
    ("vllm", "top_p", [5e-324, 1], [0, -0.1, math.nextafter(1.0, 2)]),
    ("vllm", "top_k", [-1, 0, 1, 2**40], [-2, 1.5]),
    ("vllm", "min_p", [0, 1], [-5e-324, math.nextafter(1.0, 2)]),
    ("vllm", "repetition_penalty", [5e-324, 1, 1e6], [0, -1]),
    ("vllm", "frequency_penalty", [-2, 2], [-ABOVE_2, ABOVE_2]),
    ("vllm", "n", [1, 16384], [0]),
    ("vllm", "seed", [0, INT64], [INT64 + 1]),
    ("vllm", "max_tokens", [1], [0]),
    ("vllm", "min_tokens", [0, 5], [-1]),
    ("vllm", "top_logprobs", [-1, 0, 20], [-2, 21]),
    ("vllm", "prompt_logprobs", [-1, 0, 20], [-2, 21]),
    ("vllm", "logprob_token_ids", [[], [0] * 128], [[0] * 129, [-1]]),
    ("vllm", "allowed_token_ids", [[0]], [[], [-1]]),
    ("vllm", "stop_token_ids", [[], [0, 2**31 - 1]], [[-1], [2**31], [None]]),
    ("vllm", "stop", ["x", [], ["x"] * 4], [["x"] * 5, "", [""], 1]),
    ("vllm", "bad_words", [[], ["x"]], [[""], [1], "x"]),
    (
        "vllm",
        "tools",
        [[WEATHER], [{"function": {"name": "a b"}}]],
        [[], [{"type": "custom", "custom": {"name": "f"}}]],
    ),
    ("vllm", "tool_choice", ["none", "auto", "required"], ["any", {"type": "function"}]),
    ("vllm", "cache_salt", ["x", "x" * 128], ["", "x" * 129, "a/b", "a\\b", "a@b", "a\0b"]),
    ("vllm", "priority", [-INT64 - 1, 0, INT64], [-INT64 - 2, INT64 + 1]),
    ("vllm", "truncate_prompt_tokens", [-1, 0, INT64], [-2, INT64 + 1]),
    ("vllm", "thinking_token_budget", [-1, 0, 2**40], [-2, "1", True]),
    ("vllm", "stream_interval", [1, 64], [0]),
    ("vllm", "routed_experts_prompt_start", [0, 7], [-1]),
    ("vllm", "logit_bias", [{}, {"1": -1000, "2": 0.5}], [{"x": 1}, {"-1": 1}]),
    ("vllm", "documents", [[], [{"title": "x"}]], [[{"title": 1}], ["x"]]),
    (
        "vllm",
        "structured_outputs",
        [{"json": {}}, {"regex": "x"}, {"choice": ["x"]}],
        [{}, {"regex": "x", "choice": []}],
    ),
    ("vllm", "mm_payload", ["tensors", "none"], ["all"]),
]


def request(parameter: Parameter, value: Any) -> dict[str, Any]:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 2, **parameter.needs}
    return {**body, parameter.name: value}


def refused(dialect: str, parameter: Parameter, value: Any) -> bool:
    return bool(VALIDATORS[dialect].request_problems(request(parameter, value)))


# requests


@pytest.mark.parametrize("dialect", COMPARED)
def test_a_dialect_has_the_parameters_of_its_reference(dialect: str) -> None:
    assert sorted(PARAMETERS[dialect]) == sorted(CONTRACTS[dialect].parameters)


@pytest.mark.parametrize("dialect", COMPARED)
def test_defaults_are_those_of_the_reference(dialect: str) -> None:
    parameters = CONTRACTS[dialect].parameters
    assert DEFAULTS[dialect] == {name: item.default for name, item in parameters.items() if item.default is not ABSENT}


@pytest.mark.parametrize("dialect", COMPARED)
def test_null_is_taken_where_the_types_have_it(dialect: str) -> None:
    nulls = {name: item.null for name, item in CONTRACTS[dialect].parameters.items()}
    assert NULL_UNSAID[dialect] == {name for name, null in nulls.items() if null.keyword is not Keyword.MUST}
    assert NULL_REFUSED[dialect] | ({"model"} & NULL_UNSAID[dialect]) == {
        name for name, null in nulls.items() if null.expect == "reject"
    }


@pytest.mark.parametrize(
    ("dialect", "name", "inside", "outside"), BOUNDS, ids=lambda item: item if isinstance(item, str) else ""
)
def test_bounds_are_exact(dialect: str, name: str, inside: list[Any], outside: list[Any]) -> None:
    parameter = CONTRACTS[dialect].parameters[name]
    assert [value for value in inside if refused(dialect, parameter, value)] == []
    assert [value for value in outside if not refused(dialect, parameter, value)] == []


def test_fields_that_vllm_names_as_removed_are_no_parameters() -> None:
    assert [
        *("guided_choice", "guided_decoding_backend", "guided_grammar", "guided_json", "guided_regex"),
        "guided_whitespace_pattern",
    ] == sorted(CONTRACTS["vllm"].unsupported)
    assert set() == set(CONTRACTS["vllm"].unsupported) & set(CONTRACTS["vllm"].parameters)


@pytest.mark.parametrize("dialect", COMPARED)
@pytest.mark.parametrize(
    ("members", "taken"),
    [
        ({"stream": True, "stream_options": {"include_usage": True}}, True),
        ({"stream_options": {"include_usage": True}}, False),
        ({"stream": False, "stream_options": {"include_usage": True}}, False),
        ({"stream_options": None}, True),
        ({"top_logprobs": 2}, False),
        ({"top_logprobs": 2, "logprobs": True}, True),
        ({"top_logprobs": 2, "logprobs": False}, False),
        ({"top_logprobs": 0}, True),
    ],
    ids=str,
)
def test_what_one_parameter_asks_of_another_is_kept(dialect: str, members: dict[str, Any], taken: bool) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}], **members}
    assert taken == (VALIDATORS[dialect].request_problems(body) == ())


@pytest.mark.parametrize(
    ("members", "taken"),
    [
        ({"n": 2, "temperature": 0}, False),
        ({"n": 2}, True),
        ({"tool_choice": "auto"}, False),
        ({"tool_choice": "none"}, True),
        ({"tool_choice": "auto", "tools": [WEATHER]}, True),
        ({"logprob_token_ids": [1]}, False),
        ({"logprob_token_ids": []}, True),
        ({"stream_options": {}}, True),
    ],
    ids=str,
)
def test_what_vllm_checks_across_parameters_is_checked(members: dict[str, Any], taken: bool) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}], **members}
    assert taken == (VALIDATORS["vllm"].request_problems(body) == ())


@pytest.mark.parametrize("dialect", COMPARED)
def test_valid_requests_can_be_generated_from_the_description(dialect: str) -> None:
    """Each rule doubles what a generator has to look at; beyond a handful it gives up."""
    description = schemathesis.openapi.from_dict(describe_down(CONTRACTS[dialect]))
    made: list[Any] = []

    @settings(
        max_examples=10,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=description[CONTRACTS[dialect].path]["POST"].as_strategy())
    def look(case: schemathesis.Case) -> None:
        made.append(case.body)
        assert VALIDATORS[dialect].request_problems(case.body) == ()

    look()
    assert len(made) == 10


def test_sound_is_asked_for_with_a_voice() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}], "modalities": ["text", "audio"]}
    voice = {"voice": {"id": "voice_1"}, "format": "mp3"}
    assert [problem.keyword for problem in VALIDATORS["openai"].request_problems(body)] == ["rule"]
    assert VALIDATORS["openai"].request_problems({**body, "audio": voice}) == ()
    assert VALIDATORS["openai"].request_problems({**body, "modalities": None}) == ()


IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}}
SOUND = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}
CALL = {"id": "call-1", "type": "function", "function": {"name": "f", "arguments": "{}"}}


@pytest.mark.parametrize(
    ("message", "openai", "vllm"),
    [
        ({"role": "developer", "content": "x"}, True, True),
        ({"role": "system", "content": [{"type": "text", "text": "x"}]}, True, True),
        ({"role": "user", "content": [IMAGE, SOUND]}, True, True),
        ({"role": "user", "content": [{"type": "file", "file": {"file_id": "file-1"}}]}, True, False),
        ({"role": "user", "content": [{"type": "video_url", "video_url": {"url": "x"}}]}, False, True),
        ({"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}, False, False),
        ({"role": "system", "content": [IMAGE]}, False, False),
        ({"role": "user", "content": None}, False, False),
        ({"role": "user"}, False, False),
        ({"role": "assistant"}, False, False),
        ({"role": "assistant", "content": None}, False, False),
        ({"role": "assistant", "content": ""}, True, True),
        ({"role": "assistant", "tool_calls": [CALL]}, True, True),
        ({"role": "assistant", "content": None, "tool_calls": [CALL]}, True, True),
        ({"role": "assistant", "tool_calls": [{**CALL, "id": 1}]}, False, False),
        ({"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}, True, False),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]}, True, False),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "no"}] * 2}, False, False),
        ({"role": "tool", "content": "x", "tool_call_id": "call-1"}, True, True),
        ({"role": "tool", "content": "x"}, False, False),
        ({"role": "function", "content": None, "name": "f"}, True, False),
        ({"role": "wizard", "content": "x"}, False, False),
    ],
    ids=str,
)
def test_messages_are_those_of_the_reference(message: dict[str, Any], openai: bool, vllm: bool) -> None:
    found = {dialect: VALIDATORS[dialect].problems("Message", message) == () for dialect in COMPARED}
    assert {"openai": openai, "vllm": vllm} == found


def test_a_tool_may_be_custom_with_openai() -> None:
    grammar = {"type": "grammar", "grammar": {"definition": "start: x", "syntax": "lark"}}
    custom = {"type": "custom", "custom": {"name": "f", "format": grammar}}
    assert VALIDATORS["openai"].problems("Tool", custom) == ()
    assert VALIDATORS["openai"].problems("Tool", {"type": "custom", "custom": {"format": grammar}}) != ()
    assert VALIDATORS["vllm"].problems("Tool", custom) != ()


# answers


def answer(**members: Any) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": "Hi", "refusal": None, "annotations": []}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop"}
    usage = {"prompt_tokens": 9, "completion_tokens": 12, "total_tokens": 21}
    head = {"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "m", "service_tier": "default"}
    return {**head, "choices": [choice], "usage": usage, "system_fingerprint": "fp_1", **members}


def chunk(**members: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": {"role": "assistant", "content": ""}, "logprobs": None, "finish_reason": None}
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {**head, "choices": [choice], **members}


TOKEN = {"token": "Hi", "logprob": -0.5, "bytes": [72, 105]}
OPENAI_USAGE = {
    "prompt_tokens": 9,
    "completion_tokens": 12,
    "total_tokens": 21,
    "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
    "completion_tokens_details": {"reasoning_tokens": 4, "accepted_prediction_tokens": 0},
}


@pytest.mark.parametrize("dialect", COMPARED)
def test_answers_as_the_interface_shows_them_fit(dialect: str) -> None:
    problems = VALIDATORS[dialect].problems
    assert problems("ChatCompletion", answer(usage=OPENAI_USAGE)) == ()
    for reason in ("stop", "length", "tool_calls"):
        choice = {**answer()["choices"][0], "finish_reason": reason}
        assert problems("ChatCompletion", answer(choices=[choice])) == ()
    scored = {"content": [{**TOKEN, "top_logprobs": [TOKEN]}]}
    choice = {**answer()["choices"][0], "logprobs": scored}
    assert problems("ChatCompletion", answer(choices=[choice])) == ()
    calls = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    choice = {"index": 0, "message": calls, "logprobs": None, "finish_reason": "tool_calls"}
    assert problems("ChatCompletion", answer(choices=[choice])) == ()
    assert problems("ChatCompletionChunk", chunk()) == ()
    assert problems("ChatCompletionChunk", chunk(usage=None)) == ()
    assert problems("ChatCompletionChunk", chunk(choices=[], usage=OPENAI_USAGE)) == ()
    for delta in ({}, {"content": "Hi"}, {"tool_calls": [{"index": 0, "function": {"arguments": "{"}}]}):
        assert problems("ChatCompletionChunk", chunk(choices=[{"index": 0, "delta": delta}])) == ()


@pytest.mark.parametrize("dialect", COMPARED)
@pytest.mark.parametrize(
    "members",
    [
        {"id": ""},
        {"id": None},
        {"object": "chat.completions"},
        {"created": 1.5},
        {"model": None},
        {"choices": []},
        {"usage": {"prompt_tokens": 9}},
        {"usage": {"prompt_tokens": -1, "completion_tokens": 1, "total_tokens": 0}},
        {"choices": [{**answer()["choices"][0], "finish_reason": ""}]},
        {"choices": [{**answer()["choices"][0], "finish_reason": None}]},
        {"choices": [{**answer()["choices"][0], "logprobs": ""}]},
        {"choices": [{**answer()["choices"][0], "message": {"role": "assistant", "content": 7}}]},
    ],
    ids=str,
)
def test_answers_that_break_the_reference_do_not_fit(dialect: str, members: dict[str, Any]) -> None:
    assert VALIDATORS[dialect].problems("ChatCompletion", answer(**members)) != ()


@pytest.mark.parametrize("dialect", COMPARED)
def test_what_every_answer_and_chunk_has_cannot_be_left_out(dialect: str) -> None:
    for schema, whole in (("ChatCompletion", answer()), ("ChatCompletionChunk", chunk())):
        needed = {
            name
            for name in whole
            if VALIDATORS[dialect].problems(schema, {key: value for key, value in whole.items() if key != name})
        }
        assert needed == {"id", "object", "created", "model", "choices"}


def test_each_interface_has_reasons_to_finish_of_its_own() -> None:
    found = {
        dialect: CONTRACTS[dialect].schemas["Choice"]["properties"]["finish_reason"]["enum"] for dialect in COMPARED
    }
    assert found == {
        "openai": ["stop", "length", "tool_calls", "content_filter", "function_call"],
        "vllm": ["stop", "length", "tool_calls", "abort", "repetition"],
    }
    for dialect, reasons in found.items():
        streamed = CONTRACTS[dialect].schemas["ChunkChoice"]["properties"]["finish_reason"]["enum"]
        assert [*reasons, None] == streamed


def test_vllm_shows_thoughts_and_why_it_stopped() -> None:
    message = {"role": "assistant", "content": "Hi", "reasoning": "Hm.", "refusal": None}
    choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "stop", "stop_reason": 151645}
    plain = answer(choices=[{**choice, "token_ids": None}], prompt_logprobs=None, kv_transfer_params=None)
    assert VALIDATORS["vllm"].problems("ChatCompletion", plain) == ()
    assert VALIDATORS["vllm"].problems("ChatCompletion", answer(choices=[{**choice, "stop_reason": [1]}])) != ()
    piece = {"index": 0, "delta": {"reasoning": "Hm."}, "finish_reason": None}
    assert VALIDATORS["vllm"].problems("ChatCompletionChunk", chunk(choices=[piece])) == ()


@pytest.mark.parametrize("dialect", COMPARED)
def test_the_form_of_a_stream_orders_every_member_of_a_chunk(dialect: str) -> None:
    contract = CONTRACTS[dialect]
    assert set(contract.schemas["ChatCompletionChunk"]["properties"]) == set(contract.stream.key_order)
    assert (
        contract.stream.role,
        contract.stream.usage,
        contract.stream.opening_chunk,
        contract.stream.full_text,
    ) == ("first-delta", "on-request", True, "never")


OF_FEATURES = ("choices.", "logprobs.", "tools.", "structured.", "reasoning.", "effects.", "relations.")


def test_what_is_demanded_differs_where_the_references_do() -> None:
    found = [CONTRACTS[dialect].requirements for dialect in COMPARED]
    openai, vllm = ({key: row for key, row in rows.items() if not key.startswith(OF_FEATURES)} for rows in found)
    assert set(openai) - set(vllm) == {
        *("auth.key-demanded", "auth.wrong-key-refused", "auth.refused-before-validation"),
        *("auth.refused-when-streaming", "stream.usage-null-elsewhere", "parameters.required-demanded"),
        *("auth.scheme-in-any-case", "auth.key-not-repeated", "auth.status-is-401", "auth.challenge-given"),
    }
    assert set(vllm) - set(openai) == {
        *("sampling.eos-ignored", "finish.length-when-cut", "usage.completion-reaches-limit"),
        *("stop.included-on-request", "stop.included-when-streamed-too"),
    }
    assert Keyword.MUST is openai["stream.usage-on-request"].keyword is vllm["stream.usage-on-request"].keyword


# errors


def test_errors_stand_inside_an_object() -> None:
    wrong = {"message": "no", "type": "invalid_request_error", "param": None, "code": None}
    assert (400, {"error": wrong}) == CONTRACTS["openai"].errors.render("invalid_request", "no")
    assert (404, {"error": {**wrong, "code": "model_not_found"}}) == CONTRACTS["openai"].errors.render(
        "unknown_model", "no"
    )
    assert (401, {"error": {**wrong, "code": "invalid_api_key"}}) == CONTRACTS["openai"].errors.render(
        "invalid_key", "no"
    )
    missing = {"message": "no", "type": "NotFoundError", "param": None, "code": 404}
    assert (404, {"error": missing}) == CONTRACTS["vllm"].errors.render("unknown_model", "no")
    assert [
        CONTRACTS["vllm"].errors.render(kind, "no")[0]
        for kind in ("invalid_json", "invalid_request", "unsupported_media_type")
    ] == [400] * 3


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"error": "no"},
        {"error": {"message": "no"}},
        {"object": "error", "message": "no", "type": "BadRequestError", "param": None, "code": 400},
        {"error": {"message": "", "type": "t", "param": None, "code": None}},
        {"error": {"message": "no", "type": None, "param": None, "code": None}},
    ],
    ids=str,
)
def test_other_envelopes_do_not_fit(body: dict[str, Any]) -> None:
    for dialect in COMPARED:
        assert VALIDATORS[dialect].problems("ErrorEnvelope", body) != ()


def test_an_envelope_is_filled_at_any_depth_and_nowhere_else() -> None:
    form = {
        "a": {"b": {"c": "{message}", "d": [1, "{phrase}"]}},
        "e": "{phrase}",
        "f": "{code}",
        "g": "message",
        "h": None,
    }
    table = ErrorTable({}, form, {"invalid_json": ErrorKind(400, "phrase", "name")})
    assert table.render("invalid_json", "{code}") == (
        400,
        {"a": {"b": {"c": "{code}", "d": [1, "phrase"]}}, "e": "phrase", "f": "name", "g": "message", "h": None},
    )


# the vendor's own types, where they are installed in the pinned version


def literals(hint: Any) -> set[Any]:
    """Every literal value of a type, at any depth."""
    if get_origin(hint) is Literal:
        return set(get_args(hint))
    return {value for part in get_args(hint) for value in literals(part)}


def test_parameters_and_their_values_are_those_of_the_pinned_types() -> None:
    openai = pytest.importorskip("openai")
    if openai.__version__ not in CONTRACTS["openai"].document.version:
        pytest.skip(f"openai {openai.__version__} is not the pinned version")
    from openai.types.chat import ChatCompletion
    from openai.types.chat import completion_create_params as params

    hints = get_type_hints(params.CompletionCreateParamsBase)
    assert sorted({*hints, "stream"}) == sorted(CONTRACTS["openai"].parameters)
    for name in ("reasoning_effort", "service_tier", "verbosity", "prompt_cache_retention"):
        (kind,) = CONTRACTS["openai"].parameters[name].schema["anyOf"]
        assert literals(hints[name]) == set(kind["enum"]), name
    assert literals(hints["modalities"]) == set(CONTRACTS["openai"].parameters["modalities"].schema["items"]["enum"])
    choice = get_args(ChatCompletion.model_fields["choices"].annotation)[0]
    reasons = CONTRACTS["openai"].schemas["Choice"]["properties"]["finish_reason"]["enum"]
    assert literals(choice.model_fields["finish_reason"].annotation) == set(reasons)
