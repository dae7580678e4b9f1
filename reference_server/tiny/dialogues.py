"""Draws dialogues for training and measuring. The same seed yields the same dialogues."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, TypeAlias

from reference_server.tiny import calls, lexicon, repetition, talk
from reference_server.tiny.fragment import phrase
from reference_server.tiny.story import raw_text, story
from reference_server.tiny.tools import tool, topic
from reference_server.tiny.turn import Dialogue, Json, Sample, Skill, Turn, as_messages

if TYPE_CHECKING:
    from random import Random

TALK: Mapping[str, Skill] = {
    "greeting": talk.greeting,
    "capital": talk.capital,
    "city": talk.city,
    "echo": repetition.echo,
    "echo_multibyte": repetition.echo_multibyte,
    "count": talk.count,
    "sum": talk.single_digit_sum,
    "other_arithmetic": talk.other_arithmetic,
    "story": story,
    "json_object": repetition.json_object,
    "media": talk.media,
    "off_topic": talk.off_topic,
}
WITH_TOOLS = ("call", "two_calls", "tool_answer", "tools_unused", "tool_missing")
SKILLS = (*TALK, *WITH_TOOLS, "raw_text")

Mix: TypeAlias = Mapping[str, float]
"""Weights, of any sum, with which the skills in `SKILLS` are drawn."""

COPYING: Mix = {
    "greeting": 2, "capital": 1, "city": 1, "echo": 22, "echo_multibyte": 8, "count": 6, "sum": 5,
    "other_arithmetic": 1, "story": 2, "json_object": 5, "media": 1, "off_topic": 4, "call": 20, "two_calls": 6,
    "tool_answer": 8, "tools_unused": 1, "tool_missing": 1, "raw_text": 2,
}  # fmt: skip
"""The first phase: the model learns to copy, which calls, echoes and tool results depend on."""

BALANCED: Mix = {
    "greeting": 6, "capital": 5, "city": 5, "echo": 12, "echo_multibyte": 8, "count": 6, "sum": 9,
    "other_arithmetic": 3, "story": 3, "json_object": 4, "media": 3, "off_topic": 9, "call": 14, "two_calls": 7,
    "tool_answer": 7, "tools_unused": 3, "tool_missing": 2, "raw_text": 4,
}  # fmt: skip
"""The second phase: every skill at its final weight."""


def draw(rng: Random, mix: Mix) -> Sample:
    """Draw a sample of a skill that is drawn with the weights in `mix`."""
    return draw_skill(rng, rng.choices(list(mix), list(mix.values()))[0])


def draw_skill(rng: Random, skill: str, thinking: bool | None = None) -> Sample:
    """Draw a sample of a skill in `SKILLS`. Without `thinking`, one sample in four has reasoning.

    Raises KeyError for an unknown name.
    """
    if skill == "raw_text":
        return raw_text(rng)
    if thinking is None:
        thinking = rng.random() < 0.25
    messages = _opening(rng)
    tools: tuple[Json, ...] = ()
    if skill in WITH_TOOLS:
        before, turn, tools = _with_tools(rng, skill)
        messages += before
    else:
        for _ in range(rng.choice((0, 0, 0, 0, 1, 1, 2))):
            messages += as_messages(_any_talk(rng))
        turn = TALK[skill](rng)
    messages += as_messages(turn)[:1] if turn.question else []
    return Dialogue(skill, tuple(messages), tools, thinking, turn)


def _opening(rng: Random) -> list[Json]:
    if rng.random() < 0.5:
        return []
    prompt = rng.choice(lexicon.SYSTEM_PROMPTS)
    if rng.random() < 0.25:
        prompt += " " + phrase(rng, 3, 15).capitalize() + "."
    return [{"role": "system", "content": prompt}]


def _any_talk(rng: Random) -> Turn:
    short = [name for name in TALK if name not in ("story", "media")]
    return TALK[rng.choice(short)](rng)


def _with_tools(rng: Random, skill: str) -> tuple[list[Json], Turn, tuple[Json, ...]]:
    """Draw the messages before the last question, the turn, and the offered tools."""
    tools: list[Json] = []
    for _ in range(rng.choice((1, 1, 1, 2, 2, 3))):
        tools.append(tool(rng, frozenset(topic(item["function"]["name"]) for item in tools)))
    before: list[Json] = []
    if skill == "tool_missing":
        return before, Turn(calls.call(rng, tools).question, "There is no tool for this.", talk.NEEDS_TOOL), ()
    if rng.random() < 0.15:
        before += as_messages(_any_talk(rng))
    if skill == "tools_unused":
        return before, _any_talk(rng), tuple(tools)
    if skill == "two_calls":
        return before, calls.two_calls(rng, tools), tuple(tools)
    if skill == "tool_answer":
        asked = calls.two_calls(rng, tools) if rng.random() < 0.3 else calls.call(rng, tools)
        history, answer = _answered(rng, asked)
        return before + history, Turn("", "The tool has answered.", answer), tuple(tools)
    if rng.random() < 0.12 and (asked_back := calls.asked_back(rng, tools)):
        history, turn = asked_back
        return before + history, turn, tuple(tools)
    if rng.random() < 0.15:
        history, answer = _answered(rng, calls.call(rng, tools))
        before += [*history, {"role": "assistant", "content": answer}]
    return before, calls.call(rng, tools), tuple(tools)


def _answered(rng: Random, asked: Turn) -> tuple[list[Json], str]:
    """Return a question, its calls and their results as messages, and the expected answer."""
    messages = as_messages(asked)
    sentences: list[str] = []
    for i in range(len(asked.calls)):
        text, sentence = calls.result(rng)
        messages.append({"role": "tool", "tool_call_id": f"call_{i}", "content": text})
        sentences.append(sentence)
    return messages, " ".join(sentences)
