"""One step: a forward pass, the choice of tokens, and the results for each sequence."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from reference_server.engine.device import torch
from reference_server.engine.loop.beam_search import Beam
from reference_server.engine.loop.failures import exhausted_error, to_engine_error, unusable_logits_error
from reference_server.engine.loop.output_worker import ChosenToken
from reference_server.engine.loop.prefill import Prefiller
from reference_server.engine.loop.sequence import SampledSequence
from reference_server.engine.protocol import EngineError
from reference_server.engine.sampling.batch_scoring import BatchScoring
from reference_server.engine.sampling.bias import apply_biases
from reference_server.engine.sampling.sampler import draw_uniform, mark_unusable_rows
from reference_server.engine.text.transcript import StepStats
from reference_server.engine.tools.grammar import mask_forbidden
from reference_server.engine.transfers import fetch, upload

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping
    from collections.abc import Sequence as Seq

    from reference_server.engine.loop.beam_search import BeamSearch
    from reference_server.engine.loop.scheduler import Batch
    from reference_server.engine.loop.sequence import Sequence
    from reference_server.engine.model.model_runner import ModelRunner
    from reference_server.engine.protocol import Delta
    from reference_server.engine.sampling.sampler import Sampler
    from reference_server.engine.sampling.scores import ScoreRef


class StepExecutor:
    """Executor of steps, which take sequences one token further with a model and a sampler."""

    def __init__(self, runner: ModelRunner, sampler: Sampler) -> None:
        self._runner = runner
        self._sampler = sampler
        self._prefiller = Prefiller(runner, sampler)

    def execute(
        self, batch: Batch, collect_finished: Callable[[], Collection[Sequence]]
    ) -> Iterator[tuple[Sequence, ChosenToken | Delta | EngineError | None]]:
        """Run one forward pass and yield (sequence, result) for the sequences of the batch.

        A sample gets its token, or the error that ends it. Beams get nothing until the end of their search; then the
        first beams get all deltas of one answer each, and the others None, because they are finished too.

        collect_finished: called after the pass and before tokens are chosen; the sequences it returns have finished
            since the batch was scheduled, and get nothing.

        Raises an exception if the model failed for all sequences; an error that concerns one request is its result.
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
            remaining = [row for row, sequence in enumerate(sequences) if sequence not in finished]
            sequences, logits = tuple(sequences[row] for row in remaining), logits[upload(remaining, logits.device)]
            if not sequences:
                return
        slots = [sequence.slot for sequence in sequences if sequence.slot is not None]
        marks = mark_unusable_rows(logits)
        if logits.device.type != "cpu" or marks.any():
            logits.masked_fill_(marks[:, None], 0.0)  # the tokens chosen from these rows are discarded
        samples = tuple(sequence for sequence in sequences if isinstance(sequence, SampledSequence))
        unusable = _Unusable()
        searches: dict[BeamSearch, EngineError | None] = {}
        if len(samples) == len(sequences):
            chosen = self._sample(samples, slots, logits, marks, unusable)
        else:
            # A search asks many questions about the whole vocabulary, and an accelerator would be waited for each time.
            marks, logits = fetch([marks], [logits])
            unusable.add_marked(sequences, slots, marks)
            rows = [row for row, sequence in enumerate(sequences) if isinstance(sequence, SampledSequence)]
            of_samples = [slots[row] for row in rows], logits[rows], marks[rows]
            chosen = self._sample(samples, *of_samples, unusable) if rows else []
            searches = self._advance_searches(sequences, slots, logits, unusable.errors)
        if unusable.slots:
            self._runner.clear(sorted(unusable.slots))
        ended_at = time.perf_counter()
        step = StepStats(len(batch.sequences) + len(batch.decoding), started_at, ended_at)
        prompts = set(batch.sequences) if batch.prefill else set()
        for sample, choice in zip(samples, chosen, strict=True):
            if sample in unusable.errors:
                yield sample, unusable.errors[sample]
            elif isinstance(choice, EngineError):
                yield sample, choice
            else:
                yield sample, ChosenToken(*choice, _include_prefill_time(sample, step) if sample in prompts else step)
        for search, failure in searches.items():
            yield from _search_outputs(
                search, failure, _include_prefill_time(search.beams[0], step) if search.beams[0] in prompts else step
            )

    def _sample(
        self,
        samples: Seq[SampledSequence],
        slots: Seq[int],
        logits: torch.Tensor,
        marks: torch.Tensor,
        unusable: _Unusable,
    ) -> Seq[tuple[int, ScoreRef | None] | EngineError]:
        """Choose a token for each sample with `_sample_together`.

        If that fails, choose for each sample alone, to find the one that causes the error.
        """
        try:
            return self._sample_together(samples, slots, logits, marks, unusable)
        except Exception as error:
            if len(samples) == 1:
                unusable.add_marked(samples, slots, marks)
                return [to_engine_error(error)]
        rows = [slice(row, row + 1) for row in range(len(samples))]
        return [self._sample(samples[row], slots[row], logits[row], marks[row], unusable)[0] for row in rows]

    def _sample_together(
        self,
        samples: Seq[SampledSequence],
        slots: Seq[int],
        logits: torch.Tensor,
        marks: torch.Tensor,
        unusable: _Unusable,
    ) -> list[tuple[int, ScoreRef | None]]:
        """Return for each sample a token, and its score if requested.

        Nothing waits for an accelerator until all it has to compute is queued.

        marks: bool [samples], which rows of the logits are not usable; they, and samples for which no token is
            possible, are added to `unusable`.
        """
        # Greedy sampling needs no random number.
        uniforms = [
            draw_uniform(sample.seed, len(sample.generated)) if sample.params.temperature > 0 else 0.0
            for sample in samples
        ]
        biased, exhausted = _apply_constraints(samples, logits)
        draw = self._sampler.begin(biased, slots, uniforms)
        tops, named = zip(*((sample.top_logprobs, sample.params.logprob_token_ids) for sample in samples), strict=True)
        scoring = BatchScoring.create(tops, named, logits, draw.tokens)
        narrowed = () if scoring is None else scoring.narrowed
        fetched, exhausted, marks, *narrowed = fetch([draw.tokens, exhausted, marks], narrowed)
        unusable.add_marked(samples, slots, marks)
        unusable.errors.update(
            (sample, exhausted_error()) for sample, mark in zip(samples, exhausted.tolist(), strict=True) if mark
        )
        tokens = self._sampler.finish(draw, fetched)
        if scoring is None:
            return [(token, None) for token in tokens]
        return list(zip(tokens, scoring.refer(tokens, fetched, narrowed), strict=True))

    def _advance_searches(
        self, sequences: Seq[Sequence], slots: Seq[int], logits: torch.Tensor, unusable: dict[Sequence, EngineError]
    ) -> dict[BeamSearch, EngineError | None]:
        """Take one step in each beam search; return the searches, with the error if one cannot continue."""
        row_of = {sequence: row for row, sequence in enumerate(sequences)}
        slot = dict(zip(sequences, slots, strict=True))
        beams = [sequence for sequence in sequences if isinstance(sequence, Beam)]
        outcomes: dict[BeamSearch, EngineError | None] = {beam.search: None for beam in beams}
        moves: list[tuple[int, int]] = []
        for search in outcomes:
            try:
                if failed := [beam for beam in search.beams if beam in unusable]:
                    raise unusable[failed[0]]
                rows = [row_of[beam] for beam in search.beams]
                moves += self._advance_search(search, logits[rows], {beam: slot[beam] for beam in search.beams})
            except Exception as error:
                outcomes[search] = to_engine_error(error)
        if moves:
            self._runner.copy(moves, max(beam.position for beam in beams))
        return outcomes

    def _advance_search(
        self, search: BeamSearch, logits: torch.Tensor, slots: Mapping[Beam, int]
    ) -> list[tuple[int, int]]:
        """Take one step in a beam search; return which slots to copy, as (from, to)."""
        biased, exhausted = _apply_constraints(search.beams, logits)
        without_token = {beam for beam, mark in zip(search.beams, exhausted.tolist(), strict=True) if mark}
        if not without_token.isdisjoint(search.running_beams()):
            raise exhausted_error()
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
    """Return the step with the start of the sequence's prefill as its start."""
    return (
        step
        if sequence.prefill_started_at in (None, step.started_at)
        else replace(step, started_at=sequence.prefill_started_at)
    )


