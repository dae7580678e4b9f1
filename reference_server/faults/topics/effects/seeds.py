"""Faults in the effect of `seed`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import hooked_fault, requires_check, sampling_fault, wrapping_fault
from reference_server.faults.fault_middleware import FaultMiddleware
from reference_server.faults.hooks import Hooks
from reference_server.faults.request_edits import null_as

if TYPE_CHECKING:
    from collections.abc import Callable

    from starlette.types import ASGIApp

    from openapi.contract.contract import Contract
    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest

KEPT: Final = ("temperature", "top_p", "presence_penalty", "frequency_penalty")


def _keeping(names: tuple[str, ...]) -> Callable[[ServedRequest], None]:
    """Return an edit that adds the last values of these parameters to requests that lack them."""
    kept: Json = {}

    def keep(request: ServedRequest) -> None:
        kept.update({name: request.payload[name] for name in names if request.payload.get(name) is not None})
        for name, value in kept.items():
            request.payload.setdefault(name, value)

    return keep


@wrapping_fault(
    "last-seed-kept",
    applies_to=requires_check("effects.seed-not-carried-over"),
    bugs=[105],
    flaky=True,
    affects="requests",
)
def last_seed_is_kept(app: ASGIApp, contract: Contract) -> ASGIApp:
    """A request without a seed uses the seed of an earlier request."""
    return FaultMiddleware(app, contract, Hooks(request=_keeping(("seed",))))


@wrapping_fault("last-sampling-kept", bugs=[105, 106], flaky=True, affects="requests")
def last_sampling_is_kept(app: ASGIApp, contract: Contract) -> ASGIApp:
    """Temperature, top_p and penalties of a request stay in effect for later requests."""
    return FaultMiddleware(app, contract, Hooks(request=_keeping(KEPT)))


null_seed_is_zero = hooked_fault(
    "null-seed-is-zero",
    "A seed of null is treated as 0.",
    request=null_as("seed", 0),
    applies_to=requires_check("effects.null-seed-is-none"),
)


@sampling_fault("seed-constant", bugs=[105])
def seed_constant(params: SamplingParams) -> SamplingParams:
    """Every request uses the same seed."""
    return replace(params, seed=1)


@sampling_fault("seed-zero-is-none", bugs=[105])
def seed_zero_is_none(params: SamplingParams) -> SamplingParams:
    """A seed of 0 counts as no seed."""
    return replace(params, seed=params.seed or None)


@sampling_fault("seed-read-as-double", applies_to=requires_check("effects.seeds-read-exactly"), bugs=[105])
def seed_is_read_as_double(params: SamplingParams) -> SamplingParams:
    """`seed` is converted to a double."""
    return replace(params, seed=None if params.seed is None else int(float(params.seed)))


@sampling_fault("seed-cut-to-32-bits", applies_to=requires_check("effects.seeds-read-whole"), bugs=[105])
def seed_is_cut_to_32_bits(params: SamplingParams) -> SamplingParams:
    """Only the lowest 32 bits of `seed` are used."""
    return replace(params, seed=None if params.seed is None else params.seed % 2**32)
