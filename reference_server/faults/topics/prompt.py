"""Faults in the parameters that change how the prompt is built."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import fault, knows
from reference_server.faults.topics.output import forgotten

if TYPE_CHECKING:
    from reference_server.faults.hooks import Told


truncation_forgotten = forgotten("truncate_prompt_tokens", "prompt.cut-to-length")
continuation_forgotten = forgotten("continue_final_message", "prompt.last-message-continued")
echo_forgotten = forgotten("echo", "prompt.last-message-echoed")


@fault("cuts-the-other-side", "request", fits=knows("truncation_side"))
def cuts_the_other_side(told: Told) -> None:
    """`truncation_side` names the side that is kept."""
    side = told.sent.get("truncation_side")
    if side in ("left", "right"):
        told.sent["truncation_side"] = "right" if side == "left" else "left"
