"""Variations of answers: their JSON, ids, headers and fields, other models, and the messages of refusals."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.body_recipes import editing_messages
from reference_server.faults.blind.other_models import model_after
from reference_server.faults.blind.validity import has_own_ids
from reference_server.faults.decorators import variation

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

HEADERS: Final = {
    "access-control-allow-origin": "*",
    "access-control-expose-headers": "*",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}


def _space(body: bytes, _request: ServedRequest) -> bytes:
    return json.dumps(json.loads(body), separators=(" ,  ", "\t: ")).encode()


def _name_replica(response: Json, _request: ServedRequest) -> None:
    if isinstance(response.get("id"), str):
        response["id"] = f"eu-1/replica-3:{sha256(response['id'].encode()).hexdigest()[:24]}"


def _allow_pages(head: ResponseHead, _request: ServedRequest) -> None:
    head.headers.update(HEADERS)


def _add_tier(response: Json, _request: ServedRequest) -> None:
    response["service_tier"] = "default"
    response["provider"] = "Example Cloud"


answers_spaced = variation("answers-spaced", "White space surrounds the separators of plain answers.", plain=_space)
ids_with_replicas = variation(
    "ids-with-replicas",
    "Ids of answers contain the name of a replica, a slash and a colon.",
    answer=_name_replica,
    chunk=_name_replica,
    applies_to=has_own_ids,
)
pages_allowed = variation("pages-allowed", "Headers let the scripts of all pages read responses.", head=_allow_pages)
tiers_stated = variation(
    "tiers-stated",
    "Answers and chunks state a service tier and a provider.",
    answer=_add_tier,
    chunk=_add_tier,
    applies_to=has_own_ids,
)
refusals_name_a_class = variation(
    "refusals-name-a-class",
    "Messages of refusals begin with the name of an exception.",
    refusal=editing_messages(lambda message: f"gateway.BadRequestError: UpstreamException - {message}"),
)
model_after_a_match = model_after(
    "model-after-a-match",
    "The model answers after a conversation about a match.",
    "Who won the match yesterday?",
    "The home team won by 3 to 1.",
)
model_after_a_joke = model_after(
    "model-after-a-joke",
    "The model answers after a conversation about a joke.",
    "Tell me a joke.",
    "Why did the cat sit on the computer? To watch the mouse!",
    "Another one, please.",
    "What do you call a dog that does magic? A labracadabrador.",
)
