"""Tests that invalid requests are refused with a reason."""

from __future__ import annotations

import json
from typing import Any

import pytest

from reference_server.errors import ApiError
from reference_server.tests.request_reader import read, reader

DEEP = b'{"model":"m","messages":[{"role":"user","content":"x"}],"extra":%b}'


def refusal(body: bytes) -> tuple[str, str]:
    with pytest.raises(ApiError) as caught:
        reader().read(body)
    return caught.value.kind, caught.value.message


@pytest.mark.parametrize(
    ("body", "kind", "phrase"),
    [
        (b"", "invalid_json", "empty"),
        (b" \n", "invalid_json", "empty"),
        (b"{", "invalid_json", "not valid JSON"),
        (b'{"model":"\xff"}', "invalid_json", "not UTF-8: byte 10 is 0xff"),
        (b'\xef\xbb\xbf{"model":"m"}', "invalid_json", "not valid JSON"),
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
def test_an_invalid_body_is_refused_with_a_reason(body: bytes, kind: str, phrase: str) -> None:
    refused_as, message = refusal(body)
    assert kind == refused_as
    assert phrase in message
    assert "\n" not in message


def test_unusual_but_valid_bodies_are_accepted() -> None:
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
        ("stop_token_ids", "13"),
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
def test_an_invalid_value_is_refused_with_the_name_of_its_parameter(parameter: str, value: Any) -> None:
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


@pytest.mark.parametrize(
    ("dialect", "sent", "phrase"),
    [
        ("vllm", {"chat_template": "{{ messages }}"}, "chat_template"),
        ("vllm", {"continue_final_message": True}, "continue_final_message"),
        ("mindie", {"n": 2, "temperature": 0}, "temperature"),
        ("mindie", {"logprobs": False, "top_logprobs": 2}, "logprobs is false"),
        ("ovms", {"n": 2}, "best_of"),
        ("ovms", {"n": 3, "best_of": 2}, "best_of"),
        ("openai", {"top_logprobs": 2}, "logprobs"),
        ("vllm", {"n": 1000}, "invalid n: "),
        ("vllm", {"logprobs": True, "top_logprobs": -1}, "top_logprobs is -1: expected 0 to 20"),
        ("vllm", {"prompt_logprobs": 1, "stream": True}, "prompt_logprobs"),
        ("vllm", {"prompt_logprobs": -1}, "invalid prompt_logprobs: "),
        ("vllm", {"min_tokens": 3, "max_tokens": 2}, "invalid min_tokens: "),
        ("vllm", {"truncate_prompt_tokens": 0}, "invalid truncate_prompt_tokens: "),
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
def test_conflicting_or_unsupported_values_are_refused(dialect: str, sent: dict[str, Any], phrase: str) -> None:
    with pytest.raises(ApiError) as caught:
        read(dialect, **sent)
    assert caught.value.kind == "invalid_request"
    assert phrase in caught.value.message


def test_a_long_invalid_list_is_refused_with_its_first_items() -> None:
    body = {"model": "m", "messages": [{"role": "wizard", "content": 1}] * 50_000}
    kind, message = refusal(json.dumps(body).encode())
    assert kind == "invalid_request"
    assert "messages[0]" in message
    assert "messages[49999]" not in message
