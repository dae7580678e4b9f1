"""Blind faults that depend on the number of tokens of a prompt or of a stream."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING, Any, Final

from reference_server.engine import EngineError
from reference_server.faults.blind.stream_recipes import streamed_text_fault
from reference_server.faults.decorators import always, hooked_fault
from reference_server.faults.fault import Fault

if TYPE_CHECKING:
    from reference_server.engine import Engine, Generation, SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest

BLOCK: Final = 16  # tokens
LEAST: Final = 3 * BLOCK
LATE_PIECE: Final = 30
LATE_EVENT: Final = 20


class BlockEngine:
    """An engine that fails for longer prompts that consist of whole blocks."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def submit(self, prompt: list[int], params: SamplingParams) -> Generation:
        """Submit the prompt. Raises EngineError for whole blocks."""
        if len(prompt) >= LEAST and len(prompt) % BLOCK == 0:
            raise EngineError("block table out of range")
        return self._engine.submit(prompt, params)


def _fail_for_blocks(engine: Engine) -> Engine:
    return BlockEngine(engine)  # delegates everything else to the engine


def _send_all_again(piece: str, state: Json, _request: ServedRequest) -> str:
    state["pieces"] = state.get("pieces", 0) + 1
    state["text"] = state.get("text", "") + piece
    whole: str = state["text"]
    return whole if state["pieces"] == LATE_PIECE else piece


def _change_id(chunk: Json, request: ServedRequest) -> None:
    if isinstance(chunk.get("id"), str) and request.event_index >= LATE_EVENT:
        own: str = request.state.setdefault("id", str(uuid.uuid4()))
        chunk["id"] = f"{request.contract.answer.id_prefix}{own}"


whole_blocks_fail = Fault(
    "whole-blocks-fail",
    "A prompt of 48 tokens or more whose number of tokens is a multiple of 16 gets a 500.",
    always,
    lambda app, _contract: app,
    _fail_for_blocks,
)
long_streams_send_all_again = streamed_text_fault(
    "long-streams-send-all-again",
    "The thirtieth piece of text of a stream contains the whole text so far.",
    _send_all_again,
)
ids_change_in_long_streams = hooked_fault(
    "ids-change-in-long-streams",
    "From the twenty-first event, the chunks of a stream have another id.",
    chunk=_change_id,
    applies_to=lambda contract: contract.answer.id_prefix is not None,
)
