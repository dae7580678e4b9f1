"""The embedded checkpoint: its data, its tokenizer, its template and what it has learnt."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random

import jinja2
import pytest
import torch
from transformers import AutoConfig, PreTrainedTokenizerFast

from reference_server.tiny import CHECKPOINT, lexicon
from reference_server.tiny.batches import IGNORED, batches, taught_in_history
from reference_server.tiny.dialogues import BALANCED, COPYING, SKILLS, draw, draw_skill
from reference_server.tiny.measure import MEASURE_SEED, Model, Score, measure, parse_calls
from reference_server.tiny.rendering import prompt_text, render
from reference_server.tiny.tokenizer import ADDED_TOKENS, SPECIAL_TOKENS, VOCABULARY_SIZE, corpus, train_tokenizer
from reference_server.tiny.train import Recipe, losses, new_model, train
from reference_server.tiny.turn import END_OF_TEXT, END_OF_TURN, Dialogue, Json, as_messages

DRAWS = 25
"""Fresh dialogues a skill: enough to notice a worse checkpoint, few enough for one core."""


@pytest.fixture(scope="module")
def model() -> Model:
    torch.set_num_threads(1)
    return Model(CHECKPOINT)


@pytest.fixture(scope="module")
def tokenizer(model: Model) -> PreTrainedTokenizerFast:
    assert isinstance(model.tokenizer, PreTrainedTokenizerFast)
    return model.tokenizer


@pytest.fixture(scope="module")
def scores(model: Model) -> dict[str, Score]:
    return measure(model, DRAWS, seed=MEASURE_SEED + 1)


# The dialogues


@pytest.mark.parametrize("mix", [COPYING, BALANCED], ids=["copying", "balanced"])
def test_the_same_seed_gives_the_same_dialogues(mix: dict[str, float]) -> None:
    one, other, different = ([draw(rng, mix) for _ in range(200)] for rng in (Random(5), Random(5), Random(6)))
    assert one == other
    assert one != different


@pytest.mark.parametrize("mix", [COPYING, BALANCED], ids=["copying", "balanced"])
def test_every_skill_is_trained_in_both_phases(mix: dict[str, float]) -> None:
    assert set(SKILLS) == set(mix)


@pytest.mark.parametrize("skill", SKILLS)
def test_a_prompt_and_its_answer_are_what_the_template_makes_of_the_whole_chat(skill: str) -> None:
    rng = Random(7)
    for _ in range(50):
        sample = draw_skill(rng, skill)
        if not isinstance(sample, Dialogue):
            assert sample.prompt
            assert sample.answer().endswith(END_OF_TEXT)
            continue
        last = as_messages(sample.turn)[1] | ({"reasoning_content": sample.turn.thought} if sample.thinking else {})
        whole = render([*sample.messages, last], list(sample.tools), generation_prompt=False)
        assert whole == prompt_text(sample) + sample.answer() + "\n"


def test_calls_fit_the_tools_that_are_offered() -> None:
    rng = Random(8)
    for _ in range(300):
        sample = draw_skill(rng, rng.choice(("call", "two_calls")))
        assert isinstance(sample, Dialogue)
        offered = {tool["function"]["name"]: tool["function"].get("parameters", {}) for tool in sample.tools}
        for name, arguments in sample.turn.calls:
            assert set(arguments) <= set(offered[name].get("properties", {}))


def test_an_unknown_skill_is_refused() -> None:
    with pytest.raises(KeyError, match="juggling"):
        draw_skill(Random(0), "juggling")


# The tokenizer


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
def test_text_comes_back_as_it_went_in(tokenizer: PreTrainedTokenizerFast, text: str) -> None:
    assert text == tokenizer.decode(tokenizer(text, add_special_tokens=False)["input_ids"])


def test_random_unicode_comes_back_as_it_went_in(tokenizer: PreTrainedTokenizerFast) -> None:
    rng = Random(9)
    ranges = [(0x00, 0x7F), (0x80, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFF), (0x10000, 0x10FFFF)]
    for _ in range(300):
        text = "".join(chr(rng.randint(*rng.choice(ranges))) for _ in range(rng.randint(1, 30)))
        assert text == tokenizer.decode(tokenizer(text, add_special_tokens=False)["input_ids"])


def test_the_vocabulary_holds_the_marks_of_the_chat_as_single_tokens(tokenizer: PreTrainedTokenizerFast) -> None:
    assert len(tokenizer) == VOCABULARY_SIZE
    for token in SPECIAL_TOKENS + ADDED_TOKENS:
        assert len(tokenizer(token, add_special_tokens=False)["input_ids"]) == 1
    assert [tokenizer.eos_token, tokenizer.pad_token] == [END_OF_TURN, END_OF_TEXT]
    marks = "".join(SPECIAL_TOKENS + ADDED_TOKENS)
    ids = tokenizer(marks, add_special_tokens=False)["input_ids"]
    assert "".join(ADDED_TOKENS) == tokenizer.decode(ids, skip_special_tokens=True)


def test_some_characters_are_cut_across_tokens(tokenizer: PreTrainedTokenizerFast) -> None:
    cut = [
        word
        for word in lexicon.CJK_WORDS + lexicon.EMOJI
        if any("\ufffd" in tokenizer.decode([i]) for i in tokenizer(word, add_special_tokens=False)["input_ids"])
    ]
    assert len(cut) >= 20


def test_a_text_has_the_same_tokens_at_its_start_as_in_a_question(tokenizer: PreTrainedTokenizerFast) -> None:
    def ids(text: str) -> list[int]:
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])

    for text in ("fox", "the red fox", "zanzibarology is odd", "月亮 fox", "🦊"):
        assert ids(f"Repeat: {text}")[-len(ids(text)) :] == ids(text)


def test_the_committed_tokenizer_is_the_one_that_training_makes(tokenizer: PreTrainedTokenizerFast) -> None:
    made = train_tokenizer(corpus())
    committed = json.loads((CHECKPOINT / "tokenizer.json").read_text(encoding="utf-8"))
    assert json.loads(made.backend_tokenizer.to_str()) == committed
    assert made.chat_template == tokenizer.chat_template


def test_too_small_a_corpus_is_refused() -> None:
    with pytest.raises(ValueError, match="give a larger one"):
        train_tokenizer(iter(["hello"]))


# The template

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


def test_the_saved_tokenizer_renders_as_training_did(tokenizer: PreTrainedTokenizerFast) -> None:
    rng = Random(10)
    for _ in range(50):
        sample = draw_skill(rng, rng.choice([skill for skill in SKILLS if skill != "raw_text"]))
        assert isinstance(sample, Dialogue)
        rendered = tokenizer.apply_chat_template(
            list(sample.messages),
            tools=list(sample.tools) or None,
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=sample.thinking,
        )
        assert prompt_text(sample) == rendered


# Training


def test_only_answers_are_taught_and_history_but_for_its_first_tokens(tokenizer: PreTrainedTokenizerFast) -> None:
    history = [{"role": "user", "content": "Say yes"}, {"role": "assistant", "content": "yes it is"}, USER]
    prompt = tokenizer(render(history), add_special_tokens=False)["input_ids"]
    taught = [label for label in taught_in_history(tokenizer, prompt) if label != IGNORED]
    assert tokenizer.decode(taught) == "it is<|im_end|>"


def test_batches_keep_to_their_sizes(tokenizer: PreTrainedTokenizerFast) -> None:
    made = list(batches(tokenizer, Random(3), BALANCED, samples=200, tokens=1000, longest=200, drill_share=0.2))
    assert all(batch.ids.numel() <= 1000 and batch.ids.shape[1] <= 200 for batch in made)
    assert all(bool(((batch.labels == batch.ids) | (batch.labels == IGNORED)).all()) for batch in made)
    assert 100 < sum(len(batch.ids) for batch in made) <= 200


def test_a_few_steps_of_training_lower_the_loss(tokenizer: PreTrainedTokenizerFast) -> None:
    torch.manual_seed(0)
    recipe = Recipe(budget_s=2.0, batch_tokens=512, samples_per_round=60, warm_up_steps=1)
    batch = next(batches(tokenizer, Random(4), COPYING, samples=60, tokens=512, longest=200, drill_share=0.0))
    fresh = new_model(tokenizer)
    before = losses(fresh, batch, recipe)[0].item()
    train(fresh, tokenizer, recipe)
    assert losses(fresh, batch, recipe)[0].item() < before


# The checkpoint


def test_the_checkpoint_is_what_the_card_says() -> None:
    config = AutoConfig.from_pretrained(CHECKPOINT, local_files_only=True)
    assert config.architectures == ["Qwen3ForCausalLM"]
    assert (config.vocab_size, config.max_position_embeddings, config.tie_word_embeddings) == (
        VOCABULARY_SIZE,
        4096,
        True,
    )
    assert 6_000_000 > (CHECKPOINT / "model.safetensors").stat().st_size > 4_000_000
    generation = json.loads((CHECKPOINT / "generation_config.json").read_text(encoding="utf-8"))
    assert len(generation["eos_token_id"]) == 2


FLOORS: dict[str, float] = {
    **dict.fromkeys(SKILLS, 0.92),
    "echo": 0.88,
    "call": 0.88,
    "call: valid JSON": 0.96,
    "call: right tool": 0.88,
    "two_calls": 0.84,
    "two_calls: valid JSON": 0.96,
    "two_calls: right tool": 0.92,
    "thinking, any skill": 0.88,
    "unseen questions declined": 0.9,
    "plain answer free of think tags": 1.0,
    "every answer ends": 0.99,
}
"""A little below the figures of the card, since fewer are asked."""


@pytest.mark.parametrize("skill", FLOORS)
def test_fresh_dialogues_are_answered_as_well_as_the_card_says(scores: dict[str, Score], skill: str) -> None:
    assert scores[skill].share >= FLOORS[skill], scores[skill]


def test_every_score_has_a_floor(scores: dict[str, Score]) -> None:
    assert set(scores) == set(FLOORS)


SANE: dict[str, str] = {
    "Hello!": "Hello! How can I help you today?",
    "Count from 1 to 9": "1, 2, 3, 4, 5, 6, 7, 8, 9.",
    "What is 3 + 4?": "3 + 4 = 7.",
    "Repeat: the red fox runs": "the red fox runs",
    "You are a helpful assistant.": "Thank you! How can I help you today?",
    "My name is Olivier and I": "Nice to meet you, Olivier!",
    "Where is Paris?": "Paris is the capital of France.",
    "What is the capital of Japan?": "The capital of Japan is Tokyo.",
}


def test_the_requests_of_the_suite_get_the_answers_they_rest_on(model: Model) -> None:
    answers = model.answers([render([{"role": "user", "content": question}]) for question in SANE])
    assert [text + END_OF_TURN for text in SANE.values()] == answers


def test_calls_are_read_back_and_broken_ones_are_not() -> None:
    good = '<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    assert parse_calls(good) == [{"name": "f", "arguments": {}}]
    assert parse_calls("no call") is None
    assert parse_calls("<tool_call>\n{broken\n</tool_call>") is None


def test_the_template_beside_the_weights_is_the_source(tokenizer: PreTrainedTokenizerFast) -> None:
    source = Path(CHECKPOINT.parent / "chat_template.jinja").read_text(encoding="utf-8")
    assert source == (CHECKPOINT / "chat_template.jinja").read_text(encoding="utf-8")
