"""Parameters of the vendor dialects, compared with lists written by hand from the documents.

The modules `test_compared_*` do the same for `openai` and `vllm`.
"""

from __future__ import annotations

import math
from typing import Any

import pytest

from openapi.contract.contract import ABSENT, Keyword, Parameter, load
from openapi.tests.contract.documented_dialects import DIALECTS, VALIDATORS

NATIVE = [
    *("model", "messages", "stream", "presence_penalty", "frequency_penalty", "repetition_penalty", "temperature"),
    *("top_p", "top_k", "seed", "stop", "stop_token_ids", "include_stop_str_in_output", "skip_special_tokens"),
    *("ignore_eos", "max_tokens", "tools", "tool_choice"),
]
PARAMETERS = {
    "mindie-1.0": NATIVE,
    "mindie-vllm-1.0": NATIVE,
    "siliconstorm": NATIVE,
    "mindie-2.3": [
        *NATIVE,
        *("use_beam_search", "best_of", "n", "logprobs", "top_logprobs", "chat_template_kwargs"),
    ],
    "ovms-2024": [
        *("model", "stop", "stream", "stream_options", "messages", "max_tokens", "ignore_eos"),
        *("include_stop_str_in_output", "logprobs", "n", "best_of", "diversity_penalty", "length_penalty"),
        *("temperature", "top_p", "top_k", "repetition_penalty", "frequency_penalty", "presence_penalty", "seed"),
    ],
}

NATIVE_DEFAULTS = {
    "stream": False,
    "presence_penalty": 0.0,
    "frequency_penalty": 0.0,
    "repetition_penalty": 1.0,
    "temperature": 1.0,
    "top_p": 1.0,
    "stop": None,
    "stop_token_ids": None,
    "include_stop_str_in_output": False,
    "skip_special_tokens": True,
    "ignore_eos": False,
    "tool_choice": "auto",
}
DEFAULTS: dict[str, dict[str, Any]] = {
    "mindie-1.0": NATIVE_DEFAULTS,
    "mindie-vllm-1.0": {**NATIVE_DEFAULTS, "tools": None},
    "siliconstorm": NATIVE_DEFAULTS,
    "mindie-2.3": {
        **NATIVE_DEFAULTS,
        "use_beam_search": False,
        "best_of": 1,
        "n": 1,
        "logprobs": False,
        "top_logprobs": 0,
    },
    "ovms-2024": {
        "stream": False,
        "ignore_eos": False,
        "logprobs": False,
        "n": 1,
        "best_of": 1,
        "diversity_penalty": 1.0,
        "length_penalty": 1.0,
        "temperature": 1.0,
        "top_p": 1.0,
        "repetition_penalty": 1.0,
        "frequency_penalty": 0.0,
        "presence_penalty": 0.0,
        "seed": 0,
    },
}

NULL_STATED = {  # a server must accept null, because the text or an example of the document says so
    "mindie-1.0": {"stop", "stop_token_ids", "tool_choice"},
    "mindie-vllm-1.0": set(NATIVE) - {"model", "messages"},
    "siliconstorm": {"stop", "stop_token_ids", "tool_choice", "seed"},
    "mindie-2.3": {"stop", "stop_token_ids", "tool_choice", "seed", "best_of", "n", "top_logprobs"},
    "ovms-2024": {"top_k"},
}

NEUTRAL: dict[str, list[Any]] = {  # values that a server without the feature accepts
    "n": [1, None],
    "best_of": [1, None],
    "use_beam_search": [False, None],
    "logprobs": [False, None],
    "top_logprobs": [0, None],
    "tools": [None, []],
    "tool_choice": ["none", "auto", None],
    "diversity_penalty": [1.0],
    "length_penalty": [1.0],
    "stop": [[], None],
    "stop_token_ids": [[], None],
    "include_stop_str_in_output": [False, None],
}

