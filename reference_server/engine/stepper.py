"""Stepper: one forward pass, and what follows from it for every sequence in it."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from .protocol import EngineError
from .sampler import uniform, unusable
from .scores import score
from .sequence import Step

if TYPE_CHECKING:
    from collections.abc import Iterator
    from collections.abc import Sequence as Seq

    from .device import torch
    from .protocol import Delta
    from .runner import Runner
    from .sampler import Sampler
    from .scheduler import Batch
    from .scores import Score
    from .sequence import Sequence

_log = logging.getLogger(__name__)


class Stepper:
    """Takes sequences one token further, through a model and a sampler."""

    def __init__(self, runner: Runner, sampler: Sampler) -> None:
        self._runner = runner
        self._sampler = sampler

    def step(self, batch: Batch) -> Iterator[tuple[Sequence, Delta | EngineError]]:
        """The delta of every sequence of the batch, or why that one cannot go on.

        An exception means that the model or the sampler failed for all; what fails for one sequence is its own.
        """
        sequences, slots = batch.sequences, batch.slots
        started_at = time.perf_counter()
        logits = (self._prefill if batch.prefill else self._decode)(sequences, slots)
        broken = unusable(logits)
        if broken:
            logits[broken] = 0.0  # whatever is drawn from them is thrown away
        uniforms = [uniform(sequence.seed, len(sequence.generated)) for sequence in sequences]
        tokens = self._sampler.sample(logits, slots, uniforms)
        scores = _scores(logits, sequences, tokens)
        step = Step(len(sequences), started_at, time.perf_counter())
        for row, (sequence, token) in enumerate(zip(sequences, tokens, strict=True)):
            if row in broken:
                yield sequence, EngineError("the model computed no usable logits for this sequence")
            else:
                yield sequence, _append(sequence, token, scores.get(row), step)

    def _prefill(self, sequences: Seq[Sequence], slots: Seq[int]) -> torch.Tensor:
        """Logits after every prompt; a prompt that sequences share goes through the model once."""
        rows: dict[int, int] = {}  # of a prompt among those that go through the model
        leaders: list[int] = []
        copies: list[tuple[int, int]] = []
        for at, (sequence, slot) in enumerate(zip(sequences, slots, strict=True)):
            self._sampler.open(slot, sequence.params, sequence.prompt)
            row = rows.setdefault(id(sequence.prompt), len(leaders))
            if row == len(leaders):
                leaders.append(at)
            else:
                copies.append((slots[leaders[row]], slot))
        logits = self._runner.prefill([sequences[at].prompt for at in leaders], [slots[at] for at in leaders])
        if not copies:
            return logits
        self._runner.copy(copies, max(len(sequence.prompt) for sequence in sequences))
        return logits[[rows[id(sequence.prompt)] for sequence in sequences]]

    def _decode(self, sequences: Seq[Sequence], slots: Seq[int]) -> torch.Tensor:
        tokens = [sequence.last_token for sequence in sequences]
        return self._runner.decode(tokens, [sequence.position for sequence in sequences], slots)


def _append(sequence: Sequence, token: int, score: Score | None, step: Step) -> Delta | EngineError:
    try:
        return sequence.append(token, score, step)
    except Exception as error:  # whatever a tokenizer raises: one answer's failure is not everybody's
        _log.exception("a token could not be turned into text")
        failure = EngineError(f"the answer cannot go on: {type(error).__name__}: {error}")
        failure.__cause__ = error
        return failure


def _scores(logits: torch.Tensor, sequences: Seq[Sequence], tokens: Seq[int]) -> dict[int, Score]:
    """Row -> score of its token, for the rows whose tokens are scored."""
    tops = {row: sequence.top for row, sequence in enumerate(sequences) if sequence.top is not None}
    if not tops:
        return {}
    rows = list(tops)
    return dict(zip(rows, score(logits[rows], [tokens[row] for row in rows], list(tops.values())), strict=True))
