"""Stepper: one forward pass, and what follows from it for every sequence in it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.engine.loop.beam_search import Beam
from reference_server.engine.loop.failures import failure as failed
from reference_server.engine.loop.failures import no_logits
from reference_server.engine.loop.output_worker import Choice
from reference_server.engine.loop.prefill import Prefiller
from reference_server.engine.loop.sequence import Sampled
from reference_server.engine.protocol import EngineError
from reference_server.engine.sampling.bias import apply
from reference_server.engine.sampling.sampler import uniform, unusable
from reference_server.engine.sampling.scores import Scored, Scores
from reference_server.engine.text.transcript import Step
from reference_server.engine.tools.grammar import forbid

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from collections.abc import Sequence as Seq

    from reference_server.engine.device import torch
    from reference_server.engine.loop.beam_search import BeamSearch
    from reference_server.engine.loop.scheduler import Batch
    from reference_server.engine.loop.sequence import Sequence
    from reference_server.engine.model.runner import Runner
    from reference_server.engine.protocol import Delta
    from reference_server.engine.sampling.sampler import Sampler


class Stepper:
    """Takes sequences one token further, through a model and a sampler."""

    def __init__(self, runner: Runner, sampler: Sampler) -> None:
        self._runner = runner
        self._sampler = sampler
        self._prefiller = Prefiller(runner, sampler)

    def step(
        self, batch: Batch, settle: Callable[[], Collection[Sequence]]
    ) -> Iterator[tuple[Sequence, Choice | Delta | EngineError | None]]:
        """What every sequence of the batch got, or why it cannot go on; a beam gets nothing before the end.

        settle: called when the pass is over and before anything is chosen; who is over since the batch was made gets
        nothing. At the end of a search its first beams get all deltas of an answer each, and the others None: those
        are over too. An exception means that the model failed for all; what fails for one request is its own.
        """
        started_at = time.perf_counter()
        if batch.prefill:
            for sequence in batch.sequences:
                sequence.began_at = sequence.began_at or started_at
            prefilled = self._prefiller.prefill(batch)
            yield from prefilled.failures.items()
            sequences, logits = prefilled.sequences, prefilled.logits
            if not sequences:
                return
        else:
            sequences, logits = batch.sequences, self._decode(batch)
        if over := settle():
            left = [row for row, sequence in enumerate(sequences) if sequence not in over]
            sequences, logits = tuple(sequences[row] for row in left), logits[left]
            if not sequences:
                return
        slots = [sequence.slot for sequence in sequences if sequence.slot is not None]
        broken = unusable(logits)
        if broken:
            logits[broken] = 0.0  # whatever is chosen from them is thrown away
            self._runner.clear([slots[row] for row in broken])
        lost = {sequences[row] for row in broken}
        samples = tuple(each for each in sequences if isinstance(each, Sampled))
        if len(samples) == len(sequences):
            chosen = self._sample(samples, slots, logits, lost)
            searches: dict[BeamSearch, EngineError | None] = {}
        else:
            rows = [row for row, each in enumerate(sequences) if isinstance(each, Sampled)]
            chosen = self._sample(samples, [slots[row] for row in rows], logits[rows], lost) if rows else []
            searches = self._search(sequences, slots, logits, lost)
        ended_at = time.perf_counter()
        step = Step(len(batch.sequences), started_at, ended_at)
        for sample, choice in zip(samples, chosen, strict=True):
            if sample in lost:
                yield sample, no_logits()
            elif isinstance(choice, EngineError):
                yield sample, choice
            else:
                yield sample, Choice(*choice, _since(sample, step) if batch.prefill else step)
        for search, failure in searches.items():
            yield from _outcome(search, failure, _since(search.beams[0], step) if batch.prefill else step)

    def _sample(
        self, samples: Seq[Sampled], slots: Seq[int], logits: torch.Tensor, lost: set[Sequence]
    ) -> Seq[tuple[int, Scored | None] | EngineError]:
        """As `_choose`; where that fails for all, each is tried alone, to find whose fault it is."""
        try:
            return self._choose(samples, slots, logits, lost)
        except Exception as error:
            if len(samples) == 1:
                return [failed(error)]
        each = range(len(samples))
        return [self._sample([samples[row]], [slots[row]], logits[row : row + 1], lost)[0] for row in each]

    def _choose(
        self, samples: Seq[Sampled], slots: Seq[int], logits: torch.Tensor, lost: set[Sequence]
    ) -> list[tuple[int, Scored | None]]:
        """A token for each, with its score where that is asked for; adds to `lost` who has none to choose from."""
        # A greedy choice draws nothing.
        uniforms = [
            uniform(sample.seed, len(sample.generated)) if sample.params.temperature > 0 else 0.0 for sample in samples
        ]
        biased, exhausted = _biased(samples, logits)
        lost.update(samples[row] for row in exhausted)
        tokens = self._sampler.sample(biased, slots, uniforms)
        scores: list[Scored | None] = [None] * len(tokens)
        tops = {row: sample.top for row, sample in enumerate(samples) if sample.top is not None}
        if tops:
            rows = list(tops)
            named = [samples[row].params.logprob_token_ids for row in rows]
            scored = logits if len(rows) == len(samples) else logits[rows]
            all_scores = Scores(scored, [tokens[row] for row in rows], list(tops.values()), named)
            for place, row in enumerate(rows):
                scores[row] = Scored(all_scores, place)
        return list(zip(tokens, scores, strict=True))

    def _search(
        self, sequences: Seq[Sequence], slots: Seq[int], logits: torch.Tensor, lost: set[Sequence]
    ) -> dict[BeamSearch, EngineError | None]:
        """Take every search a step further; which there are, and why some cannot go on."""
        place = {each: row for row, each in enumerate(sequences)}
        slot = dict(zip(sequences, slots, strict=True))
        beams = [sequence for sequence in sequences if isinstance(sequence, Beam)]
        outcomes: dict[BeamSearch, EngineError | None] = {beam.search: None for beam in beams}
        moves: list[tuple[int, int]] = []
        for search in outcomes:
            try:
                if not lost.isdisjoint(search.beams):
                    raise no_logits()
                rows = [place[beam] for beam in search.beams]
                moves += self._advance(search, logits[rows], {beam: slot[beam] for beam in search.beams})
            except Exception as error:
                outcomes[search] = failed(error)
        if moves:
            self._runner.copy(moves, max(beam.position for beam in beams))
        return outcomes

    def _advance(self, search: BeamSearch, logits: torch.Tensor, slots: Mapping[Beam, int]) -> list[tuple[int, int]]:
        """A search one step further; which slot must take over what another holds: (from, to)."""
        biased, exhausted = _biased(search.beams, logits)
        if not {search.beams[row] for row in exhausted}.isdisjoint(search.running()):
            raise no_logits()
        penalised = self._sampler.penalised(biased, list(slots.values())) if search.params.penalised else biased
        moves = [(slots[source], slots[target]) for source, target in search.advance(logits, penalised)]
        if search.params.penalised:
            if moves:
                self._sampler.copy(moves)
            if running := search.running():
                self._sampler.count([slots[beam] for beam in running], [beam.last_token for beam in running])
        return moves

    def _decode(self, batch: Batch) -> torch.Tensor:
        tokens = [sequence.last_token for sequence in batch.sequences]
        return self._runner.decode(tokens, [sequence.position for sequence in batch.sequences], batch.slots)


def _since(sequence: Sequence, step: Step) -> Step:
    """The step, from when the sequence's prompt began to be prefilled."""
    return step if sequence.began_at in (None, step.started_at) else replace(step, started_at=sequence.began_at)


def _biased(sequences: Seq[Sequence], logits: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
    """(the logits with every sequence's bias and grammar, the rows from which nothing is left to choose; these are
    unchanged)."""
    rows = [(row, each.bias, each.generated) for row, each in enumerate(sequences) if each.bias is not None]
    held = {row: each.matcher for row, each in enumerate(sequences) if each.matcher is not None}
    if not rows and not held:
        return logits, []
    biased = logits.clone()  # scores are those of the model
    apply(biased, rows)
    if held:
        forbid(biased, held)
    exhausted = unusable(biased)
    if exhausted:
        biased[exhausted] = logits[exhausted]
    return biased, exhausted


def _outcome(
    search: BeamSearch, failure: EngineError | None, step: Step
) -> Iterator[tuple[Beam, Delta | EngineError | None]]:
    """What the beams of a search get for a step."""
    search.note(step)
    answers: list[list[Delta]] = []
    if failure is None and search.over:
        try:
            answers = search.answers()
        except Exception as error:
            failure = failed(error)
    if failure is not None:
        yield search.beams[0], failure
    elif answers:
        for beam, deltas in zip(search.beams, answers, strict=False):
            yield from ((beam, delta) for delta in deltas)
        for beam in search.beams[len(answers) :]:
            yield beam, None
