"""Variations of answers: their JSON, headers and fields, other models, and the messages of refusals."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.body_recipes import editing_messages
from reference_server.faults.blind.other_models import model_after
from reference_server.faults.blind.validity import has_own_ids
from reference_server.faults.decorators import variation

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

COOKIE: Final = "route=3f2a91; Path=/; Secure; HttpOnly; SameSite=None"
TIMINGS: Final = 'queue;dur=1.2, prefill;dur=14.8;desc="prompt", decode;dur=212'
PRICE: Final = 0.000_002_5  # of a token


def _set_cookie(head: ResponseHead, _request: ServedRequest) -> None:
    head.headers["set-cookie"] = COOKIE


def _state_timings(head: ResponseHead, _request: ServedRequest) -> None:
    head.headers |= {"server-timing": TIMINGS, "vary": "Accept-Encoding, Origin", "alt-svc": 'h3=":443"; ma=86400'}


def _add_costs(response: Json, _request: ServedRequest) -> None:
    usage = response.get("usage")
    if isinstance(usage, dict) and isinstance(usage.get("total_tokens"), int):
        usage["cost"] = usage["total_tokens"] * PRICE
        usage["cost_details"] = {"upstream_inference_cost": None, "currency": "USD"}


def _state_character_set(head: ResponseHead, _request: ServedRequest) -> None:
    if head.headers.get("content-type") == "application/json":
        head.headers["content-type"] = "application/json; charset=UTF-8"


def _name_session(response: Json, _request: ServedRequest) -> None:
    if isinstance(response.get("id"), str):
        number = int(sha256(response["id"].encode()).hexdigest()[:15], 16)
        response["id"] = f"gen-{number}-{number % 97}.{number % 89}"


cookies_set = variation("cookies-set", "Responses set a cookie of a load balancer.", head=_set_cookie)
timings_in_headers = variation(
    "timings-in-headers", "Headers state timings, another protocol, and what a cache must compare.", head=_state_timings
)
costs_stated = variation(
    "costs-stated",
    "The usage states what the answer costs.",
    answer=_add_costs,
    chunk=_add_costs,
    applies_to=has_own_ids,
)
character_sets_stated = variation(
    "character-sets-stated", "The media type of plain answers and refusals states UTF-8.", head=_state_character_set
)
ids_of_generations = variation(
    "ids-of-generations",
    "Ids of answers begin with `gen-` and contain numbers and a point.",
    answer=_name_session,
    chunk=_name_session,
    applies_to=has_own_ids,
)
refusals_in_several_lines = variation(
    "refusals-in-several-lines",
    "Messages of refusals have several lines.",
    refusal=editing_messages(lambda message: f"1 validation error for ChatRequest\n\n  * {message}\n"),
)
model_after_a_quarrel = model_after(
    "model-after-a-quarrel",
    "The model answers after a conversation about a quarrel.",
    "You are wrong!",
    "I am sorry, you are right. Thank you for telling me.",
)
model_after_a_list = model_after(
    "model-after-a-list",
    "The model answers after a conversation about a list.",
    "Make a list of fruit.",
    "- apples\n- pears\n- plums",
    "Add one more.",
    "- cherries",
)
model_after_a_journal = model_after(
    "model-after-a-journal",
    "The model answers after a conversation about the weather and the time.",
    "Today it rained, and I was at home at 7 pm.",
    "A quiet evening. Did you read a book?",
)