@dataclass(slots=True)
class _Unusable:
    """The sequences of a step without a token.

    errors: their errors.
    slots: those of sequences whose logits are not finite; what the slots store may not be finite either.
    """

    errors: dict[Sequence, EngineError] = field(default_factory=dict)
    slots: set[int] = field(default_factory=set)

    def add_marked(self, sequences: Seq[Sequence], slots: Seq[int], marks: torch.Tensor) -> None:
        """Add the sequences whose rows of logits are marked."""
        for sequence, slot, mark in zip(sequences, slots, marks.tolist(), strict=True):
            if mark:
                self.errors[sequence] = unusable_logits_error()
                self.slots.add(slot)


def _apply_constraints(sequences: Seq[Sequence], logits: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the logits with the biases and grammars of all sequences, and bool [rows]: which have no possible token.

    These rows are returned unchanged.
    """
    rows = [
        (row, sequence.bias, sequence.generated) for row, sequence in enumerate(sequences) if sequence.bias is not None
    ]
    matchers = {row: sequence.matcher for row, sequence in enumerate(sequences) if sequence.matcher is not None}
    if not rows and not matchers:
        return logits, torch.zeros(len(logits), dtype=torch.bool, device=logits.device)
    biased = logits.clone()  # scores are computed from the unchanged logits
    apply_biases(biased, rows)
    if matchers:
        mask_forbidden(biased, matchers)
    exhausted = mark_unusable_rows(biased)
    if logits.device.type != "cpu" or exhausted.any():
        biased = torch.where(exhausted[:, None], logits, biased)
    return biased, exhausted


def _search_outputs(
    search: BeamSearch, failure: EngineError | None, step: StepStats
) -> Iterator[tuple[Beam, Delta | EngineError | None]]:
    """Yield the results of one step for the beams of a search."""
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
