"""Variations of answers: long ids of calls, further fields and headers, pieces in halves, and other models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.frame_recipes import (
    has_fields_of_tokens,
    only_choice,
    read_chunk,
    replacing_call_ids,
    write_chunk,
)
from reference_server.faults.blind.other_models import model_after
from reference_server.faults.blind.validity import has_own_ids
from reference_server.faults.decorators import choices_of, has_parameters, message_of, variation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

SIGNATURE: Final = "__thought__" + "CiQB4/H/XkR9" * 16
LINKS: Final = (
    '</openapi.json>; rel="service-desc"; type="application/json", </docs>; rel="service-doc"; type="text/html"'
)
METRICS: Final = {"engine": {"accepted_drafts": 0, "acceptance": None}, "finished_at": "2026-11-28T02:00:00.000Z"}


def _link(head: ResponseHead, _request: ServedRequest) -> None:
    head.headers["link"] = LINKS


def _add_metrics(response: Json, _request: ServedRequest) -> None:
    for choice in choices_of(response):
        choice["metrics"] = METRICS


def _halve(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Yield a piece of text in two chunks, unless the chunk has something else."""
    chunk = read_chunk(frame)
    choice = only_choice(chunk)
    said = {} if choice is None else message_of(choice)
    text = said.get("content")
    others = [name for name, value in said.items() if value and name not in ("role", "content")]
    is_text = isinstance(text, str) and len(text) > 1 and not others
    is_divisible = is_text and "full_text" not in chunk and not has_fields_of_tokens(request.payload)
    if choice is None or text is None or not is_divisible or choice.get("finish_reason"):
        yield frame
        return
    middle = len(text) // 2
    for half in (text[:middle], text[middle:]):
        yield write_chunk({**chunk, "choices": [{**choice, "delta": {**said, "content": half}}]})


call_ids_with_signatures = variation(
    "call-ids-with-signatures",
    "Ids of calls end with a signature of 192 characters, in base64.",
    answer=replacing_call_ids(lambda call_id: call_id + SIGNATURE),
    chunk=replacing_call_ids(lambda call_id: call_id + SIGNATURE),
    applies_to=has_parameters("tools"),
)
descriptions_linked_in_headers = variation(
    "descriptions-linked-in-headers", "Headers link to the description and the documentation of the API.", head=_link
)
choices_state_metrics = variation(
    "choices-state-metrics",
    "Choices have an object with metrics of the engine.",
    answer=_add_metrics,
    chunk=_add_metrics,
    applies_to=has_own_ids,
)
pieces_in_halves = variation("pieces-in-halves", "Each piece of text of a stream comes in two chunks.", event=_halve)
model_after_portuguese = model_after(
    "model-after-portuguese",
    "The model answers after a conversation in Portuguese.",
    "Qual é a capital de Portugal?",
    "A capital de Portugal é Lisboa.",
)
model_after_a_forecast = model_after(
    "model-after-a-forecast",
    "The model answers after a conversation about the weather of a week.",
    "How is the weather this week?",
    "It rains on Monday, and the sun shines on Friday.",
    "And on Sunday?",
    "It will be warm and dry.",
)
