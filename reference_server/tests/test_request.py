"""RequestReader: every body becomes a ChatRequest or one clear refusal."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from openapi.contract import Contract, load, names
from reference_server.engine import Repetition, SamplingParams
from reference_server.errors import ApiError
from reference_server.offer import served
from reference_server.request import ChatRequest, RequestReader
from reference_server.telling import DISGUISE, Telling, disguise

DIALECTS = sorted(set(names().values()))
MESSAGES = [{"role": "user", "content": "Hello!"}]
DEEP = b'{"model":"m","messages":[{"role":"user","content":"x"}],"extra":%b}'


@cache
def reader(dialect: str = "mindie") -> RequestReader:
    return RequestReader(contract_of(dialect), "m")


def contract_of(dialect: str = "mindie") -> Contract:
    return served(load(dialect), bearer=False)


def read(dialect: str = "mindie", /, **parameters: Any) -> ChatRequest:
    body = {"model": "m", "messages": MESSAGES, **parameters}
    return reader(dialect).read(json.dumps(body).encode())


def refusal(body: bytes) -> tuple[str, str]:
    with pytest.raises(ApiError) as caught:
        reader().read(body)
    return caught.value.kind, caught.value.message


@pytest.mark.parametrize(
    ("body", "kind", "words"),
    [
        (b"", "invalid_json", "empty"),
        (b" \n", "invalid_json", "empty"),
        (b"{", "invalid_json", "not JSON"),
        (b'{"model":"\xff"}', "invalid_json", "not UTF-8: byte 10 is 0xff"),
        (b'\xef\xbb\xbf{"model":"m"}', "invalid_json", "not JSON"),
        (b'{"temperature":NaN}', "invalid_json", "NaN"),
        (b'{"temperature":-Infinity}', "invalid_json", "-Infinity"),
        (b'{"temperature":1e400}', "invalid_json", "1e400"),
        (b'{"seed":' + b"9" * 5000 + b"}", "invalid_json", "4300 digits"),
        (b'{"model":"\\ud800"}', "invalid_json", "lone surrogate"),
        (b'{"model":"\\udc00\\ud800"}', "invalid_json", "lone surrogate"),
        (b'{"n":1,"n":1}', "invalid_json", "duplicate key 'n'"),
        (b'{"messages":[{"role":"user","role":"user"}]}', "invalid_json", "duplicate key 'role'"),
        (DEEP % (b"[" * 64 + b"]" * 64), "invalid_json", "64 levels"),
        (DEEP % (b'{"a":' * 64 + b"1" + b"}" * 64), "invalid_json", "64 levels"),
        (b"[" * 100_000, "invalid_json", "too deeply"),
        (b"[]", "invalid_request", "object"),
        (b"null", "invalid_request", "object"),
        (b'"text"', "invalid_request", "object"),
        (b"{}", "invalid_request", "model is required"),
        (b'{"model":"m","messages":[]}', "invalid_request", "messages"),
        (b'{"model":"other","messages":[{"role":"user","content":"x"}]}', "unknown_model", "'other'"),
    ],
)
def test_a_body_that_cannot_be_taken_is_refused_with_its_reason(body: bytes, kind: str, words: str) -> None:
    found, message = refusal(body)
    assert kind == found
    assert words in message
    assert "\n" not in message


def test_what_only_looks_dangerous_is_taken() -> None:
    nested = reader().read(DEEP % (b"[" * 63 + b"]" * 63))
    assert nested.messages == [{"role": "user", "content": "x"}]
    text = 'brackets [[[{{{ "quoted" \\ud800 \ud83d\ude00'.encode("utf-16", "surrogatepass").decode("utf-16")
    assert text == read(messages=[{"role": "user", "content": text}]).messages[0]["content"]


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("temperature", 2.1),
        ("temperature", "hot"),
        ("top_p", 0),
        ("top_k", -1),
        ("seed", 2**64),
        ("seed", -1),
        ("max_tokens", 0),
        ("max_tokens", "20"),
        ("max_tokens", True),
        ("max_tokens", 20.5),
        ("stop", [""]),
        ("stop", ["x"] * 1025),
        ("stop_token_ids", [1.5]),
        ("stream", "true"),
        ("n", 0),
        ("n", 129),
        ("n", "1"),
        ("n", True),
        ("best_of", 129),
        ("use_beam_search", "true"),
        ("logprobs", 1),
        ("top_logprobs", 21),
        ("tool_choice", "required"),
        ("chat_template_kwargs", {"chat_template": "{{ x }}"}),
        ("chat_template_kwargs", {"add_generation_prompt": False}),
    ],
)
def test_a_value_that_is_not_served_is_refused_by_the_name_of_its_parameter(parameter: str, value: Any) -> None:
    with pytest.raises(ApiError) as caught:
        read(**{parameter: value})
    assert caught.value.kind == "invalid_request"
    assert parameter in caught.value.message


@pytest.mark.parametrize(
    "parts",
    [
        [{"type": "image_url", "image_url": "http://127.0.0.1/x.png"}],
        [{"type": "text", "text": "Look"}, {"type": "video_url", "video_url": "clip.mp4"}],
    ],
)
def test_media_are_refused(parts: list[dict[str, str]]) -> None:
    with pytest.raises(ApiError) as caught:
        read(messages=[{"role": "user", "content": parts}])
    assert caught.value.kind == "invalid_request"
    assert "messages[0].content" in caught.value.message


def test_nothing_asked_for_gives_the_documented_defaults() -> None:
    request = read()
    assert SamplingParams(reasoning=True) == request.params
    assert (request.stream, request.telling) == (False, Telling())
    assert request.template_kwargs == {}


@pytest.mark.parametrize(
    ("dialect", "sent", "template", "reasoning"),
    [
        ("mindie", {}, {}, True),
        ("mindie", {"enable_thinking": True}, {"enable_thinking": True}, True),
        ("mindie", {"enable_thinking": False}, {"enable_thinking": False}, False),
        ("mindie-1.0", None, {"enable_thinking": False}, False),
        ("ovms", None, {"enable_thinking": False}, False),
    ],
)
def test_thoughts_are_told_apart_unless_they_are_turned_off_or_the_dialect_has_none(
    dialect: str, sent: dict[str, bool] | None, template: dict[str, bool], reasoning: bool
) -> None:
    request = read(dialect) if sent is None else read(dialect, chat_template_kwargs=sent)
    assert (request.template_kwargs, request.params.reasoning) == (template, reasoning)


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
def test_choices_and_searches_are_those_of_the_dialect(
    dialect: str, sent: dict[str, Any], expected: SamplingParams
) -> None:
    found = read(dialect, **sent).params
    assert expected == replace(found, reasoning=False, seed=None)


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
def test_logprobs_are_asked_for_as_the_dialect_says(dialect: str, sent: dict[str, Any], expected: int | None) -> None:
    assert expected == read(dialect, **sent).params.logprobs


@pytest.mark.parametrize(
    ("dialect", "sent", "words"),
    [
        ("vllm", {"chat_template": "{{ messages }}"}, "chat_template"),
        ("vllm", {"continue_final_message": True}, "continue_final_message"),
        ("mindie", {"n": 2, "temperature": 0}, "temperature"),
        ("mindie", {"logprobs": False, "top_logprobs": 2}, "logprobs is false"),
        ("ovms", {"n": 2}, "best_of"),
        ("ovms", {"n": 3, "best_of": 2}, "best_of"),
        ("openai", {"top_logprobs": 2}, "logprobs"),
        ("vllm", {"n": 1000}, "n is 1000"),
        ("vllm", {"logprobs": True, "top_logprobs": -1}, "top_logprobs is -1: this server lists 20 at most"),
        ("vllm", {"prompt_logprobs": 1, "stream": True}, "prompt_logprobs"),
        ("vllm", {"prompt_logprobs": -1}, "prompt_logprobs is -1"),
        ("vllm", {"min_tokens": 3, "max_tokens": 2}, "min_tokens is 3"),
        ("vllm", {"truncate_prompt_tokens": 0}, "truncate_prompt_tokens is 0"),
        ("vllm", {"request_id": "x" * 257}, "request_id"),
        (
            "vllm",
            {"repetition_detection": {"max_pattern_size": 2, "min_pattern_size": 3, "min_count": 2}},
            "repetition",
        ),
        ("vllm", {"repetition_detection": {"max_pattern_size": 2}}, "repetition_detection"),
        ("vllm", {"logit_bias": {"9" * 5000: 1}}, "limit"),
        ("openai", {"logit_bias": {"5": 101}}, "logit_bias"),
    ],
)
def test_values_that_exclude_each_other_or_that_are_not_served_are_refused(
    dialect: str, sent: dict[str, Any], words: str
) -> None:
    with pytest.raises(ApiError) as caught:
        read(dialect, **sent)
    assert caught.value.kind == "invalid_request"
    assert words in caught.value.message


@pytest.mark.parametrize("dialect", DIALECTS)
def test_null_means_the_default_wherever_it_is_accepted(dialect: str) -> None:
    accepted = [
        name
        for name, parameter in contract_of(dialect).parameters.items()
        if parameter.null.expect == "accept" and not parameter.required
    ]
    assert read(dialect) == read(dialect, **dict.fromkeys(accepted))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_neutral_values_of_what_the_server_lacks_change_nothing(dialect: str) -> None:
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


def test_one_stop_text_needs_no_list() -> None:
    assert read(stop="stop1").params.stop == ("stop1",)
    assert read(stop=[]).params.stop == ()


def test_text_parts_become_lines_and_only_documented_members_reach_the_template() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    request = read(messages=[{"role": "user", "content": parts, "name": "Ann"}])
    assert request.messages == [{"role": "user", "content": "one\ntwo"}]


def test_template_arguments_are_passed_on() -> None:
    sent = {"enable_thinking": False, "style": "short"}
    assert sent == read(chat_template_kwargs=sent).template_kwargs


def test_a_huge_broken_list_is_refused_by_its_first_items() -> None:
    body = {"model": "m", "messages": [{"role": "wizard", "content": 1}] * 50_000}
    kind, message = refusal(json.dumps(body).encode())
    assert kind == "invalid_request"
    assert "messages[0]" in message
    assert "messages[49999]" not in message


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
def test_what_a_dialect_documents_reaches_the_engine(
    dialect: str, sent: dict[str, Any], expected: SamplingParams
) -> None:
    assert expected == read(dialect, **sent).params


def test_an_effort_turns_thoughts_on_and_tells_the_template() -> None:
    assert read("openai").template_kwargs == {"enable_thinking": False}
    assert read("vllm").template_kwargs == {}
    for dialect in ("openai", "vllm"):
        low = read(dialect, reasoning_effort="low").template_kwargs
        assert low == {"enable_thinking": True, "reasoning_effort": "low"}
        assert read(dialect, reasoning_effort="none").template_kwargs["enable_thinking"] is False


@pytest.mark.parametrize(
    ("dialect", "sent", "expected"),
    [
        ("vllm", {"stream_options": {"include_usage": True}, "stream": True}, Telling(usage=True)),
        (
            "vllm",
            {"stream_options": {"include_usage": True, "continuous_usage_stats": True}, "stream": True},
            Telling(usage=True, every_usage=True),
        ),
        ("vllm", {"stream_options": {"continuous_usage_stats": True}, "stream": True}, Telling()),
        ("openai", {"stream_options": {"include_obfuscation": True}, "stream": True}, Telling(obfuscation=True)),
        ("vllm", {"stream_interval": 3}, Telling(interval=3)),
        ("vllm", {"return_token_ids": True}, Telling(token_ids=True)),
        ("vllm", {"return_prompt_text": True}, Telling(prompt_text=True)),
        ("vllm", {"return_weight_versions": True}, Telling(weight_versions=True)),
        ("vllm", {"return_tokens_as_token_ids": True}, Telling(tokens_as_ids=True)),
        ("vllm", {"include_reasoning": False}, Telling(reasoning=False)),
        ("vllm", {"request_id": "one"}, Telling(name="one")),
        ("openai", {"service_tier": "scale"}, Telling(tier="default")),
        ("openai", {"service_tier": "flex"}, Telling(tier="flex")),
        ("openai", {"service_tier": "fast"}, Telling(tier="priority")),
        ("mindie", {"request_id": "one", "stream_interval": 3, "service_tier": "flex"}, Telling()),
    ],
)
def test_what_a_request_wants_told_is_read(dialect: str, sent: dict[str, Any], expected: Telling) -> None:
    found = read(dialect, **sent).telling
    assert expected == (found if "service_tier" in sent else replace(found, tier=None))


def test_random_characters_fill_a_text_up_to_whole_blocks() -> None:
    for length in range(100):
        text = "a\n" * length
        assert (len(json.dumps(text)) + len(disguise(text))) % DISGUISE == 0
    assert len({disguise("abc") for _ in range(20)}) == 20


def test_how_the_prompt_is_written_is_told_to_the_template() -> None:
    assert read("vllm", add_generation_prompt=False).template_kwargs == {"add_generation_prompt": False}
    continued = read("vllm", add_generation_prompt=False, continue_final_message=True)
    assert continued.template_kwargs == {"add_generation_prompt": False, "continue_final_message": True}
    page = [{"title": "Rome", "text": "Rome is a city."}]
    asked = read("vllm", documents=page, add_special_tokens=True)
    assert asked.template_kwargs == {"documents": page, "add_special_tokens": True}
    assert read("mindie", documents=page, add_special_tokens=True).template_kwargs == {}


def test_an_answer_repeats_the_last_message_where_it_is_the_assistants() -> None:
    said = [*MESSAGES, {"role": "assistant", "content": [{"type": "text", "text": "Good"}]}]
    assert read("vllm", messages=said, echo=True).telling == Telling(echo="Good")
    assert read("vllm", messages=said).telling == Telling()
    assert read("vllm", echo=True).telling == Telling()


@pytest.mark.parametrize(
    "turn", [{"content": [{"type": "refusal", "refusal": "I cannot."}]}, {"content": None, "refusal": "I cannot."}]
)
def test_what_the_model_refused_is_what_it_said(turn: dict[str, Any]) -> None:
    if turn["content"] is None:
        turn = {**turn, "content": "I cannot."}
    asked = read("openai", messages=[*MESSAGES, {"role": "assistant", **turn}, *MESSAGES])
    assert {"role": "assistant", "content": "I cannot."} == asked.messages[1]


def test_an_endless_answer_is_capped_where_the_document_says_so() -> None:
    assert [4000, 7, None] == [
        read("ovms", ignore_eos=True).params.max_tokens,
        read("ovms", ignore_eos=True, max_tokens=7).params.max_tokens,
        read("ovms").params.max_tokens,
    ]
    assert read("mindie", ignore_eos=True).params.max_tokens is None
