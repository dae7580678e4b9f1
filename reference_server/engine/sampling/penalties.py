"""Penalties: what has been said in every slot, and what that costs the tokens that would say it again."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.engine.device import torch

if TYPE_CHECKING:
    from collections.abc import Sequence as Seq

    from reference_server.engine.params import SamplingParams

# No finite parameter may make a logit infinite or NaN: one request would end everybody's.
MAX_MAGNITUDE = 1e30
FLOAT32_MAX = torch.finfo(torch.float32).max
MAX_UNSHIFTED = 128.0  # up to here float32 has five digits behind the point, which is as many as differences need
INITIAL_WIDTH = 256


class Penalties:
    """The tokens of each slot's prompt and answer, with how often the answer has them.

    They follow vLLM: the repetition penalty looks at prompt and generated tokens, the other two at generated
    tokens alone. Only logits of these tokens are computed anew, since a vocabulary is far larger than a text.
    """

    def __init__(self, slots: int) -> None:
        self._presence = torch.zeros(slots, dtype=torch.float64)
        self._frequency = torch.zeros(slots, dtype=torch.float64)
        self._repetition = torch.ones(slots, dtype=torch.float64)
        self._columns: list[dict[int, int]] = [{} for _ in range(slots)]  # token -> its column in the two below
        self._tokens = torch.zeros(slots, INITIAL_WIDTH, dtype=torch.long)
        self._counts = torch.zeros(slots, INITIAL_WIDTH, dtype=torch.float64)

    def reset_slot(self, slot: int, params: SamplingParams, prompt: Seq[int]) -> None:
        """Forget what was said in a slot, for a new prompt; numbers too extreme to compute with count as EXTREME."""
        self._presence[slot] = max(-MAX_MAGNITUDE, min(params.presence_penalty, MAX_MAGNITUDE))
        self._frequency[slot] = max(-MAX_MAGNITUDE, min(params.frequency_penalty, MAX_MAGNITUDE))
        self._repetition[slot] = max(1 / MAX_MAGNITUDE, min(params.repetition_penalty, MAX_MAGNITUDE))
        columns = {token: column for column, token in enumerate(dict.fromkeys(prompt))}
        self._columns[slot] = columns
        self._widen(len(columns))
        self._tokens[slot, : len(columns)] = torch.tensor(list(columns), dtype=torch.long)
        self._counts[slot] = 0

    def count_tokens(self, slots: Seq[int], tokens: Seq[int]) -> None:
        """Count one token more in each of some slots."""
        places = []
        for slot, token in zip(slots, tokens, strict=True):
            columns = self._columns[slot]
            places.append(columns.setdefault(token, len(columns)))
        self._widen(max(places) + 1)
        rows, at, counted = torch.tensor([slots, places, tokens])
        self._tokens[rows, at] = counted
        self._counts[rows, at] += 1

    def copy(self, moves: Seq[tuple[int, int]]) -> None:
        """Give slots the counts of others; moves: (from, to), none is both."""
        for source, target in moves:
            self._columns[target] = dict(self._columns[source])
        sources, targets = torch.tensor(moves).unbind(1)
        self._tokens[targets] = self._tokens[sources]
        self._counts[targets] = self._counts[sources]

    def apply(self, logits: torch.Tensor, slots: Seq[int]) -> None:
        """Penalise logits [rows, vocabulary] in place; rows with numbers beyond ORDINARY are moved too, all of a row
        by as much: their largest is 0 then.

        What is penalised is computed in float64: the parameters may be of any size.
        """
        filled = [len(self._columns[slot]) for slot in slots]
        if 0 in filled:
            raise ValueError("a slot without a prompt has nothing to penalise")
        at = torch.tensor(slots)
        # A shorter row names its last token again and again: that writes the same number in the same place.
        columns = torch.minimum(torch.arange(max(filled)), torch.tensor(filled)[:, None] - 1)
        tokens, counts = self._tokens[at].gather(1, columns), self._counts[at].gather(1, columns)
        values = logits.gather(1, tokens).double()
        repetition = self._repetition[at, None]
        values = torch.where(values > 0, values / repetition, values * repetition)
        values -= self._frequency[at, None] * counts + self._presence[at, None] * (counts > 0)
        large = ((values.abs() > MAX_UNSHIFTED) & (values > -torch.inf)).any(-1)
        if large.any():
            logits[large] = _replace_and_shift(logits[large], tokens[large], values[large])
            few = ~large
            logits[few] = logits[few].scatter_(1, tokens[few], values[few].float())
        else:
            logits.scatter_(1, tokens, values.float())

    def _widen(self, width: int) -> None:
        while self._tokens.shape[1] < width:
            self._tokens = torch.cat([self._tokens, torch.zeros_like(self._tokens)], 1)
            self._counts = torch.cat([self._counts, torch.zeros_like(self._counts)], 1)


def _replace_and_shift(logits: torch.Tensor, tokens: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Logits [rows, vocabulary] with other values for some tokens [rows, tokens], each row moved to a largest of 0."""
    logits = logits.scatter(1, tokens, -torch.inf)
    largest = torch.maximum(logits.amax(-1).double(), values.amax(-1))[:, None]
    moved = largest.float()  # by the same number for all, or their differences would change
    largest = torch.where(moved.isfinite(), moved.double(), largest)
    logits -= moved.clamp(-FLOAT32_MAX, FLOAT32_MAX)
    return logits.scatter_(1, tokens, (values - largest).float())
