"""Variations of answers: ids, further fields, pieces without text, and other models."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.frame_recipes import has_fields_of_tokens, only_choice, read_chunk, write_chunk
from reference_server.faults.blind.gateway_recipes import models_fault
from reference_server.faults.blind.other_models import model_after
from reference_server.faults.blind.validity import has_own_ids
from reference_server.faults.decorators import choices_of, has_parameters, message_of, variation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

PERMISSION: Final = {
    "root": None,
    "parent": None,
    "permission": [{"id": "modelperm-1", "object": "model_permission", "allow_sampling": True, "group": None}],
    "ready": True,
}
NATIVE: Final = {"stop": "eos_token", "length": "MAX_TOKENS", "tool_calls": "tool_use"}


def _name_calls(response: Json, request: ServedRequest) -> None:
    """Number the calls of a function and name them after it."""
    for choice in choices_of(response):
        for call in message_of(choice).get("tool_calls") or ():
            if call.get("id"):
                request.state["calls"] = number = request.state.get("calls", -1) + 1
                call["id"] = f"functions.{call['function']['name']}:{number}-{call['id'][-12:]}"


def _state_native_reasons(response: Json, _request: ServedRequest) -> None:
    for choice in choices_of(response):
        choice["native_finish_reason"] = NATIVE.get(str(choice.get("finish_reason")))


def _permit_models(listed: Json) -> None:
    for model in listed["data"]:
        model |= {**PERMISSION, **model}


def _state_region(chunk: Json, request: ServedRequest) -> None:
    if not request.state.get("stated"):
        request.state["stated"] = True
        chunk["x_gateway"] = {"region": "eu-2", "attempts": 1, "route": ["a", "b"]}


def _state_time(head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    head.headers["x-error-time"] = "2026-01-31T12:00:00Z"
    return {**body, "timestamp": "2026-01-31T12:00:00Z", "path": "/"} if isinstance(body, dict) else body


def _send_empty_piece(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Yield a chunk without text after each piece of text."""
    yield frame
    chunk = read_chunk(frame)
    choice = only_choice(chunk)
    if choice is None or choice.get("finish_reason") or has_fields_of_tokens(request.payload) or "full_text" in chunk:
        return
    said = message_of(choice)
    if said.get("content") and not any(value for name, value in said.items() if name not in ("role", "content")):
        scores = {"logprobs": None} if "logprobs" in choice else {}
        yield write_chunk({**chunk, "choices": [{**choice, **scores, "delta": {**said, "content": ""}}]})


call_ids_name_their_function = variation(
    "call-ids-name-their-function",
    "Ids of calls contain the name of the function, points and colons.",
    answer=_name_calls,
    chunk=_name_calls,
    applies_to=has_parameters("tools"),
)
native_reasons_stated = variation(
    "native-reasons-stated",
    "Choices also have the finish reason of an engine behind a gateway.",
    answer=_state_native_reasons,
    chunk=_state_native_reasons,
    applies_to=has_own_ids,
)
models_with_permissions = replace(
    models_fault("models-with-permissions", "Models are listed with permissions.", _permit_models), benign=True
)
first_chunks_state_a_region = variation(
    "first-chunks-state-a-region",
    "The first chunk of a stream has a field of a gateway.",
    chunk=_state_region,
    applies_to=has_own_ids,
)
refusals_state_a_time = variation(
    "refusals-state-a-time", "Refusals have a time and a path next to the error.", refusal=_state_time
)
pieces_without_text_between_others = variation(
    "pieces-without-text-between-others",
    "A chunk without text follows each piece of text of a stream.",
    event=_send_empty_piece,
)
model_after_german = model_after(
    "model-after-german",
    "The model answers after a conversation in German.",
    "Guten Tag! Wie heißt die Hauptstadt von Deutschland?",
    "Die Hauptstadt von Deutschland ist Berlin.",
)
model_after_code = model_after(
    "model-after-code",
    "The model answers after a conversation about code.",
    "How do I print a word in Python?",
    "Write print('word') in a file, and run it.",
    "And twice?",
    "Write print('word' * 2).",
)
