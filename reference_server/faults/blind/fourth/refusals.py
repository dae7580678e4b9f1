"""Blind faults of the statuses of refusals, and of requests that are wrongly refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import is_whole, refusing, when
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

GREATEST: Final = 2**63
LIMITS: Final = ("max_tokens", "max_completion_tokens")


def _call_unavailable(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    sent = request.payload
    limits = [sent[name] for name in LIMITS if sent.get(name) is not None]
    if sent.get("stream") is True and any(not is_whole(limit, 1, GREATEST) for limit in limits):
        head.status = 503
    return body


def _chooses_none(sent: Json) -> bool:
    return sent.get("tool_choice") == "none" and not sent.get("tools")


streams_with_bad_limits_get_503 = hooked_fault(
    "streams-with-bad-limits-get-503",
    "A stream with an invalid limit is refused with the status 503.",
    refusal=_call_unavailable,
)
no_choice_without_tools_refused = when(
    "no-choice-without-tools-refused",
    "`tool_choice: none` is refused without tools.",
    _chooses_none,
    refusing("When using `tool_choice`, `tools` must be set."),
    applies_to=allows(tool_choice="none"),
)
