"""Unusual but legal forms of the same answers, which are witnesses of every sentence about answers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

from conformance.proof.editing.responses import with_body
from conformance.proof.editing.streams import Frame, edit_frames
from conformance.proof.sentences.deviation import Deviation

if TYPE_CHECKING:
    from conformance.exchange import Exchange
    from conformance.proof.recorded_run import RecordedRun


def _reverse(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _reverse(value[name]) for name in reversed(value)}
    return [_reverse(item) for item in value] if isinstance(value, list) else value


def _rewrite(value: Any) -> bytes:
    """Serialize JSON with the fields of objects in reverse order, white space, and ASCII characters only."""
    return json.dumps(_reverse(value), separators=(" , ", " : ")).encode()


def _rewrite_answer(exchange: Exchange, _: RecordedRun) -> Exchange | None:
    if exchange.is_stream or not isinstance(exchange.json, dict):
        return None
    return with_body(exchange, b" " + _rewrite(exchange.json) + b" \n")


def _rewrite_stream(exchange: Exchange, _: RecordedRun) -> Exchange | None:
    if not exchange.is_stream or not exchange.events or not exchange.complete:
        return None

    def rewrite(frame: Frame) -> Frame:
        chunk = frame.chunk
        return frame if chunk is None else frame.with_data(_rewrite(chunk))

    return edit_frames(exchange, lambda frames: [rewrite(frame) for frame in frames])


UNUSUAL: Final = (
    Deviation("Answers have their fields in reverse order, white space and escapes.", "plain", _rewrite_answer),
    Deviation("Chunks have their fields in reverse order, white space and escapes.", "stream", _rewrite_stream),
)
"""Deviations that keep every sentence."""
