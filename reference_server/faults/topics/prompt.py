"""Faults in the parameters that change how the prompt is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import fault, has_parameters
from reference_server.faults.topics.output import forgotten

if TYPE_CHECKING:
    from reference_server.faults.hooks import ServedRequest


truncation_forgotten = forgotten("truncate_prompt_tokens", "prompt.cut-to-length")
continuation_forgotten = forgotten("continue_final_message", "prompt.last-message-continued")
echo_forgotten = forgotten("echo", "prompt.last-message-echoed")


@fault("cuts-the-other-side", "request", applies_to=has_parameters("truncation_side"))
def cuts_the_other_side(request: ServedRequest) -> None:
    """`truncation_side` is interpreted as the side to keep."""
    side = request.payload.get("truncation_side")
    if side in ("left", "right"):
        request.payload["truncation_side"] = "right" if side == "left" else "left"
