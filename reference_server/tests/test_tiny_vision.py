"""The embedded vision-language checkpoint: its files, its language model and its training questions."""

from __future__ import annotations

from random import Random

import pytest

from reference_server.engine.device import torch
from reference_server.tiny import CHECKPOINT
from reference_server.tiny.turn import END_OF_TURN
from reference_server.tiny.vision import VISION_CHECKPOINT
from reference_server.tiny.vision.measure import MEASURE_SEED, VisionModel
from reference_server.tiny.vision.questions import MEDIA_SKILLS
from reference_server.tiny.vision.rendering import PLACEHOLDER, TOKENS_PER_PICTURE, vision_prompt, vision_template

MOST_BYTES = 10 * 2**20


def test_the_template_is_that_of_the_text_model_with_a_placeholder_for_media() -> None:
    assert vision_template() == (VISION_CHECKPOINT / "chat_template.jinja").read_text(encoding="utf-8")


def test_the_checkpoint_has_less_than_ten_megabytes() -> None:
    assert sum(path.stat().st_size for path in VISION_CHECKPOINT.iterdir()) < MOST_BYTES


def test_the_language_model_has_the_weights_of_the_text_model() -> None:
    from safetensors.torch import load_file

    text = load_file(CHECKPOINT / "model.safetensors")
    vision = load_file(VISION_CHECKPOINT / "model.safetensors")
    for name, weights in text.items():
        same = [other for key, other in vision.items() if key.endswith(name.removeprefix("model."))]
        assert any(torch.equal(weights, other) for other in same), name


@pytest.mark.parametrize("skill", MEDIA_SKILLS)
def test_the_same_seed_yields_the_same_questions_with_a_placeholder_for_each_token(skill: str) -> None:
    one, other = (MEDIA_SKILLS[skill](Random(5)) for _ in range(2))
    assert (one.question, one.answer, one.kinds) == (other.question, other.answer, other.kinds)
    assert skill == one.skill
    pictures = sum(map(len, one.media))
    assert TOKENS_PER_PICTURE * pictures == vision_prompt(one).count(PLACEHOLDER)


def test_most_plain_colours_are_recognised() -> None:
    rng, model = Random(MEASURE_SEED), VisionModel(VISION_CHECKPOINT)
    questions = [MEDIA_SKILLS["main_colour"](rng) for _ in range(20)]
    right = sum(model.answer(question) == question.answer + END_OF_TURN for question in questions)
    assert right >= 14
