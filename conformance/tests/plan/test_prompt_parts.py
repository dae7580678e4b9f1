"""The generated prompts: each request differs from the whole one in one part, or in the text of one kind."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from typing import TYPE_CHECKING, Any

import pytest

from conformance.plan.scenarios.prompts import prompt_parts, text_kinds
from conformance.plan.scenarios.prompts.first_words import FIRST_WORDS, LAST_WORDS, WITHIN, WORD, write_messages
from conformance.plan.scenarios.prompts.prompt_parts import FROM_AN_ANSWER, ONE_TURN
from conformance.plan.scenarios.prompts.text_kinds import CLIENT, KINDS, OTHER
from openapi.contract.contract import load

if TYPE_CHECKING:
    from conformance.scenario import Step


def steps_of(module: Any, dialect: str) -> dict[str, Step]:
    """Return the generated requests for a dialect with all capabilities, by name."""
    return {step.name: step for scenario in module.generate(load(dialect)) for step in scenario.steps}


@pytest.mark.parametrize("dialect", ["mindie-2.3", "openai", "vllm"])
def test_each_request_lacks_something_of_its_whole_request(dialect: str) -> None:
    steps = steps_of(prompt_parts, dialect)
    for name, step in steps.items():
        whole, _, part = name.partition(prompt_parts.WITHOUT)
        if part:
            assert step.body != steps[whole].body, name
            assert {**(step.body or {}), "messages": None, "tools": None, "chat_template_kwargs": None} == {
                **(steps[whole].body or {}),
                "messages": None,
                "tools": None,
                "chat_template_kwargs": None,
            }, name


def test_a_question_is_asked_twice_in_a_row() -> None:
    steps = steps_of(prompt_parts, "mindie-2.3")
    once, twice = (
        [item["content"] for item in (steps[name].body or {})["messages"]]
        for name in ("marked-without-equal-message", "marked")
    )
    assert [*once, once[-1]] == twice


def test_pictures_stand_next_to_instructions_tools_earlier_turns_and_reasoning() -> None:
    body: Any = steps_of(prompt_parts, "mindie-2.3")["pictures"].body
    images = [part["image_url"] for part in body["messages"][3]["content"] if part["type"] == "image_url"]
    assert [item["role"] for item in body["messages"]] == ["system", "user", "assistant", "user"]
    assert len(images) == 2
    assert images[0] == images[1]
    assert body["tools"]
    assert body["chat_template_kwargs"] == {"enable_thinking": True}


def test_results_have_pictures_only_where_the_contract_allows_them() -> None:
    assert "result" in steps_of(prompt_parts, "mindie-2.3")
    assert "result" not in steps_of(prompt_parts, "openai")


def test_each_kind_of_text_has_two_texts_and_a_name_of_its_own() -> None:
    kinds = [kind for kinds in KINDS.values() for kind in kinds]
    assert {1} == {*Counter(kind.name for kind in kinds).values()}
    assert [] == [kind.name for kind in kinds if kind.text == kind.other]
    assert [] == [kind.name for kind in kinds if kind.grows and len(kind.other) < len(kind.text) + 3]


def test_each_message_differs_in_one_kind_of_text() -> None:
    steps = steps_of(text_kinds, "vllm")
    for group, kinds in KINDS.items():
        lines = json.dumps((steps[group].body or {})["messages"])
        for kind in kinds:
            changed = json.dumps((steps[f"{group}{OTHER}{kind.name}"].body or {})["messages"])
            assert changed == lines.replace(json.dumps(kind.text)[1:-1], json.dumps(kind.other)[1:-1], 1), kind.name


def test_without_log_probabilities_only_texts_whose_tokens_tell_them_apart_are_sent() -> None:
    growing = {f"notes{OTHER}{kind.name}" for kind in KINDS["notes"] if kind.grows}
    assert {"notes", *growing, FIRST_WORDS, LAST_WORDS} == steps_of(text_kinds, "mindie-1.0").keys()


def test_the_same_words_begin_and_end_messages() -> None:
    steps = steps_of(text_kinds, "vllm")
    first, last = (
        [sorted(item["content"]) for item in (steps[name].body or {})["messages"]] for name in (FIRST_WORDS, LAST_WORDS)
    )
    assert first == last
    begun = [item["content"][0] for item in (steps[FIRST_WORDS].body or {})["messages"] if item["role"] == "user"]
    assert set("/@!#$") <= set(begun)
    assert "/" == begun[-1]


@pytest.mark.parametrize(("dialect", "count"), [("mindie-2.3", 0), ("openai", 4), ("vllm", 3)])
def test_messages_with_other_texts_come_from_one_client(dialect: str, count: int) -> None:
    steps = steps_of(text_kinds, dialect).values()
    sent = [{name: (step.body or {})[name] for name in CLIENT.keys() & (step.body or {}).keys()} for step in steps]
    assert count == len(sent[0])
    assert [sent[0]] * len(sent) == sent


def test_each_kind_of_markup_has_a_long_word_within_it_or_next_to_it() -> None:
    within, next_to = (write_messages(first=first)[0]["content"].splitlines() for first in (True, False))
    assert len(WITHIN) + 1 == len(within) == len(next_to)
    for form, one, other in zip(WITHIN, within, next_to, strict=False):
        word = other.split()[-1]
        assert len(WORD) == len(word)
        assert f"Read {form.format('note')} {word}" == other
        assert f"Read {form.format(word)} note" == one


def test_a_server_that_drops_a_first_answer_reads_two_conversations_alike() -> None:
    steps = steps_of(prompt_parts, "vllm")
    begun, one_turn = ((steps[name].body or {})["messages"] for name in (FROM_AN_ANSWER, ONE_TURN))
    assert "assistant" == begun[0]["role"]
    assert begun[1:] == one_turn


def test_a_later_call_has_the_id_of_an_earlier_one() -> None:
    body = steps_of(prompt_parts, "vllm")["after-null"].body or {}
    ids = [item["tool_call_id"] for item in body["messages"] if item["role"] == "tool"]
    assert [2] == [*Counter(ids).values()]


def test_null_is_replaced_by_its_name() -> None:
    steps = steps_of(prompt_parts, "vllm")
    names = ("after-null", "after-null-without-null")
    assert [None, "None"] == [(steps[name].body or {})["messages"][-2]["content"] for name in names]


@pytest.mark.parametrize(
    ("kind", "convert"),
    [
        ("email", lambda text: re.sub(r"[\w.+-]+@[\w.-]+\w", "[ADDRESS]", text)),
        ("card", lambda text: re.sub(r"\d{13,16}", "[CARD]", text)),
        ("beyond-bmp", lambda text: re.sub("[\U00010000-\U0010ffff]", "?", text)),
        ("compatible", lambda text: unicodedata.normalize("NFKC", text)),
        ("full-width", lambda text: unicodedata.normalize("NFKC", text)),
        ("invisible", lambda text: text.replace("\u200b", "")),
        ("case", str.casefold),
        ("look-alikes", lambda text: text.replace("\u0445\u043e\u0440\u043e", "xopo")),
        ("digits", lambda text: text.replace("\u0664", "4").replace("\u0662", "2")),
        ("sharp-s", lambda text: text.replace("\u00df", "ss")),
        ("joined-lines", lambda text: " ".join(text.split())),
        ("tags", lambda text: re.sub(r"<[^<>]*>", "", text)),
    ],
)
def test_a_server_that_converts_a_kind_of_text_reads_both_texts_alike(kind: str, convert: Any) -> None:
    steps = steps_of(text_kinds, "vllm")
    notes, other = ((steps[name].body or {})["messages"][0]["content"] for name in ("notes", f"notes{OTHER}{kind}"))
    assert convert(notes) == convert(other)
