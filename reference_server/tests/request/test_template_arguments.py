"""Tests of the arguments and messages that the chat template gets."""

from __future__ import annotations

from typing import Any

import pytest

from reference_server.tests.request_reader import MESSAGES, read


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
def test_reasoning_is_separated_unless_it_is_turned_off_or_missing_in_the_dialect(
    dialect: str, sent: dict[str, bool] | None, template: dict[str, bool], reasoning: bool
) -> None:
    request = read(dialect) if sent is None else read(dialect, chat_template_kwargs=sent)
    assert (request.template_kwargs, request.params.reasoning) == (template, reasoning)


def test_text_parts_become_lines_and_only_documented_fields_reach_the_template() -> None:
    parts = [{"type": "text", "text": "one"}, {"type": "text", "text": "two"}]
    request = read(messages=[{"role": "user", "content": parts, "name": "Ann"}])
    assert request.messages == [{"role": "user", "content": "one\ntwo"}]


def test_template_arguments_are_passed_on() -> None:
    sent = {"enable_thinking": False, "style": "short"}
    assert sent == read(chat_template_kwargs=sent).template_kwargs


def test_an_effort_turns_reasoning_on_and_reaches_the_template() -> None:
    assert read("openai").template_kwargs == {"enable_thinking": False}
    assert read("vllm").template_kwargs == {}
    for dialect in ("openai", "vllm"):
        low = read(dialect, reasoning_effort="low").template_kwargs
        assert low == {"enable_thinking": True, "reasoning_effort": "low"}
        assert read(dialect, reasoning_effort="none").template_kwargs["enable_thinking"] is False


def test_prompt_options_reach_the_template() -> None:
    assert read("vllm", add_generation_prompt=False).template_kwargs == {"add_generation_prompt": False}
    continued = read("vllm", add_generation_prompt=False, continue_final_message=True)
    assert continued.template_kwargs == {"add_generation_prompt": False, "continue_final_message": True}
    only_continued = read("sglang", continue_final_message=True)  # a dialect without the other parameter
    assert only_continued.template_kwargs == {"add_generation_prompt": False, "continue_final_message": True}
    page = [{"title": "Rome", "text": "Rome is a city."}]
    request = read("vllm", documents=page, add_special_tokens=True)
    assert request.template_kwargs == {"documents": page, "add_special_tokens": True}
    assert read("mindie", documents=page, add_special_tokens=True).template_kwargs == {}


@pytest.mark.parametrize(
    "turn", [{"content": [{"type": "refusal", "refusal": "I cannot."}]}, {"content": None, "refusal": "I cannot."}]
)
def test_a_refusal_of_the_model_becomes_its_content(turn: dict[str, Any]) -> None:
    if turn["content"] is None:
        turn = {**turn, "content": "I cannot."}
    request = read("openai", messages=[*MESSAGES, {"role": "assistant", **turn}, *MESSAGES])
    assert {"role": "assistant", "content": "I cannot."} == request.messages[1]
