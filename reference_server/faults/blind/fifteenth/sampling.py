"""Blind faults of sampling: penalties below zero."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.faults.decorators import sampling_fault

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams


@sampling_fault("negative-penalties-skipped")
def negative_penalties_skipped(params: SamplingParams) -> SamplingParams:
    """A negative presence_penalty or frequency_penalty has no effect."""
    return replace(
        params,
        presence_penalty=max(params.presence_penalty, 0.0),
        frequency_penalty=max(params.frequency_penalty, 0.0),
    )
