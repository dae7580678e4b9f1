"""Messages and tools of the compared interfaces."""

from __future__ import annotations

from typing import Any

import pytest

from openapi.tests.contract.compared_dialects import CALL, COMPARED, VALIDATORS

IMAGE = {"type": "image_url", "image_url": {"url": "https://example.org/a.png", "detail": "low"}}
SOUND = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}


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
def test_messages_are_valid_as_the_reference_says(message: dict[str, Any], openai: bool, vllm: bool) -> None:
    valid = {dialect: VALIDATORS[dialect].problems("Message", message) == () for dialect in COMPARED}
    assert {"openai": openai, "vllm": vllm} == valid


def test_only_openai_accepts_a_custom_tool() -> None:
    grammar = {"type": "grammar", "grammar": {"definition": "start: x", "syntax": "lark"}}
    custom = {"type": "custom", "custom": {"name": "f", "format": grammar}}
    assert VALIDATORS["openai"].problems("Tool", custom) == ()
    assert VALIDATORS["openai"].problems("Tool", {"type": "custom", "custom": {"format": grammar}}) != ()
    assert VALIDATORS["vllm"].problems("Tool", custom) != ()
