"""Samples as tensors: token ids, and the positions at which the model is taught."""

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
"""Label of a position that is not taught, as in torch's cross entropy."""


@dataclass(frozen=True, slots=True)
class Batch:
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
) -> Iterator[Batch]:
    """Draws `samples` samples and yields them in batches of at most `tokens` tokens, alike in length, shuffled.

    Samples of more than `longest` tokens are left out. `drill_share` of them are not of `mix`: they are strings of
    tokens drawn evenly from the vocabulary, to be repeated.
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
    """The texts of the tokens that are printable ASCII and no marks of the chat, in the order of their ids."""
    marks = set(tokenizer.get_added_vocab().values())
    texts = (tokenizer.decode([i]) for i in range(len(tokenizer)) if i not in marks)
    return tuple(text for text in texts if text.isascii() and text.isprintable())


def _drill(rng: Random, pieces: tuple[str, ...]) -> Dialogue:
    turn = drill(rng, pieces)
    return Dialogue("echo", ({"role": "user", "content": turn.question},), (), False, turn)


def taught_in_history(tokenizer: PreTrainedTokenizerFast, prompt: list[int]) -> list[int]:
    """Labels for a prompt: the earlier answers in it, each but for its first token.

    The first token is left out because in the history an answer follows the role at once, while the answer to be
    written opens with its thoughts there.
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


def _padded(group: list[tuple[list[int], list[int]]], pad: int) -> Batch:
    width = max(len(ids) for ids, _ in group)
    ids = torch.full((len(group), width), pad)
    labels = torch.full((len(group), width), IGNORED)
    for row, (sample, taught) in enumerate(group):
        ids[row, : len(sample)] = torch.tensor(sample)
        labels[row, : len(taught)] = torch.tensor(taught)
    return Batch(ids, labels)
