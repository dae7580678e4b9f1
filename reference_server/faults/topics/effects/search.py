"""Faults in the parameters of beam search."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import hooked_fault, requires_check
from reference_server.faults.request_edits import ignoring

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest


def _reverse(request: ServedRequest) -> None:
    penalty = request.payload.get("length_penalty")
    if isinstance(penalty, (int, float)) and not isinstance(penalty, bool):
        request.payload["length_penalty"] = -penalty


length_penalty_ignored = hooked_fault(
    "length-penalty-ignored",
    "`length_penalty` is ignored.",
    request=ignoring("length_penalty"),
    applies_to=requires_check("effects.length-penalty-sign"),
    bugs=[121],
)
length_penalty_reversed = hooked_fault(
    "length-penalty-reversed",
    "`length_penalty` has the opposite sign.",
    request=_reverse,
    applies_to=requires_check("effects.length-penalty-sign"),
    bugs=[121],
)
special_tokens_always_skipped = hooked_fault(
    "special-tokens-always-skipped",
    "`skip_special_tokens: false` removes special tokens, too.",
    request=ignoring("skip_special_tokens"),
    applies_to=requires_check("effects.special-tokens-skipped"),
    bugs=[121],
)
