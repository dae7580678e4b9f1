"""The chat template of the embedded checkpoint: what it makes of messages, tools, calls and thoughts."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import jinja2
import pytest

from reference_server.tiny import CHECKPOINT
from reference_server.tiny.dialogues import SKILLS, draw_skill
from reference_server.tiny.rendering import prompt_text, render
from reference_server.tiny.turn import Dialogue, Json

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

TOOL: Json = {
    "type": "function",
    "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}
USER: Json = {"role": "user", "content": "Hi"}
OPENED = "<|im_start|>assistant\n<think>\n\n</think>\n\n"


def call_message(arguments: object, content: object = None) -> Json:
    call = {"id": "call_0", "type": "function", "function": {"name": "get_weather", "arguments": arguments}}
    return {"role": "assistant", "content": content, "tool_calls": [call]}


def test_a_plain_chat() -> None:
    system = {"role": "system", "content": "Be brief."}
    expected = "<|im_start|>system\nBe brief.<|im_end|>\n<|im_start|>user\nHi<|im_end|>\n" + OPENED
    assert expected == render([system, USER])
    assert expected == render([{"role": "developer", "content": "Be brief."}, USER])


def test_content_parts_read_as_text_and_other_parts_are_named() -> None:
    parts = [
        {"type": "text", "text": "Hi"},
        {"type": "image_url", "image_url": {"url": "x"}},
        {"type": "text", "text": "?"},
    ]
    assert render([{"role": "user", "content": "Hi\n[image_url]\n?"}]) == render([{"role": "user", "content": parts}])


def test_a_later_system_message_keeps_its_place() -> None:
    assert "Hi<|im_end|>\n<|im_start|>system\nBe brief.<|im_end|>\n" in render(
        [USER, {"role": "system", "content": "Be brief."}, USER]
    )


def test_thinking_leaves_the_thoughts_to_the_model() -> None:
    assert render([USER], thinking=True).endswith("<|im_end|>\n<|im_start|>assistant\n")
    assert render([USER], thinking=False).endswith(OPENED)


def test_earlier_thoughts_are_not_sent_again() -> None:
    answer = {"role": "assistant", "content": "Hello.", "reasoning_content": "A greeting."}
    assert "<|im_start|>assistant\nHello.<|im_end|>\n" in render([USER, answer, USER])
    assert "<think>\nA greeting.\n</think>\n\nHello.<|im_end|>\n" in render([USER, answer], generation_prompt=False)


def test_tools_follow_the_system_prompt_in_one_message() -> None:
    alone = render([USER], [TOOL])
    assert alone.startswith('<|im_start|>system\nTools:\n{"name": "get_weather"')
    both = render([{"role": "system", "content": "Be brief."}, USER], [TOOL])
    assert both == alone.replace("Tools:", "Be brief.\n\nTools:")
    assert alone == render([USER], [TOOL["function"]])


@pytest.mark.parametrize("content", [None, "", []])
def test_calls_render_alike_whatever_the_form_of_content(content: object) -> None:
    call = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n</tool_call>'
    expected = f"<|im_start|>assistant\n{call}<|im_end|>\n"
    for arguments in ({"city": "Rome"}, '{"city": "Rome"}'):
        assert expected in render([USER, call_message(arguments, content), USER], [TOOL])


def test_calls_without_arguments_and_calls_after_text() -> None:
    none_given: tuple[object, ...] = ({}, "", None)
    for arguments in none_given:
        assert '{"name": "get_weather", "arguments": {}}' in render([USER, call_message(arguments), USER])
    assert "assistant\nLet me see.\n<tool_call>\n" in render([USER, call_message({}, "Let me see."), USER])


def test_several_calls_stand_one_after_the_other() -> None:
    message = call_message({"city": "Rome"})
    message["tool_calls"] = message["tool_calls"] * 2
    assert "</tool_call>\n<tool_call>" in render([USER, message, USER])


def test_tool_results_are_wrapped() -> None:
    result = {"role": "tool", "tool_call_id": "call_0", "content": "12"}
    expected = "<|im_start|>tool\n<tool_response>\n12\n</tool_response><|im_end|>\n" + OPENED
    assert render([USER, call_message({}), result]).endswith(expected)
    parts = result | {"content": [{"type": "text", "text": "12"}]}
    assert render([USER, call_message({}), result]) == render([USER, call_message({}), parts])


def test_assistant_content_may_be_null_or_absent() -> None:
    empty = "<|im_start|>assistant\n<|im_end|>\n"
    assert empty in render([USER, {"role": "assistant", "content": None}, USER])
    assert empty in render([USER, {"role": "assistant"}, USER])


def test_an_unknown_role_is_refused_by_name() -> None:
    with pytest.raises(jinja2.TemplateError, match='Unknown role "narrator": use system'):
        render([{"role": "narrator", "content": "Hi"}])


def test_the_saved_tokenizer_renders_as_training_did(tiny_tokenizer: PreTrainedTokenizerFast) -> None:
    rng = Random(10)
    for _ in range(50):
        sample = draw_skill(rng, rng.choice([skill for skill in SKILLS if skill != "raw_text"]))
        assert isinstance(sample, Dialogue)
        rendered = tiny_tokenizer.apply_chat_template(
            list(sample.messages),
            tools=list(sample.tools) or None,
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=sample.thinking,
        )
        assert prompt_text(sample) == rendered


def test_the_template_beside_the_weights_is_the_source() -> None:
    source = Path(CHECKPOINT.parent / "chat_template.jinja").read_text(encoding="utf-8")
    assert source == (CHECKPOINT / "chat_template.jinja").read_text(encoding="utf-8")
