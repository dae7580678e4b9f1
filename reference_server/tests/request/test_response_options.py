"""RequestReader: what an answer is to tell of itself, and how."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from reference_server.request.response_options import DISGUISE, Telling, disguise
from reference_server.tests.request_reader import MESSAGES, read


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


def test_an_answer_repeats_the_last_message_where_it_is_the_assistants() -> None:
    said = [*MESSAGES, {"role": "assistant", "content": [{"type": "text", "text": "Good"}]}]
    assert read("vllm", messages=said, echo=True).telling == Telling(echo="Good")
    assert read("vllm", messages=said).telling == Telling()
    assert read("vllm", echo=True).telling == Telling()
