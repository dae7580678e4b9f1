"""Faults in the effect of `seed`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import around, at_seams, demands, sampled
from reference_server.faults.fault_middleware import Faulty
from reference_server.faults.hooks import Seams
from reference_server.faults.request_edits import null_as

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp

    from openapi.contract.contract import Contract
    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import Json, Told

KEPT: Final = ("temperature", "top_p", "presence_penalty", "frequency_penalty")


def _keeping(names: tuple[str, ...]) -> Callable[[Told], None]:
    """Notes what a request says, and says it where another one does not."""
    kept: Json = {}

    def keep(told: Told) -> None:
        kept.update({name: told.sent[name] for name in names if told.sent.get(name) is not None})
        for name, value in kept.items():
            told.sent.setdefault(name, value)

    return keep


@around("last-seed-kept", fits=demands("effects.seed-not-carried-over"), bugs=[105], restless=True, shows="requests")
def last_seed_is_kept(app: ASGIApp, contract: Contract) -> ASGIApp:
    """Without a seed the last one that anybody named is used."""
    return Faulty(app, contract, Seams(request=_keeping(("seed",))))


@around("last-sampling-kept", bugs=[105, 106], restless=True, shows="requests")
def last_sampling_is_kept(app: ASGIApp, contract: Contract) -> ASGIApp:
    """Temperature, top_p and penalties hold until somebody names others."""
    return Faulty(app, contract, Seams(request=_keeping(KEPT)))


null_seed_is_zero = at_seams(
    "null-seed-is-zero", "A seed of null is the seed 0.", request=null_as("seed", 0),
    fits=demands("effects.null-seed-is-none"),
)  # fmt: skip


@sampled("seed-constant", bugs=[105])
def seed_constant(params: SamplingParams) -> SamplingParams:
    """Every request has the same seed, whatever it asks for."""
    return replace(params, seed=1)


@sampled("seed-cut-to-32-bits", fits=demands("effects.seeds-read-whole"), bugs=[105])
def seed_is_cut_to_32_bits(params: SamplingParams) -> SamplingParams:
    """Of `seed` the lowest 32 bits are read."""
    return replace(params, seed=None if params.seed is None else params.seed % 2**32)