UINT64 = 2**64 - 1
ABOVE_2 = math.nextafter(2.0, 3.0)
BOUNDS: list[tuple[str, str, list[Any], list[Any]]] = [
    ("mindie-2.3", "top_p", [math.nextafter(1e-6, 1), 1.0, 1], [1e-6, 0, -0.1, math.nextafter(1.0, 2), "1"]),
    ("mindie-1.0", "top_p", [5e-324, 1e-6, 1.0], [0, 0.0, -5e-324, 1.0000000000000002]),
    ("mindie-vllm-1.0", "top_p", [5e-324, 1], [0, 1.1]),
    ("ovms-2024", "top_p", [5e-324, 1], [0, 1.1, -1]),
    ("mindie-2.3", "temperature", [0, 0.0, 5e-324, 2.0, 2], [-5e-324, ABOVE_2, 2.1, "1", True]),
    ("mindie-1.0", "temperature", [0, 2], [-0.1, 2.1]),
    ("siliconstorm", "temperature", [0, 2], [-0.1, 2.1]),
    ("mindie-vllm-1.0", "temperature", [0, 2, 2.1, 1e30, 1.7976931348623157e308], [-0.1, -5e-324]),
    ("ovms-2024", "temperature", [0, 2], [-0.1, 2.1]),
    ("mindie-2.3", "top_k", [0, 1, 2**31 - 1], [-1, 2**31, 1.5, "1"]),
    ("mindie-1.0", "top_k", [0, 1, 2**31 - 1], [-1, 2**31]),
    ("siliconstorm", "top_k", [0, 1, 2**31 - 1], [-1, 2**31]),
    ("mindie-vllm-1.0", "top_k", [-1, 1, 2**31 - 1], [0, -2, 2**31]),
    ("ovms-2024", "top_k", [-1, 0, 1, 2**31 - 1], [-2, 2**31]),
    ("mindie-2.3", "seed", [0, 1, 2**63 - 1, 2**63, UINT64 - 1, UINT64], [-1, UINT64 + 1, 1.5, "0", True]),
    ("mindie-vllm-1.0", "seed", [0, UINT64], [-1, UINT64 + 1]),
    ("ovms-2024", "seed", [0, 2**32 - 1], [-1, 2**32, 1.5]),
    ("mindie-2.3", "repetition_penalty", [5e-324, 1, 2.0], [0, 0.0, -1, ABOVE_2]),
    ("ovms-2024", "repetition_penalty", [5e-324, 2.5], [0, -1]),
    ("mindie-2.3", "presence_penalty", [-2.0, 0, 2.0], [-ABOVE_2, ABOVE_2]),
    ("mindie-2.3", "frequency_penalty", [-2.0, 0, 2.0], [-ABOVE_2, ABOVE_2]),
    ("ovms-2024", "presence_penalty", [-2, 2], [-2.1, 2.1]),
    ("ovms-2024", "frequency_penalty", [-2, 2], [-2.1, 2.1]),
    ("mindie-2.3", "max_tokens", [1, 2**31 - 1], [0, -1, 2**31, "1", True, 1.5]),
    ("ovms-2024", "max_tokens", [1, 2**31], [0, -1, "1"]),
    ("mindie-2.3", "best_of", [1, 128], [0, 129, 1.5]),
    ("mindie-2.3", "n", [1, 128], [0, 129, 1.5]),
    ("mindie-2.3", "top_logprobs", [0, 20], [-1, 21]),
    ("ovms-2024", "best_of", [1, 19], [0, 20]),
    ("mindie-1.0", "stop", ["x" * 1024, ["x"] * 1024, ["x" * 1024] * 32, []], ["x" * 1025, ["x"] * 1025, "", [""]]),
    ("siliconstorm", "stop", ["x" * 1024, ["x" * 1024] * 32], ["x" * 1025, ["x" * 1024] * 32 + ["x"]]),
    ("mindie-vllm-1.0", "stop", ["x" * 32768, ["x" * 32768], ["x"] * 32768], ["x" * 32769, ["x"] * 32769, "", [""]]),
    ("ovms-2024", "stop", ["x", ["x"] * 4, "x" * 5000], [["x"] * 5, 1]),
    ("mindie-1.0", "stop_token_ids", [[2, 13], [], [2**31], [-(2**31) - 1]], [2, ["2"], [None], [1.5]]),
    ("mindie-2.3", "stop_token_ids", [[2, 13], [], [2**31], [-(2**31) - 1], ["2"], [None], [1.5]], [2, "2", {}]),
    ("mindie-2.3", "tool_choice", ["none", "auto", "required"], ["any", 1, {"type": "function"}]),
    ("mindie-2.3", "chat_template_kwargs", [{}, {"enable_thinking": True}], ["x", {"enable_thinking": 1}]),
    ("ovms-2024", "stream_options", [{}, {"include_usage": True}], [True, {"include_usage": "yes"}]),
]


def request(parameter: Parameter, value: Any) -> dict[str, Any]:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 2}
    return {**body, **parameter.companions(value), parameter.name: value}


