"""A simple beam search, as a reference for the engine's."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from reference_server.engine import SamplingParams

Tokens = tuple[int, ...]


def reference(
    logprobs: Callable[[Tokens], Sequence[float]],
    params: SamplingParams,
    *,
    limit: int,
    ends: Callable[[Tokens], bool],
) -> list[Tokens]:
    """Return the answers of a diverse beam search that examines every continuation of every beam."""
    size = params.width // params.beam_groups
    running: list[list[tuple[float, Tokens]]] = [[(0.0, ())] for _ in range(params.beam_groups)]
    finished: list[list[tuple[float, Tokens]]] = [[] for _ in range(params.beam_groups)]
    over = [False] * params.beam_groups
    for length in range(1, limit + 1):
        chosen: list[int] = []
        for group in range(params.beam_groups):
            if over[group]:
                continue
            every = [
                (total + logprob - params.diversity_penalty * chosen.count(token), (*tokens, token))
                for total, tokens in running[group]
                for token, logprob in enumerate(logprobs(tokens))
            ]
            every.sort(key=lambda hypothesis: -hypothesis[0])
            done = [(total, tokens) for total, tokens in every[:size] if length == limit or ends(tokens)]
            scored = [(total / length**params.length_penalty, tokens) for total, tokens in done]
            finished[group] = sorted(finished[group] + scored, key=lambda hypothesis: -hypothesis[0])[:size]
            running[group] = [(total, tokens) for total, tokens in every if not ends(tokens)][:size]
            chosen += [tokens[-1] for _, tokens in running[group]]
            best = running[group][0][0] / length**params.length_penalty
            over[group] = len(finished[group]) == size and best <= finished[group][-1][0]
        if all(over):
            break
    merged = sorted(itertools.chain.from_iterable(finished), key=lambda hypothesis: -hypothesis[0])
    return [tokens for _, tokens in merged][: params.n]
