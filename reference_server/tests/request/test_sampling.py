"""Tests that parameters reach the engine, and that missing ones have their documented defaults."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import pytest

from openapi.contract.contract import names
from reference_server.engine import Repetition, SamplingParams
from reference_server.request.chat_request import RequestReader
from reference_server.request.response_options import ResponseOptions
from reference_server.tests.request_reader import MESSAGES, contract_of, read

DIALECTS = sorted(set(names().values()))


def test_missing_parameters_have_their_documented_defaults() -> None:
    request = read()
    assert SamplingParams(reasoning=True) == request.params
    assert (request.stream, request.options) == (False, ResponseOptions())
    assert request.template_kwargs == {}


PLAIN = SamplingParams()
SEARCH = SamplingParams(beam_search=True)


@pytest.mark.parametrize(
    ("dialect", "sent", "expected"),
    [
        ("mindie", {}, PLAIN),
        ("mindie", {"n": 1, "best_of": None}, PLAIN),
        ("mindie", {"n": 3}, replace(PLAIN, n=3)),
        ("mindie", {"n": 3, "best_of": 5}, replace(PLAIN, n=5, best_of=5)),
        ("mindie", {"n": 3, "best_of": 2}, replace(PLAIN, n=2, best_of=2)),
        ("mindie", {"best_of": 5}, replace(PLAIN, n=5, best_of=5)),
        ("mindie", {"use_beam_search": True}, replace(SEARCH, best_of=1)),
        ("mindie", {"use_beam_search": True, "n": 3}, replace(SEARCH, n=3, best_of=3)),
        ("mindie", {"use_beam_search": True, "n": 3, "best_of": 1}, replace(SEARCH, n=3, best_of=3)),
        ("mindie", {"use_beam_search": True, "n": 2, "best_of": 4}, replace(SEARCH, n=2, best_of=4)),
        ("mindie", {"use_beam_search": False, "best_of": 4}, replace(PLAIN, n=4, best_of=4)),
        ("mindie", {"length_penalty": 3.0, "diversity_penalty": 2.0}, PLAIN),
        ("ovms", {"best_of": 1}, replace(PLAIN, best_of=1)),
        ("vllm", {"cache_salt": "ann"}, replace(PLAIN, cache_salt="ann")),
        ("openai", {"prediction": {"type": "content", "content": "Hi"}}, replace(PLAIN, predicted="Hi")),
        ("ovms", {"best_of": 4}, replace(SEARCH, best_of=4)),
        ("ovms", {"best_of": 4, "n": 2, "length_penalty": -1}, replace(SEARCH, n=2, best_of=4, length_penalty=-1)),
        (
            "ovms",
            {"best_of": 4, "diversity_penalty": 0.5},
            replace(SEARCH, best_of=4, beam_groups=4, diversity_penalty=0.5),
        ),
        (
            "vllm",
            {"n": 3, "use_beam_search": True, "length_penalty": 2},
            replace(SEARCH, n=3, best_of=3, length_penalty=2),
        ),
        ("openai", {"n": 2}, replace(PLAIN, n=2)),
        ("openai", {"n": 2, "best_of": 4, "use_beam_search": True}, replace(PLAIN, n=2)),
    ],
)
def test_choices_and_beam_searches_follow_the_dialect(
    dialect: str, sent: dict[str, Any], expected: SamplingParams
) -> None:
    params = read(dialect, **sent).params
    assert expected == replace(params, reasoning=False, seed=None)


@pytest.mark.parametrize(
    ("dialect", "sent", "expected"),
    [
        ("mindie", {}, None),
        ("mindie", {"logprobs": False}, None),
        ("mindie", {"logprobs": False, "top_logprobs": 0}, None),
        ("mindie", {"logprobs": True}, 0),
        ("mindie", {"logprobs": True, "top_logprobs": 3}, 3),
        ("mindie", {"top_logprobs": 3, "stream": True}, 3),
        ("mindie", {"top_logprobs": 0}, 0),
        ("mindie", {"logprobs": None, "top_logprobs": None}, None),
        ("openai", {"top_logprobs": 0}, None),
        ("openai", {"logprobs": True, "top_logprobs": 2, "stream": True}, 2),
        ("ovms", {"logprobs": True}, 0),
        ("ovms", {"logprobs": True, "stream": True}, None),
        ("mindie-1.0", {"logprobs": True, "top_logprobs": 3}, None),
    ],
)
def test_logprobs_are_requested_as_in_the_dialect(dialect: str, sent: dict[str, Any], expected: int | None) -> None:
    assert expected == read(dialect, **sent).params.logprobs


@pytest.mark.parametrize("dialect", DIALECTS)
def test_null_means_the_default_wherever_it_is_accepted(dialect: str) -> None:
    accepted = [
        name
        for name, parameter in contract_of(dialect).parameters.items()
        if parameter.null.expect == "accept" and not parameter.required
    ]
    assert read(dialect) == read(dialect, **dict.fromkeys(accepted))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_neutral_values_of_lacking_parameters_change_nothing(dialect: str) -> None:
    lacking = [parameter for parameter in contract_of(dialect).parameters.values() if parameter.lacking]
    for parameter in lacking:
        for value in parameter.neutral:
            if value is not None:
                assert read(dialect) == read(dialect, **{parameter.name: value})


def test_every_sampling_parameter_reaches_the_engine() -> None:
    request = read(
        max_tokens=20.0,
        temperature=0,
        top_p=0.95,
        top_k=7,
        presence_penalty=1.03,
        frequency_penalty=1.0,
        repetition_penalty=1.5,
        seed=2**64 - 1,
        stop=["stop1", "stop2"],
        stop_token_ids=[2, 13, 2**31, -(2**31) - 1, 5.0],
        include_stop_str_in_output=True,
        skip_special_tokens=False,
        ignore_eos=True,
        stream=True,
    )
    assert (
        SamplingParams(
            max_tokens=20,
            temperature=0,
            top_p=0.95,
            top_k=7,
            presence_penalty=1.03,
            frequency_penalty=1.0,
            repetition_penalty=1.5,
            seed=2**64 - 1,
            stop=("stop1", "stop2"),
            stop_token_ids=frozenset({2, 13, 5}),
            include_stop_str_in_output=True,
            skip_special_tokens=False,
            ignore_eos=True,
            reasoning=True,
        )
        == request.params
    )
    assert [int, int] == [type(request.params.max_tokens), type(request.params.seed)]
    assert {int} == {type(item) for item in request.params.stop_token_ids}
    assert request.stream


def test_stop_token_ids_that_are_not_32_bit_integers_are_ignored() -> None:
    assert read(stop_token_ids=["2", None, 1.5, True, [2], {}, 7, 2**31]).params.stop_token_ids == frozenset({7})


def test_a_single_stop_string_needs_no_list() -> None:
    assert read(stop="stop1").params.stop == ("stop1",)
    assert read(stop=[]).params.stop == ()


VLLM = replace(PLAIN, reasoning=True)


@pytest.mark.parametrize(
    ("dialect", "sent", "expected"),
    [
        ("openai", {"max_completion_tokens": 7}, replace(PLAIN, max_tokens=7)),
        ("vllm", {"max_completion_tokens": 7, "max_tokens": 9}, replace(VLLM, max_tokens=7)),
        ("vllm", {"min_tokens": 3, "min_p": 0.5}, replace(VLLM, min_tokens=3, min_p=0.5)),
        ("vllm", {"logit_bias": {" 5 ": -1000, "7": 0.5}}, replace(VLLM, logit_bias=((5, -100.0), (7, 0.5)))),
        ("openai", {"logit_bias": {"5": 100}}, replace(PLAIN, logit_bias=((5, 100.0),))),
        ("vllm", {"allowed_token_ids": [3, 3.0]}, replace(VLLM, allowed_token_ids=frozenset({3}))),
        ("vllm", {"bad_words": ["rude"]}, replace(VLLM, bad_words=("rude",))),
        ("vllm", {"logprobs": True, "logprob_token_ids": [3]}, replace(VLLM, logprobs=0, logprob_token_ids=(3,))),
        ("vllm", {"prompt_logprobs": 2}, replace(VLLM, prompt_logprobs=2)),
        ("vllm", {"return_token_ids": True}, replace(VLLM, returns_prompt=True)),
        ("vllm", {"return_prompt_text": True}, replace(VLLM, returns_prompt=True)),
        ("vllm", {"priority": -3}, replace(VLLM, priority=-3)),
        ("openai", {"service_tier": "flex"}, replace(PLAIN, priority=1)),
        ("openai", {"service_tier": "fast"}, replace(PLAIN, priority=-1)),
        ("openai", {"service_tier": "auto"}, PLAIN),
        ("openai", {"verbosity": "low"}, replace(PLAIN, end_bias=math.log(3))),
        ("openai", {"verbosity": "high"}, replace(PLAIN, end_bias=-math.log(3))),
        ("openai", {"verbosity": "medium"}, PLAIN),
        (
            "vllm",
            {"repetition_detection": {"max_pattern_size": 4, "min_count": 3}},
            replace(VLLM, repetition=Repetition(4, 1, 3)),
        ),
        ("vllm", {"repetition_detection": {"max_pattern_size": 0}}, VLLM),
        (
            "vllm",
            {"truncate_prompt_tokens": 9, "truncation_side": "right"},
            replace(VLLM, truncate_prompt_tokens=9, keeps_beginning=True),
        ),
        ("vllm", {"truncation_side": "left"}, VLLM),
        ("vllm", {"spaces_between_special_tokens": False}, replace(VLLM, spaces_between_special_tokens=False)),
        ("vllm", {"thinking_token_budget": 8}, replace(VLLM, thinking_budget=8)),
        ("vllm", {"thinking_token_budget": -1, "reasoning_effort": "low"}, replace(VLLM, thinking_budget=None)),
        ("vllm", {"reasoning_effort": "low"}, replace(VLLM, thinking_budget=128)),
        ("openai", {"reasoning_effort": "max"}, VLLM),
        ("openai", {"reasoning_effort": "none"}, replace(PLAIN, thinking_budget=0)),
    ],
)
def test_documented_parameters_of_each_dialect_reach_the_engine(
    dialect: str, sent: dict[str, Any], expected: SamplingParams
) -> None:
    assert expected == read(dialect, **sent).params


def test_ignore_eos_caps_the_tokens_if_the_document_says_so() -> None:
    assert [4000, 7, None] == [
        read("ovms", ignore_eos=True).params.max_tokens,
        read("ovms", ignore_eos=True, max_tokens=7).params.max_tokens,
        read("ovms").params.max_tokens,
    ]
    assert read("mindie", ignore_eos=True).params.max_tokens is None


def test_the_models_defaults_apply_where_neither_request_nor_documents_give_a_value() -> None:
    own = RequestReader(contract_of(), "m", sampling_defaults={"temperature": 0.3, "top_k": 20})

    def read_own(**sent: Any) -> SamplingParams:
        return own.read(json.dumps({"model": "m", "messages": MESSAGES, **sent}).encode()).params

    documented = contract_of().parameters["temperature"].default
    assert (read_own().temperature, read_own().top_k) == (documented, 20)
    assert (read_own(temperature=0.9).temperature, read_own(top_k=5).top_k) == (0.9, 5)
