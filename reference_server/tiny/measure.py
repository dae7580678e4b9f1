"""Measures the accuracy of a checkpoint on new dialogues, skill by skill, and prints a table.

    python -m reference_server.tiny.measure --checkpoint checkpoint --draws 100

Decoding is greedy. An answer is right if it equals the expected text, including the end token. Skills over a closed
set (sums, capitals, small talk) use facts from training in new contexts; skills over an open set (echo, calls, tool
answers, stories) use new texts.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import click
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer, PreTrainedModel, PreTrainedTokenizerBase

from reference_server.tiny import CHECKPOINT
from reference_server.tiny.dialogues import SKILLS, draw_skill
from reference_server.tiny.rendering import prompt_text, render
from reference_server.tiny.talk import ABILITIES, FALLBACK, FALLBACK_CHINESE, NEEDS_TOOL
from reference_server.tiny.turn import END_OF_TEXT, END_OF_TURN, Dialogue, Json, Sample

if TYPE_CHECKING:
    from collections.abc import Sequence

MEASURE_SEED = 900_001
"""A seed that training does not use."""

_CALL = re.compile(r"<tool_call>\n(.*?)\n</tool_call>", re.DOTALL)

UNSEEN_QUESTIONS: tuple[str, ...] = (
    "Why do cats purr?", "Which laptop should I buy for university?",
    "Plan a three day trip to the Alps for my family.", "Is a tomato a fruit or a vegetable?",
    "What time does the library close?", "Help me write a cover letter", "How many legs does a spider have?",
    "Explain recursion to a five year old.", "I feel sad today.", "What did Einstein get the Nobel Prize for?",
    "Convert 5 miles to kilometres", "Give me a recipe for pancakes", "Who won the match last night?",
    "Write a regular expression that matches an email address.", "How do magnets work?",
    "Should I learn Go or Java first?", "Is water wet?", "My phone does not charge any more.",
    "How tall is Mount Everest?", "What rhymes with orange?", "Sort these numbers: 9, 4, 7",
    "What is 2 to the power of ten?", "Draw a picture of a boat for me", "Can pigs fly?",
    "Please review my essay on friendship.", "asdf qwer zxcv", "What would you do with a million euros?",
    "How is silk made?", "为什么天空是蓝色的？", "帮我写一封信",
)  # fmt: skip
"""Written by hand, in forms that the generator of off-topic questions does not produce."""


@dataclass(slots=True)
class SkillScore:
    """The number of right answers and of questions."""

    right: int = 0
    asked: int = 0

    def add(self, right: bool) -> None:
        """Count one answer."""
        self.right += right
        self.asked += 1

    @property
    def share(self) -> float:
        """The share of right answers, from 0 to 1; 0 without questions."""
        return self.right / self.asked if self.asked else 0.0


class Model:
    """A checkpoint that answers batches of prompts greedily in float32."""

    def __init__(self, folder: Path) -> None:
        self.tokenizer: PreTrainedTokenizerBase = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self.tokenizer.padding_side = "left"
        self._model: PreTrainedModel = AutoModelForCausalLM.from_pretrained(
            folder, dtype=torch.float32, local_files_only=True
        ).eval()

    @torch.inference_mode()
    def answers(self, prompts: Sequence[str], longest: int = 320, at_once: int = 16) -> list[str]:
        """Return the continuations of `prompts` of at most `longest` tokens, including the end token."""
        order = sorted(range(len(prompts)), key=lambda i: len(prompts[i]))
        answers = [""] * len(prompts)
        for start in range(0, len(order), at_once):
            rows = order[start : start + at_once]
            inputs = self.tokenizer(
                [prompts[i] for i in rows], return_tensors="pt", padding=True, add_special_tokens=False
            )
            output = self._model.generate(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                max_new_tokens=longest,
                do_sample=False,
            )
            for i, text in zip(
                rows, self.tokenizer.batch_decode(output[:, inputs["input_ids"].shape[1] :]), strict=True
            ):
                answers[i] = _through_first_end(text)
        return answers


def _through_first_end(text: str) -> str:
    ends = [text.index(end) + len(end) for end in (END_OF_TURN, END_OF_TEXT) if end in text]
    return text[: min(ends)] if ends else text


def parse_calls(text: str) -> list[Json] | None:
    """Return the tool calls in an answer, or None without calls or if one is not valid JSON."""
    try:
        return [json.loads(body) for body in _CALL.findall(text)] or None
    except json.JSONDecodeError:
        return None


def measure(
    model: Model, draws: int, seed: int = MEASURE_SEED, skills: Sequence[str] = SKILLS
) -> dict[str, SkillScore]:
    """Return the scores of `draws` new samples per skill, of as many with reasoning, and of the unseen questions."""
    scores: dict[str, SkillScore] = {}
    for skill in skills:
        rng = Random(f"{seed} {skill}")
        samples = [draw_skill(rng, skill, thinking=False) for _ in range(draws)]
        _score(scores, skill, samples, model.answers([prompt_text(sample) for sample in samples]))
    rng = Random(f"{seed} thinking")
    talkative = [skill for skill in skills if skill != "raw_text"]
    samples = [draw_skill(rng, rng.choice(talkative), thinking=True) for _ in range(draws)]
    _score(scores, "thinking, any skill", samples, model.answers([prompt_text(sample) for sample in samples]))
    prompts = [render([{"role": "user", "content": question}]) for question in UNSEEN_QUESTIONS]
    declined = {text + END_OF_TURN for text in (FALLBACK, FALLBACK_CHINESE, ABILITIES, NEEDS_TOOL)}
    scores["unseen questions declined"] = SkillScore()
    for answer in model.answers(prompts):
        scores["unseen questions declined"].add(answer in declined)
        scores.setdefault("every answer ends", SkillScore()).add(answer.endswith(END_OF_TURN))
    return scores


def _score(scores: dict[str, SkillScore], name: str, samples: Sequence[Sample], answers: Sequence[str]) -> None:
    for sample, answer in zip(samples, answers, strict=True):
        scores.setdefault("every answer ends", SkillScore()).add(answer.endswith((END_OF_TURN, END_OF_TEXT)))
        scores.setdefault(name, SkillScore()).add(answer == sample.answer())
        if isinstance(sample, Dialogue) and sample.turn.calls and not sample.thinking:
            calls = parse_calls(answer)
            names = [call.get("name") for call in calls or []]
            scores.setdefault(f"{name}: valid JSON", SkillScore()).add(calls is not None)
            scores.setdefault(f"{name}: right tool", SkillScore()).add(names == [n for n, _ in sample.turn.calls])
        if isinstance(sample, Dialogue) and not sample.thinking:
            scores.setdefault("plain answer free of think tags", SkillScore()).add("think>" not in answer)


def table(scores: dict[str, SkillScore]) -> str:
    """Return the scores as a Markdown table."""
    lines = ["| what | right | asked | share |", "|---|---:|---:|---:|"]
    lines += [f"| {name} | {score.right} | {score.asked} | {score.share:.1%} |" for name, score in scores.items()]
    return "\n".join(lines)


@click.command()
@click.option(
    "--checkpoint",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=CHECKPOINT,
    help="Folder of the checkpoint.",
)
@click.option(
    "--draws", type=click.IntRange(min=1), default=100, show_default=True, help="Number of new dialogues per skill."
)
@click.option("--seed", type=int, default=MEASURE_SEED, show_default=True, help="Seed of the dialogues.")
@click.option("--show", is_flag=True, help="Also print the answer to each unseen question.")
def main(checkpoint: Path, draws: int, seed: int, show: bool) -> None:
    """Measure a checkpoint (default: the embedded one) on new dialogues."""
    torch.set_num_threads(1)
    model = Model(checkpoint)
    click.echo(table(measure(model, draws, seed)))
    if show:
        prompts = [render([{"role": "user", "content": question}]) for question in UNSEEN_QUESTIONS]
        for question, answer in zip(UNSEEN_QUESTIONS, model.answers(prompts), strict=True):
            click.echo(f"{question}\n    {answer}")


if __name__ == "__main__":
    main()
