"""Converts samples to tensors: token ids, and labels for the positions that count in the loss."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from reference_server.tiny.dialogues import Mix, draw
from reference_server.tiny.rendering import prompt_text
from reference_server.tiny.repetition import drill
from reference_server.tiny.turn import END_OF_TURN, Dialogue

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from transformers import PreTrainedTokenizerFast

IGNORED = -100
"""Label of a position that does not count in the loss; the default of torch's cross entropy."""


@dataclass(frozen=True, slots=True)
class TrainingBatch:
    """`ids` and `labels`, both [samples, longest sample], int64, padded on the right.

    A label is the token at its own position: shift by one to compare it with a prediction.
    """

    ids: torch.Tensor
    labels: torch.Tensor


def batches(
    tokenizer: PreTrainedTokenizerFast,
    rng: Random,
    mix: Mix,
    *,
    samples: int,
    tokens: int,
    longest: int,
    drill_share: float,
) -> Iterator[TrainingBatch]:
    """Draw `samples` samples and yield them in shuffled batches of at most `tokens` tokens and similar lengths.

    Samples of more than `longest` tokens are dropped. A share of `drill_share` are not drawn from `mix`: they are
    strings of tokens drawn uniformly from the vocabulary, to be repeated.
    """
    pieces = plain_tokens(tokenizer)
    drawn = [_drill(rng, pieces) if rng.random() < drill_share else draw(rng, mix) for _ in range(samples)]
    prompts = tokenizer([prompt_text(sample) for sample in drawn], add_special_tokens=False)["input_ids"]
    answers = tokenizer([sample.answer() for sample in drawn], add_special_tokens=False)["input_ids"]
    examples = [
        (prompt + answer, taught_in_history(tokenizer, prompt) + answer)
        for prompt, answer in zip(prompts, answers, strict=True)
        if len(prompt) + len(answer) <= longest
    ]
    examples.sort(key=lambda example: len(example[0]))
    groups: list[list[tuple[list[int], list[int]]]] = [[]]
    for example in examples:
        if (len(groups[-1]) + 1) * len(example[0]) > tokens:
            groups.append([])
        groups[-1].append(example)
    rng.shuffle(groups)
    for group in groups:
        yield _padded(group, int(tokenizer.pad_token_id))


def plain_tokens(tokenizer: PreTrainedTokenizerFast) -> tuple[str, ...]:
    """Return the strings of all tokens that are printable ASCII and not chat markers, in the order of their ids."""
    marks = set(tokenizer.get_added_vocab().values())
    texts = (tokenizer.decode([i]) for i in range(len(tokenizer)) if i not in marks)
    return tuple(text for text in texts if text.isascii() and text.isprintable())


def _drill(rng: Random, pieces: tuple[str, ...]) -> Dialogue:
    turn = drill(rng, pieces)
    return Dialogue("echo", ({"role": "user", "content": turn.question},), (), False, turn)


def taught_in_history(tokenizer: PreTrainedTokenizerFast, prompt: list[int]) -> list[int]:
    """Return the labels for a prompt: its earlier answers, each without its first token.

    The first token is excluded because in the history an answer directly follows the role, while a new answer begins
    with its reasoning.
    """
    opening = tokenizer("<|im_start|>assistant\n", add_special_tokens=False)["input_ids"]
    end = tokenizer.convert_tokens_to_ids(END_OF_TURN)
    labels = [IGNORED] * len(prompt)
    i = 0
    while i < len(prompt):
        if prompt[i : i + len(opening)] != opening:
            i += 1
            continue
        i += len(opening)
        if end not in prompt[i:]:
            break
        stop = prompt.index(end, i)
        labels[i + 1 : stop + 1] = prompt[i + 1 : stop + 1]
        i = stop + 1
    return labels


def _padded(group: list[tuple[list[int], list[int]]], pad: int) -> TrainingBatch:
    width = max(len(ids) for ids, _ in group)
    ids = torch.full((len(group), width), pad)
    labels = torch.full((len(group), width), IGNORED)
    for row, (sample, taught) in enumerate(group):
        ids[row, : len(sample)] = torch.tensor(sample)
        labels[row, : len(taught)] = torch.tensor(taught)
    return TrainingBatch(ids, labels)
