"""The tokenizer of the embedded checkpoint: no text is lost, and the marks of a chat are tokens of their own."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING

import pytest

from reference_server.tiny import CHECKPOINT, lexicon
from reference_server.tiny.tokenizer import ADDED_TOKENS, SPECIAL_TOKENS, VOCABULARY_SIZE, corpus, train_tokenizer
from reference_server.tiny.turn import END_OF_TEXT, END_OF_TURN

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "  two  spaces \n\n and\tlines \r\n",
        "café naïve — “quotes” … ½ №",
        "e\u0301 stays decomposed, \u00e9 stays composed",
        "中文，日本語、한국어",
        "👩‍🚀🇫🇷👍🏽 \U0001f9ff",
        "\u2028\u2029\ufeff\u200b\x00\x1f\x7f",
        "\U00010000\U0010ffff",
        "שלום مرحبا नमस्ते ไทย",
        "{}[]<>|\\\"'` don't I'LL",
    ],
)
def test_text_comes_back_as_it_went_in(tiny_tokenizer: PreTrainedTokenizerFast, text: str) -> None:
    assert text == tiny_tokenizer.decode(tiny_tokenizer(text, add_special_tokens=False)["input_ids"])


def test_random_unicode_comes_back_as_it_went_in(tiny_tokenizer: PreTrainedTokenizerFast) -> None:
    rng = Random(9)
    ranges = [(0x00, 0x7F), (0x80, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x10FFFF)]
    for _ in range(300):
        text = "".join(chr(rng.randint(*rng.choice(ranges))) for _ in range(rng.randint(1, 30)))
        assert text == tiny_tokenizer.decode(tiny_tokenizer(text, add_special_tokens=False)["input_ids"])


def test_the_vocabulary_holds_the_marks_of_the_chat_as_single_tokens(tiny_tokenizer: PreTrainedTokenizerFast) -> None:
    assert len(tiny_tokenizer) == VOCABULARY_SIZE
    for token in SPECIAL_TOKENS + ADDED_TOKENS:
        assert len(tiny_tokenizer(token, add_special_tokens=False)["input_ids"]) == 1
    assert [tiny_tokenizer.eos_token, tiny_tokenizer.pad_token] == [END_OF_TURN, END_OF_TEXT]
    marks = "".join(SPECIAL_TOKENS + ADDED_TOKENS)
    ids = tiny_tokenizer(marks, add_special_tokens=False)["input_ids"]
    assert "".join(ADDED_TOKENS) == tiny_tokenizer.decode(ids, skip_special_tokens=True)


def test_some_characters_are_cut_across_tokens(tiny_tokenizer: PreTrainedTokenizerFast) -> None:
    cut = [
        word
        for word in lexicon.CJK_WORDS + lexicon.EMOJI
        if any(
            "\ufffd" in tiny_tokenizer.decode([i]) for i in tiny_tokenizer(word, add_special_tokens=False)["input_ids"]
        )
    ]
    assert len(cut) >= 20


def test_a_text_has_the_same_tokens_at_its_start_as_in_a_question(tiny_tokenizer: PreTrainedTokenizerFast) -> None:
    def ids(text: str) -> list[int]:
        return list(tiny_tokenizer(text, add_special_tokens=False)["input_ids"])

    for text in ("fox", "the red fox", "zanzibarology is odd", "月亮 fox", "🦊"):
        assert ids(f"Repeat: {text}")[-len(ids(text)) :] == ids(text)


def test_the_committed_tokenizer_is_the_one_that_training_makes(tiny_tokenizer: PreTrainedTokenizerFast) -> None:
    made = train_tokenizer(corpus())
    committed = json.loads((CHECKPOINT / "tokenizer.json").read_text(encoding="utf-8"))
    assert json.loads(made.backend_tokenizer.to_str()) == committed
    assert made.chat_template == tiny_tokenizer.chat_template


def test_too_small_a_corpus_is_refused() -> None:
    with pytest.raises(ValueError, match="give a larger one"):
        train_tokenizer(iter(["hello"]))
