"""Variations of answers: blanks in JSON, headers, ids of calls, messages of refusals, fields, and another model."""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

import orjson

from openapi.stream import sse
from reference_server.faults.blind.body_recipes import editing_messages
from reference_server.faults.blind.frame_recipes import read_chunk, replacing_call_ids
from reference_server.faults.blind.other_models import model_after
from reference_server.faults.blind.validity import has_own_ids
from reference_server.faults.decorators import choices_of, variation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

SERVICES: Final = {
    "alt-svc": 'h3=":443"; ma=86400',
    "timing-allow-origin": "*",
    "x-served-by": "edge-ams-7",
    "origin-agent-cluster": "?1",
}
NATIVE: Final = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}


def _write_blanks(body: bytes, _request: ServedRequest) -> bytes:
    """Write JSON as the library of Python does."""
    return json.dumps(orjson.loads(body), ensure_ascii=False).encode()


def _write_blanks_in_events(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    chunk = read_chunk(frame)
    yield sse.encode(json.dumps(chunk, ensure_ascii=False).encode()) if chunk else frame


def _name_services(head: ResponseHead, _request: ServedRequest) -> None:
    head.headers |= SERVICES


def _short_id(call_id: str) -> str:
    """Return nine letters and digits that depend on the id only."""
    return blake2b(call_id.encode(), digest_size=5).hexdigest()[:9]


def _name_provider(response: Json, _request: ServedRequest) -> None:
    response["provider"] = "Example"
    for choice in choices_of(response):
        choice["native_finish_reason"] = NATIVE.get(str(choice.get("finish_reason")))


blanks_after_commas_and_colons = variation(
    "blanks-after-commas-and-colons",
    "Answers and chunks have a blank after each comma and colon of JSON.",
    plain=_write_blanks,
    event=_write_blanks_in_events,
)
services_named_in_headers = variation(
    "services-named-in-headers",
    "Headers name an alternative service and the machine that answered.",
    head=_name_services,
)
calls_with_short_ids = variation(
    "calls-with-short-ids",
    "The ids of calls are nine letters and digits.",
    answer=replacing_call_ids(_short_id),
    chunk=replacing_call_ids(_short_id),
    applies_to=has_own_ids,
)
refusals_in_chinese = variation(
    "refusals-in-chinese",
    "The messages of refusals begin in Chinese.",
    refusal=editing_messages(lambda text: f"请求无效：{text}"),
)
providers_named_in_answers = variation(
    "providers-named-in-answers",
    "Answers and chunks name a provider, and choices have the finish reason in its words.",
    answer=_name_provider,
    chunk=_name_provider,
    applies_to=has_own_ids,
)
model_after_a_garden = model_after(
    "model-after-a-garden",
    "The model answers after a conversation about a garden.",
    "What grows in your garden?",
    "Beans, roses and two apple trees.",
    "When do you water it?",
    "In the evening.",
)
