"""Mutants of stopped answers that are not the beginning of the unstopped one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import edit_text
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("stop.ends-the-same-text", scenario="stop-marks")
def stopped_answer_goes_on(exchange: Exchange) -> Exchange:
    """An answer continues behind its stop string."""
    return edit_text(exchange, lambda text: f"{text}{exchange.request_json['stop']} and on")
