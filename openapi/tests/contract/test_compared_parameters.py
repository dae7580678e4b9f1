"""Parameters of the compared interfaces, compared with lists written by hand from their references."""

from __future__ import annotations

import math
from typing import Any

import pytest

from openapi.contract.contract import ABSENT, Keyword, Parameter
from openapi.tests.contract.compared_dialects import COMPARED, CONTRACTS, VALIDATORS, WEATHER

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

NULL_UNSTATED = {  # the types neither contain null nor forbid it
    "openai": {
        *("function_call", "functions", "parallel_tool_calls", "prompt_cache_options", "response_format", "tools"),
        *("tool_choice", "user", "web_search_options"),
    },
    "vllm": {"model", "request_id"},
}
NULL_REJECTED = {
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
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 2}
    return {**body, **parameter.companions(value), parameter.name: value}


def is_rejected(dialect: str, parameter: Parameter, value: Any) -> bool:
    return bool(VALIDATORS[dialect].request_problems(request(parameter, value)))


@pytest.mark.parametrize("dialect", COMPARED)
def test_a_dialect_has_the_parameters_of_its_reference(dialect: str) -> None:
    assert sorted(PARAMETERS[dialect]) == sorted(CONTRACTS[dialect].parameters)


@pytest.mark.parametrize("dialect", COMPARED)
def test_defaults_match_the_reference(dialect: str) -> None:
    parameters = CONTRACTS[dialect].parameters
    assert DEFAULTS[dialect] == {name: item.default for name, item in parameters.items() if item.default is not ABSENT}


@pytest.mark.parametrize("dialect", COMPARED)
def test_null_is_accepted_where_the_types_contain_it(dialect: str) -> None:
    nulls = {name: item.null for name, item in CONTRACTS[dialect].parameters.items()}
    assert NULL_UNSTATED[dialect] == {name for name, null in nulls.items() if null.keyword is not Keyword.MUST}
    assert NULL_REJECTED[dialect] | ({"model"} & NULL_UNSTATED[dialect]) == {
        name for name, null in nulls.items() if null.expect == "reject"
    }


@pytest.mark.parametrize(
    ("dialect", "name", "inside", "outside"), BOUNDS, ids=lambda item: item if isinstance(item, str) else ""
)
def test_bounds_are_exact(dialect: str, name: str, inside: list[Any], outside: list[Any]) -> None:
    parameter = CONTRACTS[dialect].parameters[name]
    assert [value for value in inside if is_rejected(dialect, parameter, value)] == []
    assert [value for value in outside if not is_rejected(dialect, parameter, value)] == []


def test_fields_that_vllm_lists_as_removed_are_not_parameters() -> None:
    assert [
        *("guided_choice", "guided_decoding_backend", "guided_grammar", "guided_json", "guided_regex"),
        "guided_whitespace_pattern",
    ] == sorted(CONTRACTS["vllm"].unsupported)
    assert set() == set(CONTRACTS["vllm"].unsupported) & set(CONTRACTS["vllm"].parameters)
