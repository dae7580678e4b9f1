"""Repetition, presence and frequency penalties, with the token counts of every slot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.engine.device import torch
from reference_server.engine.transfers import move

if TYPE_CHECKING:
    from collections.abc import Sequence as Seq

    from reference_server.engine.params import SamplingParams

# No finite parameter may make a logit infinite or NaN: that would affect the other requests of the batch.
MAX_MAGNITUDE = 1e30
FLOAT32_MAX = torch.finfo(torch.float32).max
MAX_UNSHIFTED = 128.0  # up to this value, float32 has five decimal places, enough for differences
INITIAL_WIDTH = 256


class Penalties:
    """The tokens of each slot's prompt and answer, with their counts in the answer.

    As in vLLM, the repetition penalty applies to prompt and generated tokens, the other two to generated tokens only.
    Only the logits of these tokens are recomputed, since a vocabulary is much larger than the tokens of a request.
    """

    def __init__(self, slots: int) -> None:
        self._presence = torch.zeros(slots, dtype=torch.float64)
        self._frequency = torch.zeros(slots, dtype=torch.float64)
        self._repetition = torch.ones(slots, dtype=torch.float64)
        self._columns: list[dict[int, int]] = [{} for _ in range(slots)]  # token -> column in _tokens and _counts
        self._tokens = torch.zeros(slots, INITIAL_WIDTH, dtype=torch.long)
        self._counts = torch.zeros(slots, INITIAL_WIDTH, dtype=torch.float64)

    def reset_slot(self, slot: int, params: SamplingParams, prompt: Seq[int]) -> None:
        """Start a new prompt in a slot; penalties are limited to MAX_MAGNITUDE."""
        self._presence[slot] = max(-MAX_MAGNITUDE, min(params.presence_penalty, MAX_MAGNITUDE))
        self._frequency[slot] = max(-MAX_MAGNITUDE, min(params.frequency_penalty, MAX_MAGNITUDE))
        self._repetition[slot] = max(1 / MAX_MAGNITUDE, min(params.repetition_penalty, MAX_MAGNITUDE))
        columns = {token: column for column, token in enumerate(dict.fromkeys(prompt))}
        self._columns[slot] = columns
        self._widen(len(columns))
        self._tokens[slot, : len(columns)] = torch.tensor(list(columns), dtype=torch.long)
        self._counts[slot] = 0

    def count_tokens(self, slots: Seq[int], tokens: Seq[int]) -> None:
        """Count one more generated token in each of some slots."""
        positions = []
        for slot, token in zip(slots, tokens, strict=True):
            columns = self._columns[slot]
            positions.append(columns.setdefault(token, len(columns)))
        self._widen(max(positions) + 1)
        rows, at, counted = torch.tensor([slots, positions, tokens])
        self._tokens[rows, at] = counted
        self._counts[rows, at] += 1

    def copy(self, moves: Seq[tuple[int, int]]) -> None:
        """Copy counts between slots; moves: (from, to), no slot is both."""
        for source, target in moves:
            self._columns[target] = dict(self._columns[source])
        sources, targets = torch.tensor(moves).unbind(1)
        self._tokens[targets] = self._tokens[sources]
        self._counts[targets] = self._counts[sources]

    def apply(self, logits: torch.Tensor, slots: Seq[int]) -> None:
        """Penalise logits [rows, vocabulary] in place.

        Rows with values beyond MAX_UNSHIFTED are shifted as a whole, so that their largest value is 0. The penalised
        values are computed in float64, because the parameters can be of any size.
        """
        widths = [len(self._columns[slot]) for slot in slots]
        if 0 in widths:
            raise ValueError("a slot without a prompt cannot be penalised")
        at = torch.tensor(slots)
        # A shorter row repeats its last token, which writes the same value to the same position.
        columns = torch.minimum(torch.arange(max(widths)), torch.tensor(widths)[:, None] - 1)
        tokens = move(self._tokens[at].gather(1, columns), logits.device)
        counts = move(self._counts[at].gather(1, columns), logits.device)
        factors = [self._repetition[at, None], self._frequency[at, None], self._presence[at, None]]
        if logits.device.type != "cpu":
            factors = list(move(torch.stack(factors), logits.device))
        repetition, frequency, presence = factors
        values = logits.gather(1, tokens).double()
        values = torch.where(values > 0, values / repetition, values * repetition)
        values -= frequency * counts + presence * (counts > 0)
        large = ((values.abs() > MAX_UNSHIFTED) & (values > -torch.inf)).any(-1)
        if logits.device.type != "cpu":  # both, because to ask which rows are large would take a synchronization
            shifted = _replace_and_shift(logits, tokens, values)
            torch.where(large[:, None], shifted, logits.scatter_(1, tokens, values.float()), out=logits)
        elif large.any():
            logits[large] = _replace_and_shift(logits[large], tokens[large], values[large])
            small = ~large
            logits[small] = logits[small].scatter_(1, tokens[small], values[small].float())
        else:
            logits.scatter_(1, tokens, values.float())

    def _widen(self, width: int) -> None:
        while self._tokens.shape[1] < width:
            self._tokens = torch.cat([self._tokens, torch.zeros_like(self._tokens)], 1)
            self._counts = torch.cat([self._counts, torch.zeros_like(self._counts)], 1)


def _replace_and_shift(logits: torch.Tensor, tokens: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Return logits [rows, vocabulary] with new values for tokens [rows, tokens]; the maximum of each row becomes 0."""
    logits = logits.scatter(1, tokens, -torch.inf)
    largest = torch.maximum(logits.amax(-1).double(), values.amax(-1))[:, None]
    shift = largest.float()  # shift all values by the same float32, or their differences would change
    largest = torch.where(shift.isfinite(), shift.double(), largest)
    logits -= shift.clamp(-FLOAT32_MAX, FLOAT32_MAX)
    return logits.scatter_(1, tokens, (values - largest).float())
