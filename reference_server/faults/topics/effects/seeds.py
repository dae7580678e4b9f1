"""Faults in the effect of `seed`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.faults.decorators import hooked_fault, requires_check, sampling_fault, wrapping_fault
from reference_server.faults.fault_middleware import FaultMiddleware
from reference_server.faults.hooks import Hooks
from reference_server.faults.request_edits import keep_last, null_as

if TYPE_CHECKING:
    from starlette.types import ASGIApp

    from openapi.contract.contract import Contract
    from reference_server.engine import SamplingParams


@wrapping_fault(
    "last-seed-kept",
    applies_to=requires_check("effects.seed-not-carried-over"),
    bugs=[105],
    flaky=True,
    affects="requests",
)
def last_seed_is_kept(app: ASGIApp, contract: Contract) -> ASGIApp:
    """A request without a seed uses the seed of an earlier request."""
    return FaultMiddleware(app, contract, Hooks(request=keep_last(("seed",))))


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
