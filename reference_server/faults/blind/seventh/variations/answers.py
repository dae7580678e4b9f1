"""Variations of answers: what surrounds and accompanies their JSON, ids, connections, and the tokens of images."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from zlib import crc32

from reference_server.faults.blind.other_models import model_after
from reference_server.faults.blind.validity import has_own_ids
from reference_server.faults.decorators import choices_of, has_parameters, message_of, variation
from reference_server.faults.topics.media.decoded_edits import counts_media, takes

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

POSITIONS: Final = 16
ALPHABET: Final = "ABCDEFGHJKMNPQRSTVWXYZ0123456789"


def _surround(body: bytes, _request: ServedRequest) -> bytes:
    return b" " * 7 + body + b"\n\n"


def _sort_fields(body: Json, _request: ServedRequest) -> None:
    fields = {name: body[name] for name in sorted(body, reverse=True)}
    body.clear()
    body.update(fields)


def _use_own_ids(response: Json, _request: ServedRequest) -> None:
    if isinstance(response.get("id"), str):
        number = crc32(response["id"].encode()) * 2654435761 % 2**40
        digits = "".join(ALPHABET[number >> shift & 31] for shift in range(0, 40, 5))
        response["id"] = f"gen-{response.get('created', 0)}-{digits}"


def _close_connection(head: ResponseHead, _request: ServedRequest) -> None:
    head.headers["connection"] = "close"


def _add_own_fields(response: Json, _request: ServedRequest) -> None:
    response["x_groq"] = {"id": "req_01", "usage": {"total_time": 0.12}}
    response["prompt_filter_results"] = [{"prompt_index": 0, "content_filter_results": {}}]
    for choice in choices_of(response):
        choice["content_filter_results"] = {"hate": {"filtered": False, "severity": "safe"}}
        choice["native_finish_reason"] = choice.get("finish_reason")


def _count_one_token(response: Json, request: ServedRequest) -> None:
    usage, media = response.get("usage"), counts_media(request)
    fewer = media * (POSITIONS - 1)
    if isinstance(usage, dict) and usage.get("prompt_tokens", 0) > fewer:
        usage["prompt_tokens"] -= fewer
        usage["total_tokens"] -= fewer
        details = usage.get("prompt_tokens_details")
        if isinstance(details, dict) and isinstance(details.get("cached_tokens"), int):
            details["cached_tokens"] = min(details["cached_tokens"], usage["prompt_tokens"])


def _drop_nulls(answer: Json, _request: ServedRequest) -> None:
    for choice in choices_of(answer):
        said = message_of(choice)
        for name in [name for name, value in said.items() if value is None and name != "content"]:
            del said[name]


white_space_surrounds_answers = variation(
    "white-space-surrounds-answers", "Plain answers begin with spaces and end with line ends.", plain=_surround
)
fields_in_another_order = variation(
    "fields-in-another-order",
    "The fields of answers and chunks are in another order.",
    answer=_sort_fields,
    chunk=_sort_fields,
)
ids_with_times = variation(
    "ids-with-times",
    "Ids of answers consist of `gen`, a time and eight characters.",
    answer=_use_own_ids,
    chunk=_use_own_ids,
    applies_to=has_own_ids,
)
connections_closed = variation(
    "connections-closed", "The server closes the connection after each response.", head=_close_connection
)
fields_of_providers = variation(
    "fields-of-providers",
    "Answers, chunks and choices have fields of their own.",
    answer=_add_own_fields,
    chunk=_add_own_fields,
    applies_to=has_own_ids,
)
images_counted_as_one = variation(
    "images-counted-as-one",
    "Each image and sound counts one token.",
    answer=_count_one_token,
    chunk=_count_one_token,
    applies_to=takes("image"),
)
unused_fields_missing = variation(
    "unused-fields-missing",
    "Messages lack the fields that are null.",
    answer=_drop_nulls,
    applies_to=has_parameters("kv_transfer_params"),
)
model_after_a_journey = model_after(
    "model-after-a-journey",
    "The model answers after a conversation about a journey.",
    "Where is the station?",
    "It is behind the market, next to the river.",
)
