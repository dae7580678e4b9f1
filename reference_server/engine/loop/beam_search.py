"""Beam search over the engine's rows, for requests that search instead of sampling."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.engine.loop.beam_group import BeamGroup
from reference_server.engine.loop.sequence import Sequence
from reference_server.engine.protocol import Unsatisfiable
from reference_server.engine.sampling.scores import Scorer
from reference_server.engine.text.transcript import Transcript

if TYPE_CHECKING:
    from reference_server.engine.device import torch
    from reference_server.engine.loop.beam_group import Hypothesis
    from reference_server.engine.loop.sequence import Cancellation
    from reference_server.engine.protocol import Delta
    from reference_server.engine.text.transcript import AnswerSpec, StepStats


class Beam(Sequence):
    """A row of a beam search; the hypothesis in it changes from step to step."""

    def __init__(self, prompt: list[int], spec: AnswerSpec, cancellation: Cancellation, search: BeamSearch) -> None:
        super().__init__(prompt, spec.params, cancellation, spec.bias)
        self.search = search
        self.matcher = spec.matcher


class BeamSearch:
    """Diverse beam search (arXiv 1610.02424) in groups of equal size; one group is plain beam search.

    Groups take their steps one after the other. A continuation loses the diversity penalty for each beam of an earlier
    group that continues with the same token in the same step. The answers are those with the best scores of all groups.
    Temperature, top_p, top_k, min_p and seed apply only to sampling; biases and penalties change the logits as they do
    there.

    beams: one row per beam of the search; some are idle until there are enough hypotheses.
    """

    def __init__(self, prompt: list[int], spec: AnswerSpec, cancellation: Cancellation, *, ready_at: float) -> None:
        self.params = spec.params
        self.beams = tuple(Beam(prompt, spec, cancellation, self) for _ in range(spec.params.width))
        self._spec = spec
        self._ready_at = ready_at
        self._steps: list[StepStats] = []
        size = spec.params.width // spec.params.beam_groups
        self._groups = [
            BeamGroup(size, spec, Transcript(spec) if spec.params.stop or spec.params.repetition else None)
            for _ in range(spec.params.beam_groups)
        ]
        rows = [self.beams[first : first + size] for first in range(0, len(self.beams), size)]
        self._rows = dict(zip(self._groups, rows, strict=True))  # beams of running hypotheses first, in their order

    @property
    def done(self) -> bool:
        """Whether the answers are known."""
        return all(group.done for group in self._groups)

    def advance(self, logits: torch.Tensor, penalised: torch.Tensor) -> list[tuple[Beam, Beam]]:
        """Take one step with the logits [beams, vocabulary], unchanged and after penalties.

        Return the rows to copy as (from, to); no beam is both.
        """
        logprobs = penalised.double().log_softmax(-1)
        row_of = {beam: row for row, beam in enumerate(self.beams)}
        moves: list[tuple[Beam, Beam]] = []
        tokens: list[int] = []
        for group in self._groups:
            if not group.done:
                rows = [row_of[beam] for beam in self._running_beams(group)]
                scorer = (
                    None
                    if self.params.logprobs is None
                    else Scorer(logits[rows], self.params.logprobs, self.params.logprob_token_ids)
                )
                group.advance(logprobs[rows], tokens, scorer)
                moves += self._assign_beams(group)
                tokens += [hypothesis.tokens[-1] for hypothesis in group.running]
        return moves

    def running_beams(self) -> list[Beam]:
        """Return the beams that are not idle."""
        return [beam for group in self._groups if not group.done for beam in self._running_beams(group)]

    def _running_beams(self, group: BeamGroup) -> tuple[Beam, ...]:
        return self._rows[group][: len(group.running)]

    def _assign_beams(self, group: BeamGroup) -> list[tuple[Beam, Beam]]:
        """Assign a beam to each hypothesis of a group: its parent's beam if still unassigned, otherwise an idle one."""
        before = self._rows[group]
        inherited: dict[Beam, int] = {}
        for index, hypothesis in enumerate(group.running):
            inherited.setdefault(before[hypothesis.parent], index)
        idle = [beam for beam in before if beam not in inherited]
        assigned = {index: beam for beam, index in inherited.items()}
        moves = []
        for index, hypothesis in enumerate(group.running):
            if index not in assigned:
                assigned[index] = idle.pop(0)
                moves.append((before[hypothesis.parent], assigned[index]))
            assigned[index].generated = list(hypothesis.tokens)
            assigned[index].matcher = hypothesis.matcher
        self._rows[group] = (*(assigned[index] for index in range(len(group.running))), *idle)
        return moves

    def record_step(self, step: StepStats) -> None:
        """Record the measurements of a step."""
        self._steps.append(step)

    def collect_answers(self) -> list[list[Delta]]:
        """Return the deltas of the n best answers, best first; raise Unsatisfiable if fewer are possible."""
        finished = [item for group in self._groups for item in group.finished]
        best = sorted(finished, key=lambda item: -item[0])[: self.params.n]
        if len(best) < self.params.n:
            raise Unsatisfiable(f"{self.params.n} answers are required, and only {len(best)} possible: lower n")
        return [self._create_deltas(index, hypothesis) for index, (_, hypothesis) in enumerate(best)]

    def _create_deltas(self, index: int, hypothesis: Hypothesis) -> list[Delta]:
        transcript = Transcript(self._spec, index)
        ready = [self._ready_at, *(step.ended_at for step in self._steps)]
        last = len(hypothesis.tokens) - 1
        complete = hypothesis.matcher is not None and hypothesis.matcher.complete
        return [
            transcript.create_delta(
                token,
                hypothesis.scores[at] if hypothesis.scores else None,
                self._steps[at],
                ready[at],
                complete=complete and at == last,
            )
            for at, token in enumerate(hypothesis.tokens)
        ]
