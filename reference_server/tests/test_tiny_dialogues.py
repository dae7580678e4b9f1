"""The dialogues from which the embedded checkpoint has learnt."""

from __future__ import annotations

from random import Random

import pytest

from reference_server.tiny.dialogues import BALANCED, COPYING, SKILLS, draw, draw_skill
from reference_server.tiny.rendering import prompt_text, render
from reference_server.tiny.turn import END_OF_TEXT, Dialogue, as_messages


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
