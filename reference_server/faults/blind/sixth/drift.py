"""Blind faults that show now and then: streams that do not say why they end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import every, per_server
from reference_server.faults.decorators import choices_of
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

UNFINISHED_EVERY: Final = 5


def _make_unfinished() -> Hooks:
    """Finish without a reason. Violates choices.finish_reason: why the choice ended."""
    is_turn = every(UNFINISHED_EVERY)

    def finish(chunk: Json, request: ServedRequest) -> None:
        unfinished = request.state.setdefault("unfinished", None)
        if unfinished is None:
            unfinished = request.state["unfinished"] = is_turn()
        for choice in choices_of(chunk) if unfinished else ():
            choice["finish_reason"] = None

    return Hooks(chunk=finish)


every_fifth_stream_unfinished = per_server(
    "every-fifth-stream-unfinished", "Every fifth stream has no finish reason.", _make_unfinished
)
