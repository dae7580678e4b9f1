"""The embedded checkpoint: how it is trained, and what it has learnt."""

from __future__ import annotations

import json
from random import Random

import pytest
import torch
from transformers import AutoConfig, PreTrainedTokenizerFast

from reference_server.tiny import CHECKPOINT
from reference_server.tiny.batches import IGNORED, batches, taught_in_history
from reference_server.tiny.dialogues import BALANCED, COPYING, SKILLS
from reference_server.tiny.measure import MEASURE_SEED, Model, SkillScore, measure, parse_calls
from reference_server.tiny.rendering import render
from reference_server.tiny.tokenizer import VOCABULARY_SIZE
from reference_server.tiny.train import Recipe, losses, new_model, train
from reference_server.tiny.turn import END_OF_TURN

DRAWS = 25
"""Fresh dialogues a skill: enough to notice a worse checkpoint, few enough for one core."""


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> None:
    torch.set_num_threads(1)


@pytest.fixture(scope="module")
def model() -> Model:
    return Model(CHECKPOINT)


@pytest.fixture(scope="module")
def scores(model: Model) -> dict[str, SkillScore]:
    return measure(model, DRAWS, seed=MEASURE_SEED + 1)


def test_only_answers_are_taught_and_history_but_for_its_first_tokens(tiny_tokenizer: PreTrainedTokenizerFast) -> None:
    history = [
        {"role": "user", "content": "Say yes"},
        {"role": "assistant", "content": "yes it is"},
        {"role": "user", "content": "Hi"},
    ]
    prompt = tiny_tokenizer(render(history), add_special_tokens=False)["input_ids"]
    taught = [label for label in taught_in_history(tiny_tokenizer, prompt) if label != IGNORED]
    assert tiny_tokenizer.decode(taught) == "it is<|im_end|>"


def test_batches_keep_to_their_sizes(tiny_tokenizer: PreTrainedTokenizerFast) -> None:
    made = list(batches(tiny_tokenizer, Random(3), BALANCED, samples=200, tokens=1000, longest=200, drill_share=0.2))
    assert all(batch.ids.numel() <= 1000 and batch.ids.shape[1] <= 200 for batch in made)
    assert all(bool(((batch.labels == batch.ids) | (batch.labels == IGNORED)).all()) for batch in made)
    assert 100 < sum(len(batch.ids) for batch in made) <= 200


def test_a_few_steps_of_training_lower_the_loss(tiny_tokenizer: PreTrainedTokenizerFast) -> None:
    torch.manual_seed(0)
    recipe = Recipe(budget_s=2.0, batch_tokens=512, samples_per_round=60, warm_up_steps=1)
    batch = next(batches(tiny_tokenizer, Random(4), COPYING, samples=60, tokens=512, longest=200, drill_share=0.0))
    fresh = new_model(tiny_tokenizer)
    before = losses(fresh, batch, recipe)[0].item()
    train(fresh, tiny_tokenizer, recipe)
    assert losses(fresh, batch, recipe)[0].item() < before


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


@pytest.mark.takes_turns
@pytest.mark.parametrize("skill", FLOORS)
def test_fresh_dialogues_are_answered_as_well_as_the_card_says(scores: dict[str, SkillScore], skill: str) -> None:
    assert scores[skill].share >= FLOORS[skill], scores[skill]


def test_every_score_has_a_floor(scores: dict[str, SkillScore]) -> None:
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
