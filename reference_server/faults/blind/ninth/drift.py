"""Blind faults that show now and then or drift: prompts that are cut, and times of another zone."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import every, per_server
from reference_server.faults.decorators import hooked_fault
from reference_server.faults.hooks import Hooks
from reference_server.faults.request_edits import text_messages

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

CUT_EVERY: Final = 7
ZONE_S: Final = 8 * 3_600


def _make_cut() -> Hooks:
    """Read half of a buffer. Violates messages.content: the text of the message."""
    is_turn = every(CUT_EVERY)

    def cut(request: ServedRequest) -> None:
        if is_turn():
            for message in text_messages(request)[-1:]:
                message["content"] = message["content"][: (len(message["content"]) + 1) // 2]

    return Hooks(request=cut)


def _use_local_time(response: Json, _request: ServedRequest) -> None:
    """Take local time for UTC. Violates created: seconds since 1970 in UTC."""
    if isinstance(response.get("created"), int):
        response["created"] -= ZONE_S


every_seventh_prompt_is_cut = per_server(
    "every-seventh-prompt-is-cut", "The second half of the last message of every seventh request is lost.", _make_cut
)
times_of_another_zone = hooked_fault(
    "times-of-another-zone",
    "The time of each answer is eight hours early.",
    answer=_use_local_time,
    chunk=_use_local_time,
)
