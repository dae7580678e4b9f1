"""Stepper: one forward pass, and what follows from it for every sequence in it."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.engine.loop.beam_search import Beam
from reference_server.engine.loop.failures import to_engine_error, unusable_logits_error
from reference_server.engine.loop.output_worker import ChosenToken
from reference_server.engine.loop.prefill import Prefiller
from reference_server.engine.loop.sequence import SampledSequence
from reference_server.engine.protocol import EngineError
from reference_server.engine.sampling.bias import apply_biases
from reference_server.engine.sampling.sampler import draw_uniform, find_unusable_rows
from reference_server.engine.sampling.scores import LazyScores, ScoreRef
from reference_server.engine.text.transcript import StepStats
from reference_server.engine.tools.grammar import mask_forbidden

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


class StepExecutor:
    """Takes sequences one token further, through a model and a sampler."""

    def __init__(self, runner: Runner, sampler: Sampler) -> None:
        self._runner = runner
        self._sampler = sampler
        self._prefiller = Prefiller(runner, sampler)

    def execute(
        self, batch: Batch, collect_finished: Callable[[], Collection[Sequence]]
    ) -> Iterator[tuple[Sequence, ChosenToken | Delta | EngineError | None]]:
        """What every sequence of the batch got, or why it cannot go on; a beam gets nothing before the end.

        collect_finished: called when the pass is over and before anything is chosen; who is over since the batch was made gets
        nothing. At the end of a search its first beams get all deltas of an answer each, and the others None: those
        are over too. An exception means that the model failed for all; what fails for one request is its own.
        """
        started_at = time.perf_counter()
        if batch.prefill:
            for sequence in batch.sequences:
                sequence.prefill_started_at = sequence.prefill_started_at or started_at
            prefilled = self._prefiller.prefill(batch)
            yield from prefilled.failures.items()
            sequences, logits = prefilled.sequences, prefilled.logits
            if not sequences:
                return
        else:
            sequences, logits = batch.sequences, self._decode(batch)
        if finished := collect_finished():
            left = [row for row, sequence in enumerate(sequences) if sequence not in finished]
            sequences, logits = tuple(sequences[row] for row in left), logits[left]
            if not sequences:
                return
        slots = [sequence.slot for sequence in sequences if sequence.slot is not None]
        unusable_rows = find_unusable_rows(logits)
        if unusable_rows:
            logits[unusable_rows] = 0.0  # whatever is chosen from them is thrown away
            self._runner.clear([slots[row] for row in unusable_rows])
        unusable = {sequences[row] for row in unusable_rows}
        samples = tuple(sequence for sequence in sequences if isinstance(sequence, SampledSequence))
        if len(samples) == len(sequences):
            chosen = self._sample(samples, slots, logits, unusable)
            searches: dict[BeamSearch, EngineError | None] = {}
        else:
            rows = [row for row, sequence in enumerate(sequences) if isinstance(sequence, SampledSequence)]
            chosen = self._sample(samples, [slots[row] for row in rows], logits[rows], unusable) if rows else []
            searches = self._advance_searches(sequences, slots, logits, unusable)
        ended_at = time.perf_counter()
        step = StepStats(len(batch.sequences), started_at, ended_at)
        for sample, choice in zip(samples, chosen, strict=True):
            if sample in unusable:
                yield sample, unusable_logits_error()
            elif isinstance(choice, EngineError):
                yield sample, choice
            else:
                yield sample, ChosenToken(*choice, _include_prefill_time(sample, step) if batch.prefill else step)
        for search, failure in searches.items():
            yield from _search_outputs(
                search, failure, _include_prefill_time(search.beams[0], step) if batch.prefill else step
            )

    def _sample(
        self, samples: Seq[SampledSequence], slots: Seq[int], logits: torch.Tensor, unusable: set[Sequence]
    ) -> Seq[tuple[int, ScoreRef | None] | EngineError]:
        """As `_sample_together`; where that fails for all, each is tried alone, to find whose fault it is."""
        try:
            return self._sample_together(samples, slots, logits, unusable)
        except Exception as error:
            if len(samples) == 1:
                return [to_engine_error(error)]
        rows = range(len(samples))
        return [self._sample([samples[row]], [slots[row]], logits[row : row + 1], unusable)[0] for row in rows]

    def _sample_together(
        self, samples: Seq[SampledSequence], slots: Seq[int], logits: torch.Tensor, unusable: set[Sequence]
    ) -> list[tuple[int, ScoreRef | None]]:
        """A token for each, with its score where that is asked for; adds to `unusable` who has none to choose from."""
        # A greedy choice draws nothing.
        uniforms = [
            draw_uniform(sample.seed, len(sample.generated)) if sample.params.temperature > 0 else 0.0
            for sample in samples
        ]
        biased, exhausted = _apply_constraints(samples, logits)
        unusable.update(samples[row] for row in exhausted)
        tokens = self._sampler.sample(biased, slots, uniforms)
        scores: list[ScoreRef | None] = [None] * len(tokens)
        tops = {row: sample.top_logprobs for row, sample in enumerate(samples) if sample.top_logprobs is not None}
        if tops:
            rows = list(tops)
            named = [samples[row].params.logprob_token_ids for row in rows]
            scored = logits if len(rows) == len(samples) else logits[rows]
            all_scores = LazyScores(scored, [tokens[row] for row in rows], list(tops.values()), named)
            for place, row in enumerate(rows):
                scores[row] = ScoreRef(all_scores, place)
        return list(zip(tokens, scores, strict=True))

    def _advance_searches(
        self, sequences: Seq[Sequence], slots: Seq[int], logits: torch.Tensor, unusable: set[Sequence]
    ) -> dict[BeamSearch, EngineError | None]:
        """Take every search a step further; which there are, and why some cannot go on."""
        place = {sequence: row for row, sequence in enumerate(sequences)}
        slot = dict(zip(sequences, slots, strict=True))
        beams = [sequence for sequence in sequences if isinstance(sequence, Beam)]
        outcomes: dict[BeamSearch, EngineError | None] = {beam.search: None for beam in beams}
        moves: list[tuple[int, int]] = []
        for search in outcomes:
            try:
                if not unusable.isdisjoint(search.beams):
                    raise unusable_logits_error()
                rows = [place[beam] for beam in search.beams]
                moves += self._advance_search(search, logits[rows], {beam: slot[beam] for beam in search.beams})
            except Exception as error:
                outcomes[search] = to_engine_error(error)
        if moves:
            self._runner.copy(moves, max(beam.position for beam in beams))
        return outcomes

    def _advance_search(
        self, search: BeamSearch, logits: torch.Tensor, slots: Mapping[Beam, int]
    ) -> list[tuple[int, int]]:
        """A search one step further; which slot must take over what another holds: (from, to)."""
        biased, exhausted = _apply_constraints(search.beams, logits)
        if not {search.beams[row] for row in exhausted}.isdisjoint(search.running_beams()):
            raise unusable_logits_error()
        penalised = self._sampler.apply_penalties(biased, list(slots.values())) if search.params.penalised else biased
        moves = [(slots[source], slots[target]) for source, target in search.advance(logits, penalised)]
        if search.params.penalised:
            if moves:
                self._sampler.copy(moves)
            if running := search.running_beams():
                self._sampler.count_tokens([slots[beam] for beam in running], [beam.last_token for beam in running])
        return moves

    def _decode(self, batch: Batch) -> torch.Tensor:
        tokens = [sequence.last_token for sequence in batch.sequences]
        return self._runner.decode(tokens, [sequence.position for sequence in batch.sequences], batch.slots)


def _include_prefill_time(sequence: Sequence, step: StepStats) -> StepStats:
    """The step, from when the sequence's prompt began to be prefilled."""
    return (
        step
        if sequence.prefill_started_at in (None, step.started_at)
        else replace(step, started_at=sequence.prefill_started_at)
    )


