"""Tests of the options that decide which optional fields a response has."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from reference_server.request.response_options import OBFUSCATION_BLOCK, ResponseOptions, obfuscation_padding
from reference_server.tests.request_reader import MESSAGES, read


@pytest.mark.parametrize(
    ("dialect", "sent", "expected"),
    [
        ("vllm", {"stream_options": {"include_usage": True}, "stream": True}, ResponseOptions(usage=True)),
        (
            "vllm",
            {"stream_options": {"include_usage": True, "continuous_usage_stats": True}, "stream": True},
            ResponseOptions(usage=True, continuous_usage=True),
        ),
        ("vllm", {"stream_options": {"continuous_usage_stats": True}, "stream": True}, ResponseOptions()),
        (
            "openai",
            {"stream_options": {"include_obfuscation": True}, "stream": True},
            ResponseOptions(obfuscation=True),
        ),
        ("vllm", {"stream_interval": 3}, ResponseOptions(stream_interval=3)),
        ("vllm", {"return_token_ids": True}, ResponseOptions(token_ids=True)),
        ("vllm", {"return_prompt_text": True}, ResponseOptions(prompt_text=True)),
        ("vllm", {"return_weight_versions": True}, ResponseOptions(weight_versions=True)),
        ("vllm", {"return_tokens_as_token_ids": True}, ResponseOptions(tokens_as_ids=True)),
        ("vllm", {"include_reasoning": False}, ResponseOptions(reasoning=False)),
        ("vllm", {"request_id": "one"}, ResponseOptions(request_id="one")),
        ("openai", {"service_tier": "scale"}, ResponseOptions(service_tier="default")),
        ("openai", {"service_tier": "flex"}, ResponseOptions(service_tier="flex")),
        ("openai", {"service_tier": "fast"}, ResponseOptions(service_tier="priority")),
        ("mindie", {"request_id": "one", "stream_interval": 3, "service_tier": "flex"}, ResponseOptions()),
    ],
)
def test_response_options_are_read_from_the_request(
    dialect: str, sent: dict[str, Any], expected: ResponseOptions
) -> None:
    options = read(dialect, **sent).options
    assert expected == (options if "service_tier" in sent else replace(options, service_tier=None))


def test_padding_fills_a_text_up_to_whole_blocks() -> None:
    for length in range(100):
        text = "a\n" * length
        assert (len(json.dumps(text)) + len(obfuscation_padding(text))) % OBFUSCATION_BLOCK == 0
    assert len({obfuscation_padding("abc") for _ in range(20)}) == 20


def test_echo_repeats_the_last_message_if_it_is_the_assistants() -> None:
    messages = [*MESSAGES, {"role": "assistant", "content": [{"type": "text", "text": "Good"}]}]
    assert read("vllm", messages=messages, echo=True).options == ResponseOptions(echo="Good")
    assert read("vllm", messages=messages).options == ResponseOptions()
    assert read("vllm", echo=True).options == ResponseOptions()
