"""Variations of how streams divide an answer into chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from openapi.stream import sse
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import choices_of, variation
from reference_server.faults.fault_middleware import parse_object
from reference_server.faults.hooks import DATA, DONE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

EMPTY: Final = 3  # chunks
FINGERPRINT: Final = "fp_ollama"
SEVERAL: Final = allows(n=2, temperature=1.0, stream=True, stream_options={"include_usage": True})


def _is_loose(contract: Contract) -> bool:
    """Apply to dialects without times of single tokens and without a role in each delta."""
    return not contract.answer.timings and "stream_options" in contract.parameters


def _begin_empty(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    chunk = parse_object(frame.removeprefix(DATA))
    choices = chunk.get("choices") or []
    begins = len(choices) == 1 and choices[0].get("delta", {}).get("content") and not chunk.get("usage")
    if request.payload.get("stop") and begins and not request.state.get("begun"):
        request.state["begun"] = True
        held = {"index": choices[0].get("index", 0), "delta": {"content": ""}, "finish_reason": None}
        for _ in range(EMPTY):
            yield sse.encode(orjson.dumps({**chunk, "choices": [held]}))
    yield frame


def _repeat_role(chunk: Json, _request: ServedRequest) -> None:
    for choice in choices_of(chunk):
        choice["delta"] = {"role": "assistant", **choice["delta"]}


def _index_of(frame: bytes) -> int | None:
    choices = parse_object(frame.removeprefix(DATA)).get("choices") or []
    index: Any = choices[0].get("index") if len(choices) == 1 else None
    return index if isinstance(index, int) else None


def _in_turn(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    held: dict[int, list[bytes]] = request.state.setdefault("held", {})
    index = _index_of(frame)
    if index:
        held.setdefault(index, []).append(frame)
        return
    if index is None:
        for _, frames in sorted(held.items()):
            yield from frames
        held.clear()
    yield frame


def _ends_together(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    held: list[bytes] = request.state.setdefault("held", [])
    chunk = parse_object(frame.removeprefix(DATA))
    if any(choice.get("finish_reason") for choice in choices_of(chunk)):
        held.append(frame)
        return
    if frame == DONE or not chunk.get("choices"):
        yield from held
        held.clear()
    yield frame


def _add_fingerprint(response: Json, _request: ServedRequest) -> None:
    response.setdefault("system_fingerprint", FINGERPRINT)


def _has_fingerprints(contract: Contract) -> bool:
    return "system_fingerprint" in contract.stream.key_order


empty_chunks_with_stops = variation(
    "empty-chunks-with-stops",
    "A stream with stop strings begins with chunks without text.",
    event=_begin_empty,
    applies_to=_is_loose,
)
roles_in_every_delta = variation(
    "roles-in-every-delta", "Every delta of a stream has the role.", chunk=_repeat_role, applies_to=_is_loose
)
choices_in_turn = variation(
    "choices-in-turn", "A stream with several choices sends one after the other.", event=_in_turn, applies_to=SEVERAL
)
ends_told_together = variation(
    "ends-told-together",
    "A stream with several choices sends their last chunks together at the end.",
    event=_ends_together,
    applies_to=SEVERAL,
)
fingerprints_added = variation(
    "fingerprints-added",
    "Answers and chunks have a fingerprint that is always the same.",
    answer=_add_fingerprint,
    chunk=_add_fingerprint,
    applies_to=_has_fingerprints,
)
