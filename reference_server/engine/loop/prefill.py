"""Prefiller: prompts, or chunks of them, through the model into the cache."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reference_server.engine.device import torch
from reference_server.engine.loop.failures import failure, no_memory, out_of_memory, release_memory

if TYPE_CHECKING:
    from collections.abc import Sequence as Seq

    from reference_server.engine.loop.scheduler import Batch
    from reference_server.engine.loop.sequence import Sequence
    from reference_server.engine.model.runner import Runner
    from reference_server.engine.protocol import EngineError
    from reference_server.engine.sampling.sampler import Sampler


@dataclass(frozen=True, slots=True)
class Prefilled:
    """sequences: whose prompts are whole now. logits: [sequences, vocabulary], after their prompts.

    failures: of sequences that cannot go on; they are not among the others.
    """

    sequences: tuple[Sequence, ...]
    logits: torch.Tensor
    failures: dict[Sequence, EngineError]


@dataclass(slots=True)
class _Piece:
    """The next tokens of a prompt, which go through the model once, whoever shares it."""

    tokens: list[int]
    slot: int
    start: int
    sharers: list[Sequence]


class Prefiller:
    """Takes prompts further, and prepares the slots of those that are whole for sampling."""

    def __init__(self, runner: Runner, sampler: Sampler) -> None:
        self._runner = runner
        self._sampler = sampler

    def prefill(self, batch: Batch) -> Prefilled:
        """One batch. An exception means that the model failed for all; what fails for one prompt is its own."""
        for copy in batch.copies:
            self._runner.copy([(copy.source, copy.target)], copy.length)
        failures: dict[Sequence, EngineError] = {}
        whole: list[tuple[Sequence, int]] = []
        shares: list[tuple[int, int]] = []
        pieces = _pieces(batch)
        logits, lacking = self._forward(pieces)
        for row, piece in enumerate(pieces):
            for sequence in piece.sharers:
                if row in lacking:
                    failures[sequence] = lacking[row]
                elif sequence.prefilled == len(sequence.prompt) and (slot := sequence.slot) is not None:
                    try:
                        self._sampler.open(slot, sequence.params, sequence.prompt)
                    except Exception as error:
                        failures[sequence] = failure(error)
                        continue
                    whole.append((sequence, row))
                    if slot != piece.slot:
                        shares.append((piece.slot, slot))
        if shares:
            self._runner.copy(shares, max(len(sequence.prompt) for sequence, _ in whole))
        rows = [row for _, row in whole]
        if rows != list(range(len(logits))):
            logits = logits[rows]
        return Prefilled(tuple(sequence for sequence, _ in whole), logits, failures)

    def _forward(self, pieces: Seq[_Piece]) -> tuple[torch.Tensor, dict[int, EngineError]]:
        """(logits after each piece, the pieces for which there is no memory): where all do not fit, each goes alone."""
        try:
            tokens = [piece.tokens for piece in pieces]
            return self._runner.prefill(tokens, [piece.slot for piece in pieces], [piece.start for piece in pieces]), {}
        except Exception as error:
            if not out_of_memory(error):
                raise
            release_memory()
            if len(pieces) == 1:
                return torch.zeros(1, self._runner.vocabulary_size), {0: no_memory(error)}
        each = [self._forward([piece]) for piece in pieces]
        lacking = {row: failed[0] for row, (_, failed) in enumerate(each) if failed}
        return torch.cat([logits for logits, _ in each]), lacking


def _pieces(batch: Batch) -> list[_Piece]:
    """What goes through the model; sequences that share a prompt stand side by side."""
    pieces: list[_Piece] = []
    for sequence, slot, start, until in zip(batch.sequences, batch.slots, batch.since, batch.until, strict=True):
        if pieces and pieces[-1].sharers[0].prompt is sequence.prompt:
            pieces[-1].sharers.append(sequence)
        else:
            pieces.append(_Piece(sequence.prompt[start:until], slot, start, [sequence]))
    return pieces
