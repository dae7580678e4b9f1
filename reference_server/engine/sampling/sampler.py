"""The sampler: logits to tokens, for all rows of a batch at once, in float32 on the device of the logits.

The order is fixed: penalties, temperature, min_p, top_k, top_p, draw. The result for a sequence depends on its own
logits, parameters, seed and number of tokens, never on the rest of the batch.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

from reference_server.engine.sampling.draw import UNSETTLED, DrawSettings, SlotSettings, choose_tokens
from reference_server.engine.sampling.penalties import Penalties
from reference_server.engine.transfers import fetch, upload

if TYPE_CHECKING:
    from collections.abc import Sequence as Seq

    from reference_server.engine.device import torch
    from reference_server.engine.params import SamplingParams


def draw_uniform(seed: int, index: int) -> float:
    """Return the number in [0, 1) that a seed (0 to 2**64 - 1) gives for its token number `index`.

    It must not change between releases.
    """
    digest = blake2b(seed.to_bytes(8, "little") + index.to_bytes(8, "little"), digest_size=8).digest()
    return (int.from_bytes(digest, "little") >> 11) * 2.0**-53


def derive_seed(seed: int, choice: int) -> int:
    """Return the seed of a choice from the seed of its request; for the first choice they are equal.

    It must not change between releases.
    """
    if choice == 0:
        return seed
    digest = blake2b(
        seed.to_bytes(8, "little") + choice.to_bytes(8, "little"), digest_size=8, person=b"choice"
    ).digest()
    return int.from_bytes(digest, "little")


class TokenDraw:
    """The choice of one token for each row of a batch, which may still be computed by the logits' device.

    tokens: [rows], on the device; UNSETTLED where more candidates have to be examined.
    """

    def __init__(self, logits: torch.Tensor, slots: Seq[int], settings: DrawSettings, penalised_rows: Seq[int]) -> None:
        self.logits = logits
        self.slots = slots
        self.settings = settings
        self.penalised_rows = penalised_rows
        self.tokens = choose_tokens(logits, settings)


class Sampler:
    """The sampling parameters and token counts of every slot, and the choice of tokens.

    As in vLLM, the repetition penalty applies to prompt and generated tokens, the other two to generated tokens only.
    """

    def __init__(self, slots: int, vocabulary_size: int) -> None:
        self._vocabulary_size = vocabulary_size
        self._settings = [SlotSettings()] * slots
        self._has_penalties = [False] * slots
        self._penalties = Penalties(slots)

    def reset_slot(self, slot: int, params: SamplingParams, prompt: Seq[int]) -> None:
        """Prepare a slot for a new sequence; parameters are limited to MAX_MAGNITUDE."""
        self._settings[slot] = SlotSettings.from_params(params, self._vocabulary_size)
        self._has_penalties[slot] = params.penalised
        if params.penalised:
            self._penalties.reset_slot(slot, params, prompt)

    def sample(self, logits: torch.Tensor, slots: Seq[int], uniforms: Seq[float]) -> list[int]:
        """Return one token for each row of logits [rows, vocabulary], given the slot and a uniform number of each row.

        The tokens are counted for the penalties of their slots. A row must contain at least one finite logit, no NaN
        and no +inf: see `find_unusable_rows`.
        """
        draw = self.begin(logits, slots, uniforms)
        return self.finish(draw, *fetch([draw.tokens]))

    def begin(self, logits: torch.Tensor, slots: Seq[int], uniforms: Seq[float]) -> TokenDraw:
        """Start the choice of tokens without waiting for the device; for the arguments see `sample`."""
        logits, penalised_rows = self._penalise(logits, slots)
        settings = DrawSettings([self._settings[slot] for slot in slots], uniforms)
        return TokenDraw(logits, slots, settings, penalised_rows)

    def finish(self, draw: TokenDraw, fetched: torch.Tensor) -> list[int]:
        """Return the tokens of a draw, and count them; fetched: its `tokens` in the memory of the host."""
        chosen: list[int] = fetched.tolist()
        if unsettled := [row for row, token in enumerate(chosen) if token == UNSETTLED]:
            rows = draw.logits[upload(unsettled, draw.logits.device)]
            tokens = choose_tokens(rows, draw.settings.select(unsettled), every=True).tolist()
            for row, token in zip(unsettled, tokens, strict=True):
                chosen[row] = token
        if draw.penalised_rows:
            rows_counted = draw.penalised_rows
            self._penalties.count_tokens(
                [draw.slots[row] for row in rows_counted], [chosen[row] for row in rows_counted]
            )
        return chosen

    def apply_penalties(self, logits: torch.Tensor, slots: Seq[int]) -> torch.Tensor:
        """Return the logits [rows, vocabulary] after the penalties of their slots."""
        return self._penalise(logits, slots)[0]

    def count_tokens(self, slots: Seq[int], tokens: Seq[int]) -> None:
        """Count tokens that were chosen elsewhere, one per slot."""
        self._penalties.count_tokens(slots, tokens)

    def copy(self, moves: Seq[tuple[int, int]]) -> None:
        """Copy token counts between slots; moves: (from, to), no slot is both."""
        self._penalties.copy(moves)

    def _penalise(self, logits: torch.Tensor, slots: Seq[int]) -> tuple[torch.Tensor, list[int]]:
        """Return (logits after penalties, rows that have penalties)."""
        rows = [row for row, slot in enumerate(slots) if self._has_penalties[slot]]
        if len(rows) == len(slots):
            logits = logits.clone()
            self._penalties.apply(logits, slots)
        elif rows:
            logits = logits.clone()
            at = upload(rows, logits.device)
            some = logits[at]
            self._penalties.apply(some, [slots[row] for row in rows])
            logits[at] = some
        return logits, rows


def mark_unusable_rows(logits: torch.Tensor) -> torch.Tensor:
    """Return bool [rows]: which rows cannot be sampled from, because they have NaN or +inf, or are all -inf."""
    return ~logits.amax(-1).isfinite()


def find_unusable_rows(logits: torch.Tensor) -> list[int]:
    """Return the rows of logits [rows, vocabulary] that cannot be sampled from, see `mark_unusable_rows`."""
    rows: list[int] = mark_unusable_rows(logits).nonzero()[:, 0].tolist()
    return rows
