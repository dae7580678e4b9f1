"""Trains the embedded checkpoint and its tokenizer from scratch in one run on one CPU core.

    python -m reference_server.tiny.train --out checkpoint --minutes 18

The length of the run is a budget of CPU time, so a busy machine does not produce a worse model. Two runs yield similar
but not identical weights.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import click
import torch
from torch.nn import functional
from transformers import GenerationConfig, PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

from reference_server.tiny.batches import IGNORED, TrainingBatch, batches
from reference_server.tiny.dialogues import BALANCED, COPYING
from reference_server.tiny.tokenizer import MAX_TOKENS, VOCABULARY_SIZE, corpus, save_tokenizer, train_tokenizer
from reference_server.tiny.turn import END_OF_TEXT, END_OF_TURN

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True, slots=True)
class Recipe:
    """The training recipe. budget_s: CPU time of the whole run, in seconds."""

    budget_s: float
    seed: int = 1
    copying_share: float = 0.4  # of the budget goes to the first phase
    batch_tokens: int = 2048
    longest_sample_tokens: int = 640
    samples_per_round: int = 1000
    learning_rate: float = 3e-3
    warm_up_steps: int = 60
    drill_share: float = 0.1  # of the samples are drills of the vocabulary
    prompt_weight: float = 0.1  # of the language-model loss on prompts
    prompt_positions: int = 256  # sampled for it in each batch

    def learning_rate_at(self, step: int, share: float) -> float:
        """Return the learning rate: a linear warm-up, then a linear decay with the spent share of the budget."""
        return max(self.learning_rate * min(1.0, (step + 1) / self.warm_up_steps) * (1.0 - share), 1e-6)


def new_model(tokenizer: PreTrainedTokenizerFast) -> Qwen3ForCausalLM:
    """Create an untrained model of 2.4 million parameters in float32."""
    end_of_turn = tokenizer.convert_tokens_to_ids(END_OF_TURN)
    end_of_text = tokenizer.convert_tokens_to_ids(END_OF_TEXT)
    config = Qwen3Config(
        vocab_size=VOCABULARY_SIZE,
        hidden_size=192,
        intermediate_size=512,
        num_hidden_layers=4,
        num_attention_heads=6,
        num_key_value_heads=3,
        head_dim=32,
        max_position_embeddings=MAX_TOKENS,
        tie_word_embeddings=True,
        rope_theta=10000.0,
        bos_token_id=None,
        eos_token_id=end_of_turn,
        pad_token_id=end_of_text,
        dtype="float32",
        attn_implementation="eager",
    )
    model = Qwen3ForCausalLM(config)
    model.generation_config = GenerationConfig(
        eos_token_id=[end_of_turn, end_of_text], pad_token_id=end_of_text, do_sample=True, temperature=1.0
    )
    return model


def new_optimizers(model: Qwen3ForCausalLM, recipe: Recipe) -> list[torch.optim.Optimizer]:
    """Create Muon for the matrices of the layers and AdamW for embeddings and norms."""
    matrices: list[torch.nn.Parameter] = []
    others: list[torch.nn.Parameter] = []
    for name, parameter in model.named_parameters():
        (matrices if parameter.ndim == 2 and "embed" not in name else others).append(parameter)
    rate = recipe.learning_rate
    return [
        torch.optim.Muon(matrices, lr=rate, weight_decay=0.01, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(others, lr=rate, weight_decay=0.0, betas=(0.9, 0.98), fused=True),
    ]


def losses(model: Qwen3ForCausalLM, batch: TrainingBatch, recipe: Recipe) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the cross entropy of the answers, and of some prompt positions, each a scalar in nats per token.

    Logits are computed only at those positions, which halves the cost of a step.
    """
    with torch.autocast("cpu", dtype=torch.bfloat16):
        hidden = model.model(input_ids=batch.ids, use_cache=False).last_hidden_state[:, :-1]
        following, labels = batch.ids[:, 1:], batch.labels[:, 1:]
        taught = labels != IGNORED
        untaught = ((following != model.config.pad_token_id) & ~taught).nonzero()
        untaught = untaught[torch.randperm(len(untaught))[: recipe.prompt_positions]]
        rows, columns = untaught.unbind(1)
        answers = model.lm_head(hidden[taught]).float()
        prompts = model.lm_head(hidden[rows, columns]).float()
    answer_loss = functional.cross_entropy(answers, labels[taught])
    return answer_loss, functional.cross_entropy(prompts, following[rows, columns])


def endless_batches(tokenizer: PreTrainedTokenizerFast, recipe: Recipe, start_s: float) -> Iterator[TrainingBatch]:
    """Yield new batches: of the copying mix until its share of the budget is spent, then of the balanced mix."""
    rng = Random(recipe.seed)
    copying_until_s = start_s + recipe.copying_share * recipe.budget_s
    while True:
        mix = COPYING if time.process_time() < copying_until_s else BALANCED
        for batch in batches(
            tokenizer,
            rng,
            mix,
            samples=recipe.samples_per_round,
            tokens=recipe.batch_tokens,
            longest=recipe.longest_sample_tokens,
            drill_share=recipe.drill_share,
        ):
            yield batch
            if mix is COPYING and time.process_time() >= copying_until_s:
                break


def train(model: Qwen3ForCausalLM, tokenizer: PreTrainedTokenizerFast, recipe: Recipe) -> None:
    """Train `model` in place until the budget is spent, and print the progress."""
    optimizers = new_optimizers(model, recipe)
    model.train()
    start_s = time.process_time()
    tokens, smooth = 0, 0.0
    for step, batch in enumerate(endless_batches(tokenizer, recipe, start_s)):
        spent_s = time.process_time() - start_s
        if spent_s >= recipe.budget_s:
            break
        rate = recipe.learning_rate_at(step, spent_s / recipe.budget_s)
        for optimizer in optimizers:
            for group in optimizer.param_groups:
                group["lr"] = rate
        answer_loss, prompt_loss = losses(model, batch, recipe)
        torch.autograd.backward(answer_loss + recipe.prompt_weight * prompt_loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for optimizer in optimizers:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
        tokens += batch.ids.numel()
        smooth = answer_loss.item() if step == 0 else 0.95 * smooth + 0.05 * answer_loss.item()
        if step in (0, 10, 30) or step % 100 == 99:
            click.echo(
                f"step {step + 1}: {spent_s:.0f} s, {tokens / 1e6:.2f} M tokens, answer loss {smooth:.4f},"
                f" prompt loss {prompt_loss.item():.2f}, rate {rate:.2e}"
            )
    model.eval()


@click.command()
@click.option(
    "--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Folder for the checkpoint."
)
@click.option(
    "--minutes",
    type=click.FloatRange(min=0, min_open=True),
    default=18.0,
    show_default=True,
    help="Budget of CPU time, in minutes.",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the weights and of the dialogues.")
def main(out: Path, minutes: float, seed: int) -> None:
    """Train the embedded checkpoint from scratch on one CPU core."""
    torch.set_num_threads(1)
    torch.manual_seed(seed)
    tokenizer = train_tokenizer(corpus())
    model = new_model(tokenizer)
    click.echo(f"{len(tokenizer)} tokens, {sum(p.numel() for p in model.parameters())} parameters")
    train(model, tokenizer, Recipe(budget_s=60 * minutes, seed=seed))
    model.to(torch.bfloat16).save_pretrained(out)
    save_tokenizer(tokenizer, out)
    click.echo(f"saved to {out}")


if __name__ == "__main__":
    main()
