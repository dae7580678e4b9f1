"""The choice of one token for each row of logits, on the device of the logits.

Nothing here waits for an accelerator: the rare rows that need more candidates are marked, for a second choice.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

import numpy

from reference_server.engine.device import torch
from reference_server.engine.sampling.block_sums import sum_blocks
from reference_server.engine.sampling.candidates import filter_candidates, invert_cdf, sort_candidates
from reference_server.engine.sampling.nucleus import draw_from_nucleus
from reference_server.engine.sampling.penalties import MAX_MAGNITUDE
from reference_server.engine.transfers import upload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from collections.abc import Sequence as Seq

    from reference_server.engine.params import SamplingParams

    _Choice = Callable[[torch.Tensor, "DrawSettings"], torch.Tensor]
    _Found = tuple[torch.Tensor, torch.Tensor]  # tokens, and whether the candidates were sufficient
    _DrawFromCandidates = Callable[[torch.Tensor, "DrawSettings", int, Seq[int] | None], "_Found"]

# Sorting a large vocabulary costs more than a forward pass: the tokens that top_k and top_p keep are searched for among
# these numbers of most likely tokens first.
CANDIDATES = (32, 64, 128, 1024)
INITIAL_CANDIDATES = 64
DEVICE_CANDIDATES: Final = 512
"""The same on an accelerator, where a second search costs a synchronization, and more candidates cost little."""
MAX_SORTED = 4096  # weights that are sorted faster than they are divided into ranges
ALL_TOKENS: Final = 2**31
"""More than any vocabulary has."""
UNSETTLED: Final = -1
"""Instead of a token: more candidates have to be examined."""


class SlotSettings(NamedTuple):
    """The sampling parameters of one slot, with the precision that they are used in; top_k 0: all tokens."""

    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0

    @classmethod
    def from_params(cls, params: SamplingParams, vocabulary_size: int) -> SlotSettings:
        """Return the settings of a request; the temperature is limited to MAX_MAGNITUDE."""
        top_k = params.top_k if 0 < params.top_k < vocabulary_size else 0
        temperature = float(numpy.float32(min(params.temperature, MAX_MAGNITUDE)))
        return cls(temperature, params.top_p, top_k, float(numpy.float32(params.min_p)))


class DrawSettings:
    """The settings of the rows of a batch, with the uniform number of each, as tensors on the device of the logits.

    On an accelerator, all of them are one transfer.
    """

    def __init__(self, rows: Seq[SlotSettings], uniforms: Seq[float]) -> None:
        self.rows = rows
        self._uniforms = uniforms
        self._on_device: torch.Tensor | None = None

    def select(self, rows: Seq[int]) -> DrawSettings:
        """Return the settings of some rows."""
        return DrawSettings([self.rows[row] for row in rows], [self._uniforms[row] for row in rows])

    @property
    def has_min_p(self) -> bool:
        return any(row.min_p for row in self.rows)

    def temperature(self, logits: torch.Tensor) -> torch.Tensor:
        return self._place(0, logits).float()

    def top_p(self, logits: torch.Tensor) -> torch.Tensor:
        return self._place(1, logits)

    def top_k(self, logits: torch.Tensor) -> torch.Tensor:
        """Return the numbers of tokens to keep; ALL_TOKENS if all are kept."""
        return self._place(2, logits).long()

    def min_p(self, logits: torch.Tensor) -> torch.Tensor:
        return self._place(3, logits).float()

    def uniforms(self, logits: torch.Tensor) -> torch.Tensor:
        return self._place(4, logits)

    def _place(self, column: int, logits: torch.Tensor) -> torch.Tensor:
        """Return one setting of all rows, float64."""
        if logits.device.type == "cpu":
            return torch.tensor(self._list(column), dtype=torch.float64)
        if self._on_device is None:
            self._on_device = upload([self._list(column) for column in range(5)], logits.device, torch.float64)
        return self._on_device[column]

    def _list(self, column: int) -> Seq[float]:
        if column == 4:
            return self._uniforms
        return [(row.top_k or ALL_TOKENS) if column == 2 else row[column] for row in self.rows]


def choose_tokens(logits: torch.Tensor, settings: DrawSettings, *, every: bool = False) -> torch.Tensor:
    """Return a token for each row of logits [rows, vocabulary].

    every: whether all tokens are candidates. Otherwise, on an accelerator, rows that need more than DEVICE_CANDIDATES
        get UNSETTLED.
    """
    return _by_rows(
        logits,
        settings,
        [row.temperature > 0 for row in settings.rows],
        lambda some, chosen: _draw(some, chosen, every),
        lambda some, _: some.argmax(-1),
    )


def _by_rows(
    values: torch.Tensor, settings: DrawSettings, belongs: Seq[bool], first: _Choice, second: _Choice
) -> torch.Tensor:
    """Return the tokens that one function chooses for the rows that belong to it, and another for all others."""
    if all(belongs):
        return first(values, settings)
    if not any(belongs):
        return second(values, settings)
    tokens = torch.empty(len(belongs), dtype=torch.long, device=values.device)
    for choose, wanted in ((first, True), (second, False)):
        rows = [row for row, is_first in enumerate(belongs) if is_first is wanted]
        at = upload(rows, values.device)
        tokens[at] = choose(values[at], settings.select(rows))
    return tokens


def _draw(logits: torch.Tensor, settings: DrawSettings, every: bool) -> torch.Tensor:
    return _by_rows(
        logits,
        settings,
        [row.top_k > 0 for row in settings.rows],
        lambda some, chosen: _draw_from_top_k(some, chosen, every),
        lambda some, chosen: _draw_from_all(some, chosen, every),
    )


def _draw_from_top_k(logits: torch.Tensor, settings: DrawSettings, every: bool) -> torch.Tensor:
    """Draw for rows with top_k: only the largest logits of the vocabulary are examined."""

    def draw(logits: torch.Tensor, settings: DrawSettings, candidates: int, _: Seq[int] | None) -> _Found:
        best, ids = sort_candidates(logits, candidates, -torch.inf)
        weights = _weights(best, best[:, :1], settings)
        kept, settled = filter_candidates(weights, settings.top_k(logits), settings.top_p(logits))
        return ids.gather(1, invert_cdf(kept, settings.uniforms(logits))[:, None])[:, 0], settled

    expected = max(row.top_k for row in settings.rows)
    return _search(logits, settings, draw, _candidate_counts(logits, expected, every))


def _draw_from_all(logits: torch.Tensor, settings: DrawSettings, every: bool) -> torch.Tensor:
    """Draw for rows without top_k: every token counts for the total that top_p is a share of."""
    weights = _weights(logits, logits.amax(-1, keepdim=True), settings)
    return _by_rows(
        weights,
        settings,
        [row.top_p < 1 for row in settings.rows],
        lambda some, chosen: _draw_from_nucleus(some, chosen, every),
        lambda some, chosen: invert_cdf(some, chosen.uniforms(some)),
    )


def _draw_from_nucleus(weights: torch.Tensor, settings: DrawSettings, every: bool) -> torch.Tensor:
    """Draw for rows with top_p and without top_k."""
    totals = sum_blocks(weights).sum(-1)

    def draw(weights: torch.Tensor, settings: DrawSettings, candidates: int, rows: Seq[int] | None) -> _Found:
        top_p, uniforms = settings.top_p(weights), settings.uniforms(weights)
        total = totals if rows is None else totals[rows]
        if candidates > MAX_SORTED and weights.device.type == "cpu":
            shares = zip(weights, total.tolist(), top_p.tolist(), uniforms.tolist(), strict=True)
            tokens = torch.tensor([draw_from_nucleus(*share) for share in shares])
            return tokens, torch.ones(len(tokens), dtype=torch.bool)
        best, ids = sort_candidates(weights, candidates, 0)
        kept, settled = filter_candidates(best, settings.top_k(weights), top_p, total)
        return ids.gather(1, invert_cdf(kept, uniforms)[:, None])[:, 0], settled

    return _search(weights, settings, draw, _candidate_counts(weights, INITIAL_CANDIDATES - 1, every))


def _search(
    values: torch.Tensor, settings: DrawSettings, draw: _DrawFromCandidates, counts: Iterator[int]
) -> torch.Tensor:
    """Draw among increasing numbers of candidates, as long as these do not suffice for a row."""
    width = values.shape[1]
    candidates = next(counts)
    tokens, settled = draw(values, settings, candidates, None)
    if values.device.type != "cpu":
        return tokens if candidates == width else torch.where(settled, tokens, UNSETTLED)
    rows: list[int] = []
    while candidates < width and not settled.all():
        candidates = next(counts)
        left = (~settled).nonzero()[:, 0].tolist()
        rows = [rows[at] for at in left] if rows else left
        values, settings = values[left], settings.select(left)
        tokens[rows], settled = draw(values, settings, candidates, rows)
    return tokens


def _weights(logits: torch.Tensor, largest_logit: torch.Tensor, settings: DrawSettings) -> torch.Tensor:
    """Return the weights of tokens in the draw, relative to the most likely token, after temperature and min_p."""
    # Subtract the largest logit before the division, so that a tiny temperature cannot overflow.
    weights = (logits - largest_logit).div_(settings.temperature(logits)[:, None]).exp_()
    if not settings.has_min_p:
        return weights
    return torch.where(weights < settings.min_p(logits)[:, None], 0, weights)


def _candidate_counts(values: torch.Tensor, expected: int, every: bool) -> Iterator[int]:
    """Yield increasing numbers of candidates to examine; expected: number of tokens that are likely to be kept."""
    vocabulary_size = values.shape[1]
    first = next((candidate for candidate in CANDIDATES if candidate > expected), vocabulary_size)
    if values.device.type != "cpu":
        first = max(first, DEVICE_CANDIDATES)
    for candidates in () if every else sorted({first, CANDIDATES[-1]}):
        if first <= candidates < vocabulary_size:
            yield candidates
    yield vocabulary_size
