"""Trains the encoder of the embedded vision-language checkpoint on one CPU core; the language model is not changed.

python -m reference_server.tiny.vision.train --out reference_server/tiny/vision/checkpoint --minutes 25
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import click
import torch
from torch import nn
from torch.nn import functional
from transformers import AutoTokenizer, InternVLForConditionalGeneration, Qwen3ForCausalLM

from reference_server.tiny import CHECKPOINT
from reference_server.tiny.batches import IGNORED
from reference_server.tiny.tokenizer import save_tokenizer
from reference_server.tiny.turn import END_OF_TURN
from reference_server.tiny.vision import attributes
from reference_server.tiny.vision.encoder import PATCH, new_vision_model, pixel_values
from reference_server.tiny.vision.pictures import SIDE
from reference_server.tiny.vision.questions import MEDIA_SKILLS, MIX, MediaQuestion
from reference_server.tiny.vision.rendering import PLACEHOLDER, vision_prompt, vision_template

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, slots=True)
class EncoderRecipe:
    """The training recipe.

    budget_s: CPU time of the whole run, in seconds.
    first_stage: share of the budget in which only the properties of pictures are taught.
    seen_weight: weight of these properties in the second stage, which teaches answers.
    rates: the share of the learning rate for each part in the second stage.
    """

    budget_s: float
    first_stage: float = 0.15
    seen_weight: float = 0.1
    rates: dict[str, float] = field(default_factory=lambda: {"tower": 1.0, "heads": 0.3, "projector": 1.0})
    patches: int = 1 + (SIDE // PATCH) ** 2
    pictures_per_step: int = 64
    seed: int = 1
    samples_per_step: int = 24
    learning_rate: float = 5e-3
    warm_up_steps: int = 20

    def learning_rate_at(self, step: int, share: float) -> float:
        """Return the learning rate: a linear warm-up, then a linear decay with the spent share of the budget."""
        return max(self.learning_rate * min(1.0, (step + 1) / self.warm_up_steps) * (1.0 - share), 1e-6)


LONG_SKILLS = frozenset({"several_images", "order", "clip"})
"""Skills with several pictures in a prompt."""


def losses(model: InternVLForConditionalGeneration, tokenizer: Any, questions: list[MediaQuestion]) -> torch.Tensor:
    """Return the cross entropy of the answers, in nats per token."""
    prompts = tokenizer([vision_prompt(each) for each in questions], add_special_tokens=False)["input_ids"]
    answers = tokenizer([each.answer + END_OF_TURN for each in questions], add_special_tokens=False)["input_ids"]
    width = max(len(prompt) + len(answer) for prompt, answer in zip(prompts, answers, strict=True))
    ids = torch.full((len(questions), width), int(tokenizer.convert_tokens_to_ids("<|im_end|>")))
    labels = torch.full((len(questions), width), IGNORED)
    for row, (prompt, answer) in enumerate(zip(prompts, answers, strict=True)):
        ids[row, : len(prompt) + len(answer)] = torch.tensor(prompt + answer)
        labels[row, len(prompt) : len(prompt) + len(answer)] = torch.tensor(answer)
    pixels = pixel_values([picture for each in questions for media in each.media for picture in media])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden = model.model(input_ids=ids, pixel_values=pixels, use_cache=False).last_hidden_state[:, :-1]
        taught = labels[:, 1:] != IGNORED
        logits = model.lm_head(hidden[taught]).float()
    return functional.cross_entropy(logits, labels[:, 1:][taught])


def draw_batch(rng: Random, skills: list[str], size: int) -> list[MediaQuestion]:
    """Draw questions with prompts of similar length: those about one picture, or those about several."""
    long = [skill for skill in skills if skill in LONG_SKILLS]
    short = [skill for skill in skills if skill not in LONG_SKILLS]
    weights = [sum(MIX[skill] for skill in group) for group in (short, long)]
    group = rng.choices((short, long), weights)[0]
    chosen = rng.choices(group, [MIX[skill] for skill in group], k=size if group is short else size // 2)
    return [MEDIA_SKILLS[skill](rng) for skill in chosen]


def picture_loss(tower: nn.Module, heads: attributes.AttributeHeads, rng: Random, size: int) -> torch.Tensor:
    """Return how badly the patches of drawn pictures tell their properties, in nats."""
    examples = [attributes.draw(rng) for _ in range(size)]
    with torch.autocast("cpu", dtype=torch.bfloat16):
        patches = tower(pixel_values([example.pixels for example in examples])).last_hidden_state
    loss: torch.Tensor = heads(patches, examples)
    return loss


def optimizers_of(parts: dict[str, nn.Module], recipe: EncoderRecipe) -> list[torch.optim.Optimizer]:
    """Return Muon for the matrices of the parts, and AdamW for their other weights and for linear classifiers."""
    matrices: list[dict[str, Any]] = []
    others: list[dict[str, Any]] = []
    for name, part in parts.items():
        rate = recipe.rates[name]
        for weights in part.parameters():
            is_matrix = weights.ndim == 2 and not isinstance(part, attributes.AttributeHeads)
            (matrices if is_matrix else others).append({"params": [weights], "share": rate})
    return [
        torch.optim.Muon(matrices, lr=0.0, weight_decay=0.01, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(others, lr=0.0, weight_decay=0.0, betas=(0.9, 0.98)),
    ]


def run_stage(
    parts: dict[str, nn.Module], recipe: EncoderRecipe, budget_s: float, loss_of: Callable[[], torch.Tensor]
) -> None:
    """Train the parts with a loss until a budget of CPU time is spent, and print the progress."""
    optimizers = optimizers_of(parts, recipe)
    groups = [group for optimizer in optimizers for group in optimizer.param_groups]
    start_s, step, smooth = time.process_time(), 0, 0.0
    while (spent_s := time.process_time() - start_s) < budget_s:
        rate = recipe.learning_rate_at(step, spent_s / budget_s)
        for group in groups:
            group["lr"] = rate * group["share"]
        loss = loss_of()
        torch.autograd.backward(loss)
        torch.nn.utils.clip_grad_norm_([weights for group in groups for weights in group["params"]], 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        smooth = loss.item() if step == 0 else 0.95 * smooth + 0.05 * loss.item()
        if step in (0, 10, 30) or step % 100 == 99:
            click.echo(f"step {step + 1}: {spent_s:.0f} s, loss {smooth:.4f}, rate {rate:.2e}")
        step += 1


def train(model: InternVLForConditionalGeneration, tokenizer: Any, recipe: EncoderRecipe, skills: list[str]) -> None:
    """Train the encoder in place: first what pictures show, then what to answer about them."""
    rng = Random(recipe.seed)
    model.requires_grad_(False)
    tower, projector = model.model.vision_tower, model.model.multi_modal_projector
    tower.requires_grad_(True)
    heads = attributes.AttributeHeads(recipe.patches * tower.config.hidden_size)
    first_s = recipe.budget_s * recipe.first_stage
    model.train()
    click.echo("first stage: what pictures show" if first_s else "no first stage: the encoder is trained")
    run_stage(
        {"tower": tower, "heads": heads},
        replace(recipe, rates=dict.fromkeys(recipe.rates, 1.0)),
        first_s,
        lambda: picture_loss(tower, heads, rng, recipe.pictures_per_step),
    )
    projector.requires_grad_(True)
    click.echo("second stage: what to answer")

    def answer_loss() -> torch.Tensor:
        answers = losses(model, tokenizer, draw_batch(rng, skills, recipe.samples_per_step))
        if not recipe.seen_weight:
            return answers
        return answers + recipe.seen_weight * picture_loss(tower, heads, rng, recipe.pictures_per_step // 4)

    parts = {"tower": tower, "heads": heads, "projector": projector}
    run_stage(parts, recipe, recipe.budget_s - first_s, answer_loss)
    model.eval()


@click.command()
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder for the checkpoint."
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    default=20.0,
    show_default=True,
    help="Budget of CPU time.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the weights and of the questions.")
@click.option("--skill", "skills", multiple=True, help="Only these skills. Repeatable.")
@click.option(
    "--start", type=click.Path(exists=True, path_type=Path), help="Teach the encoder of a checkpoint more answers."
)
@click.option("--rate", default=5e-3, show_default=True, help="Highest learning rate.")
def main(out: Path, minutes: float, seed: int, skills: tuple[str, ...], start: Path | None, rate: float) -> None:
    """Train the encoder on one CPU core, from scratch or further."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    tokenizer = AutoTokenizer.from_pretrained(CHECKPOINT, local_files_only=True)
    text = Qwen3ForCausalLM.from_pretrained(
        CHECKPOINT, dtype=torch.float32, local_files_only=True, attn_implementation="eager"
    )
    text.config._name_or_path = ""  # no path of this machine in the configuration
    model = new_vision_model(text, int(tokenizer.convert_tokens_to_ids(PLACEHOLDER)))
    if start is not None:
        trained = InternVLForConditionalGeneration.from_pretrained(start, dtype=torch.float32, local_files_only=True)
        model.load_state_dict(trained.state_dict())
    tower = sum(p.numel() for p in model.model.vision_tower.parameters())
    click.echo(f"{tower} parameters in the encoder, {model.num_parameters()} in total")
    recipe = EncoderRecipe(budget_s=60 * minutes, seed=seed, learning_rate=rate)
    if start is not None:
        recipe = replace(recipe, first_stage=0.0, seen_weight=0.0)
    train(model, tokenizer, recipe, list(skills or MEDIA_SKILLS))
    model.to(torch.bfloat16).save_pretrained(out)
    tokenizer.chat_template = vision_template()
    save_tokenizer(tokenizer, out)
    click.echo(f"saved to {out}")


if __name__ == "__main__":
    main()