def _apply_constraints(sequences: Seq[Sequence], logits: torch.Tensor) -> tuple[torch.Tensor, list[int]]:
    """(the logits with every sequence's bias and grammar, the rows from which nothing is left to choose; these are
    unchanged)."""
    rows = [
        (row, sequence.bias, sequence.generated) for row, sequence in enumerate(sequences) if sequence.bias is not None
    ]
    matchers = {row: sequence.matcher for row, sequence in enumerate(sequences) if sequence.matcher is not None}
    if not rows and not matchers:
        return logits, []
    biased = logits.clone()  # scores are those of the model
    apply_biases(biased, rows)
    if matchers:
        mask_forbidden(biased, matchers)
    exhausted = find_unusable_rows(biased)
    if exhausted:
        biased[exhausted] = logits[exhausted]
    return biased, exhausted


def _search_outputs(
    search: BeamSearch, failure: EngineError | None, step: StepStats
) -> Iterator[tuple[Beam, Delta | EngineError | None]]:
    """What the beams of a search get for a step."""
    search.record_step(step)
    answers: list[list[Delta]] = []
    if failure is None and search.done:
        try:
            answers = search.collect_answers()
        except Exception as error:
            failure = to_engine_error(error)
    if failure is not None:
        yield search.beams[0], failure
    elif answers:
        for beam, deltas in zip(search.beams, answers, strict=False):
            yield from ((beam, delta) for delta in deltas)
        for beam in search.beams[len(answers) :]:
            yield beam, None
