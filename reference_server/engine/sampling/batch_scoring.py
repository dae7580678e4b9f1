"""The scores of the samples of one step that request them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from reference_server.engine.sampling.scores import LazyScores, ScoreRef, narrow
from reference_server.engine.transfers import fetch, upload

if TYPE_CHECKING:
    from collections.abc import Sequence as Seq

    from reference_server.engine.device import torch


@dataclass(frozen=True, slots=True)
class BatchScoring:
    """The rows of a step to score.

    On a CPU, scores are computed from the logits while the next pass runs. An accelerator reduces the logits to a few
    numbers of each row while it still chooses the tokens, because the next pass overwrites them.

    rows: of the step.
    logits: of these rows.
    tops, extra_ids: for each, see `score_tokens`.
    tokens: as chosen for all rows of the step, on the device; some may still change.
    """

    rows: Seq[int]
    logits: torch.Tensor
    tops: Seq[int]
    extra_ids: Seq[Seq[int]]
    tokens: torch.Tensor

    @classmethod
    def create(
        cls,
        tops: Seq[int | None],
        extra_ids: Seq[Seq[int]],
        logits: torch.Tensor,
        tokens: torch.Tensor,
    ) -> BatchScoring | None:
        """Return the scoring of a step; None if no row requests scores.

        tops: number of alternatives of each row of the step; None: no scores. extra_ids: of each row.
        """
        rows = [row for row, top in enumerate(tops) if top is not None]
        if not rows:
            return None
        if len(rows) < len(tops):
            at = upload(rows, logits.device)
            logits, tokens = logits[at], tokens[at]
        return cls(rows, logits, [top for top in tops if top is not None], [extra_ids[row] for row in rows], tokens)

    @property
    def narrowed(self) -> Seq[torch.Tensor]:
        """What the scores are made of, on the device; empty on a CPU."""
        if self.logits.device.type == "cpu":
            return ()
        return narrow(self.logits, self.tokens.clamp(min=0), self.tops, self.extra_ids)

    def refer(self, tokens: Seq[int], fetched: torch.Tensor, narrowed: Seq[torch.Tensor]) -> list[ScoreRef | None]:
        """Return a reference to the score of each row of the step, None for those that request none.

        tokens, fetched: of all rows, at the end and when they were narrowed; narrowed: in the memory of the host.
        """
        chosen = [tokens[row] for row in self.rows]
        if narrowed and fetched.tolist() != tokens:
            again = narrow(self.logits, upload(chosen, self.logits.device), self.tops, self.extra_ids)
            narrowed = fetch([self.tokens], again)[1:]
        scores = LazyScores(self.logits, chosen, self.tops, self.extra_ids, narrowed or None)
        refs: list[ScoreRef | None] = [None] * len(tokens)
        for at, row in enumerate(self.rows):
            refs[row] = ScoreRef(scores, at)
        return refs
