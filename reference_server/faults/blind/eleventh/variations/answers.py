"""Variations of answers: their ids and headers, further fields of lists and refusals, other models, and a cache."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.answer_cache import answer_cache, key_of
from reference_server.faults.blind.gateway_recipes import models_fault
from reference_server.faults.blind.other_models import model_after
from reference_server.faults.blind.recipes import is_greedy, per_server
from reference_server.faults.blind.validity import has_own_ids
from reference_server.faults.decorators import variation
from reference_server.faults.fault_middleware import FaultMiddleware
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

POLICIES: Final = {
    "strict-transport-security": "max-age=31536000; includeSubDomains; preload",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
DEPRECATION: Final = {
    "deprecation": "@1798761600",
    "sunset": "Wed, 30 Jun 2027 23:59:59 GMT",
    "link": '<https://example.com/changes>; rel="deprecation"; type="text/html"',
}
CHALLENGE: Final = 'Bearer realm="models", error="invalid_token", error_description="The key has expired"'
FIRST_NUMBER: Final = 1_000
SUCCESS: Final = 200


def _add_policies(head: ResponseHead, _request: ServedRequest) -> None:
    head.headers |= POLICIES


def _announce(head: ResponseHead, _request: ServedRequest) -> None:
    head.headers |= DEPRECATION


def _detail_challenge(head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    if "www-authenticate" in head.headers:
        head.headers["www-authenticate"] = CHALLENGE
    return body


def _point_at_fields(_head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
    return {**body, "details": [{"loc": ["body", 0], "ctx": {"hint": None}}]} if isinstance(body, dict) else body


def _page_list(listed: Json) -> None:
    listed |= {"has_more": False, "first_id": listed["data"][0]["id"], "last_id": listed["data"][-1]["id"]}


def _count_answers() -> Hooks:
    numbers = itertools.count(FIRST_NUMBER)

    def name(response: Json, request: ServedRequest) -> None:
        if isinstance(response.get("id"), str):
            request.state.setdefault("number", next(numbers))
            response["id"] = f"cmpl-{request.state['number']}"

    return Hooks(answer=name, chunk=name)


def _is_kept(sent: Json) -> bool:
    """Whether a request has one answer, which does not name its id."""
    return is_greedy(sent) and not sent.get("request_id")


def _mark_hits() -> Hooks:
    seen: set[bytes] = set()

    def look_up(request: ServedRequest) -> None:
        if _is_kept(request.payload) and not request.payload.get("stream"):
            key = key_of(request.payload)
            request.state["mark"] = "HIT" if key in seen else "MISS"
            seen.add(key)

    def mark(head: ResponseHead, request: ServedRequest) -> None:
        if head.status == SUCCESS and "mark" in request.state:
            head.headers["x-cache"] = request.state["mark"]

    return Hooks(request=look_up, head=mark)


def _with_marks(fault: Fault) -> Fault:
    """Return a cache whose responses say whether they come from it."""
    return replace(
        fault, wrap_app=lambda app, contract: FaultMiddleware(fault.wrap_app(app, contract), contract, _mark_hits())
    )


policies_in_headers = variation("policies-in-headers", "Headers state policies for browsers.", head=_add_policies)
deprecations_announced = variation(
    "deprecations-announced", "Headers announce that the endpoint will be switched off.", head=_announce
)
challenges_in_detail = variation(
    "challenges-in-detail",
    "The challenge of a refused key has a realm, an error and a description.",
    refusal=_detail_challenge,
    applies_to=lambda contract: contract.auth == "bearer",
)
refusals_point_at_fields = variation(
    "refusals-point-at-fields",
    "Refusals have a list of details next to what the document states.",
    refusal=_point_at_fields,
)
models_on_a_page = replace(
    models_fault("models-on-a-page", "The list of models says that no further page follows.", _page_list), benign=True
)
ids_are_numbers_of_answers = per_server(
    "ids-are-numbers-of-answers",
    "Ids of answers are counted: `cmpl-1000`, `cmpl-1001` and so on.",
    _count_answers,
    applies_to=has_own_ids,
    benign=True,
    affects="answers",
)
greedy_answers_kept = _with_marks(
    answer_cache(
        "greedy-answers-kept",
        "Greedy plain answers are cached by the whole request, get a new id and a new time, and a header says so.",
        key_of,
        _is_kept,
        applies_to=lambda contract: contract.auth != "bearer",
        benign=True,
    )
)
model_after_a_meal = model_after(
    "model-after-a-meal",
    "The model answers after a conversation about a meal.",
    "What is for lunch?",
    "Bread and soup.",
)
model_after_a_riddle = model_after(
    "model-after-a-riddle",
    "The model answers after a conversation about a riddle.",
    "What is big and grey?",
    "Is it an elephant?",
    "No.",
    "Then I do not know.",
)
model_after_a_plan = model_after(
    "model-after-a-plan",
    "The model answers after a conversation about a plan.",
    "Where do we go on Sunday?",
    "We can go to the lake.",
)
