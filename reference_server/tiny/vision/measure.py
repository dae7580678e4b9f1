"""Measures the accuracy of the vision-language checkpoint on fresh questions, skill by skill, and prints a table.

    python -m reference_server.tiny.vision.measure --draws 200

Decoding is greedy, in float32. An answer is right if it equals the expected text, including the end token.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any, Final

import click
import torch
from transformers import AutoTokenizer, InternVLForConditionalGeneration

from reference_server.tiny.turn import END_OF_TURN
from reference_server.tiny.vision import VISION_CHECKPOINT
from reference_server.tiny.vision.encoder import pixel_values
from reference_server.tiny.vision.questions import MEDIA_SKILLS, MediaQuestion
from reference_server.tiny.vision.rendering import vision_prompt

MEASURE_SEED: Final = 900_002
"""A seed that training does not use."""
LONGEST_ANSWER: Final = 24


class VisionModel:
    """A checkpoint that answers questions about media greedily."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
        self._model = InternVLForConditionalGeneration.from_pretrained(
            folder, dtype=torch.float32, local_files_only=True
        ).eval()

    @torch.inference_mode()
    def answer(self, question: MediaQuestion) -> str:
        """Return the answer, with its end token if it ends."""
        ids = self._tokenizer(vision_prompt(question), add_special_tokens=False, return_tensors="pt")["input_ids"]
        pixels = pixel_values([picture for medium in question.media for picture in medium])
        output: Any = self._model.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            pixel_values=pixels,
            max_new_tokens=LONGEST_ANSWER,
            do_sample=False,
        )
        return str(self._tokenizer.decode(output[0, ids.shape[1] :]))


@click.command()
@click.option("--checkpoint", type=click.Path(path_type=Path), default=VISION_CHECKPOINT, help="Folder to measure.")
@click.option("--draws", default=200, show_default=True, help="Questions of each skill.")
@click.option("--skill", "skills", multiple=True, help="Only these skills. Repeatable.")
@click.option("--wrong", default=0, show_default=True, help="Wrong answers of each skill to print.")
def main(checkpoint: Path, draws: int, skills: tuple[str, ...], wrong: int) -> None:
    """Measure a checkpoint and print a Markdown table."""
    torch.set_num_threads(1)
    model = VisionModel(checkpoint)
    click.echo("| skill | right | asked | share |\n|---|---:|---:|---:|")
    for skill in skills or MEDIA_SKILLS:
        rng = Random(MEASURE_SEED)
        right, shown = 0, wrong
        for _ in range(draws):
            question = MEDIA_SKILLS[skill](rng)
            answer = model.answer(question)
            right += answer == question.answer + END_OF_TURN
            if answer != question.answer + END_OF_TURN and shown:
                shown -= 1
                click.echo(f"{question.question!r}: {answer!r}, expected {question.answer!r}", err=True)
        click.echo(f"| {skill} | {right} | {draws} | {right / draws:.1%} |")


if __name__ == "__main__":
    main()