def is_rejected(dialect: str, parameter: Parameter, value: Any) -> bool:
    return bool(VALIDATORS[dialect].request_problems(request(parameter, value)))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_dialect_has_the_parameters_of_its_document(dialect: str) -> None:
    assert sorted(load(dialect).parameters) == sorted(PARAMETERS[dialect])


@pytest.mark.parametrize("dialect", DIALECTS)
def test_model_and_messages_alone_are_required(dialect: str) -> None:
    assert [name for name, item in load(dialect).parameters.items() if item.required] == ["model", "messages"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_defaults_match_the_document(dialect: str) -> None:
    defaults = {name: item.default for name, item in load(dialect).parameters.items() if item.default is not ABSENT}
    assert defaults == DEFAULTS[dialect]
    assert {name: type(value) for name, value in defaults.items()} == {
        name: type(value) for name, value in DEFAULTS[dialect].items()
    }


@pytest.mark.parametrize("dialect", DIALECTS)
def test_null_must_be_accepted_where_the_document_says_so_or_shows_it(dialect: str) -> None:
    nulls = {name: item.null for name, item in load(dialect).parameters.items()}
    must = {name for name, null in nulls.items() if null.expect == "accept" and null.keyword is Keyword.MUST}
    assert must == NULL_STATED[dialect]
    assert {name for name, null in nulls.items() if null.expect == "reject" and null.keyword is Keyword.MUST} == {
        "model",
        "messages",
    }


@pytest.mark.parametrize("dialect", DIALECTS)
def test_neutral_values_of_capabilities(dialect: str) -> None:
    """OVMS does not accept null, so null is not neutral there."""
    parameters = load(dialect).parameters.values()
    neutral = {item.name: list(item.neutral) for item in parameters if item.capability is not None}
    null = dialect != "ovms-2024"
    assert neutral == {name: [value for value in NEUTRAL[name] if null or value is not None] for name in neutral}


def test_ovms_lists_what_it_does_not_support() -> None:
    assert sorted(load("ovms").unsupported) == [
        *("detokenize", "early_stopping", "function_call", "functions", "logit_bias", "logits_processors"),
        *("min_p", "min_tokens", "prompt_logprobs", "response_format", "skip_special_tokens"),
        *("spaces_between_special_tokens", "stop_token_ids", "tool_choice", "tools", "top_logprobs"),
        *("truncate_prompt_tokens", "use_beam_search", "user"),
    ]
    assert set(load("ovms").unsupported) & set(load("ovms").parameters) == set()
    assert [dialect for dialect in DIALECTS if load(dialect).unsupported] == ["ovms-2024"]


@pytest.mark.parametrize(
    ("dialect", "name", "inside", "outside"), BOUNDS, ids=lambda item: item if isinstance(item, str) else ""
)
def test_bounds_are_exact(dialect: str, name: str, inside: list[Any], outside: list[Any]) -> None:
    parameter = load(dialect).parameters[name]
    assert [value for value in inside if is_rejected(dialect, parameter, value)] == []
    assert [value for value in outside if not is_rejected(dialect, parameter, value)] == []


@pytest.mark.parametrize("dialect", [dialect for dialect in DIALECTS if dialect != "ovms-2024"])
def test_messages_are_limited_to_four_mebibytes_of_characters(dialect: str) -> None:
    parameter = load(dialect).parameters["messages"]
    limit = 4 * 2**20 - len("user")
    assert not is_rejected(dialect, parameter, [{"role": "user", "content": "x" * limit}])
    assert is_rejected(dialect, parameter, [{"role": "user", "content": "x" * (limit + 1)}])


def test_media_limits_differ_by_release() -> None:
    limits = {
        dialect: [
            load(dialect).schemas[f"{kind}Part"]["properties"][f"{kind.lower()}_url"]["x-maxMediaBytes"] // 2**20
            for kind in ("Image", "Video", "Audio")
        ]
        for dialect in DIALECTS
        if "media" in load(dialect).capabilities
    }
    assert limits == {
        "mindie-1.0": [20, 512, 20],
        "mindie-2.3": [40, 512, 40],
        "mindie-vllm-1.0": [20, 512, 20],
        "siliconstorm": [20, 512, 20],
    }


def test_only_2_3_accepts_a_function_with_empty_parameters() -> None:
    def rejects_empty(dialect: str) -> bool:
        tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
        return bool(VALIDATORS[dialect].problems("Tool", tool))

    assert {dialect: rejects_empty(dialect) for dialect in DIALECTS if "tools" in load(dialect).capabilities} == {
        "mindie-1.0": True,
        "mindie-2.3": False,
        "mindie-vllm-1.0": True,
        "siliconstorm": True,
    }
