"""Blind faults that show while several requests are running."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import crowd_fault, fail, is_number, is_whole
from reference_server.faults.decorators import choices_of, has_parameters, message_of
from reference_server.faults.hooks import CannedResponse, Hooks

if TYPE_CHECKING:
    from reference_server.faults.blind.recipes import Crowd
    from reference_server.faults.hooks import Json, ServedRequest

GREATEST_SEED: Final = 2**53
POLICY: Final = ("temperature", "top_p", "top_k", "min_p")
MANY: Final = 10
PAGE: Final = b"<html><head><title>503 Service Unavailable</title></head><body><h1>503</h1></body></html>"


def _has_seed(sent: Json) -> bool:
    return is_whole(sent.get("seed"), 0, GREATEST_SEED)


def _samples(sent: Json) -> bool:
    return not is_number(sent.get("temperature"), 0, 0)


def _seeds_lost(crowd: Crowd) -> Hooks:
    def change(request: ServedRequest) -> None:
        if _has_seed(request.payload) and any(not _has_seed(other) for other in crowd.others(request)):
            del request.payload["seed"]

    return Hooks(request=change)


def _seeds_salted(crowd: Crowd) -> Hooks:
    slots: dict[str, int] = {}

    def change(request: ServedRequest) -> None:
        seed = request.payload.get("seed")
        if _has_seed(request.payload) and any(other.get("seed") == seed for other in crowd.others(request)):
            slots["last"] = slots.get("last", -1) + 1
            request.payload["seed"] += slots["last"]

    return Hooks(request=change)


def _first_policy(crowd: Crowd) -> Hooks:
    def change(request: ServedRequest) -> None:
        first = next(iter(crowd.running.values()), {})
        if first == request.payload or not is_number(first.get("temperature"), 0, 2):
            return
        for name in POLICY:
            if name in request.contract.parameters and not isinstance(request.payload.get(name), (str, list, dict)):
                request.payload.pop(name, None)
                if name in first:
                    request.payload[name] = first[name]

    return Hooks(request=change)


def _parsers_shared(crowd: Crowd) -> Hooks:
    def note(request: ServedRequest) -> None:
        both = [request.payload, *crowd.others(request)]
        users = [sent for sent in both if sent.get("tools") and sent.get("stream") is True]
        request.state["shared"] = len(users) > 1 and request.payload in users

    def change(chunk: Json, request: ServedRequest) -> None:
        for choice in choices_of(chunk) if request.state.get("shared") else ():
            said = message_of(choice)
            for call in said.pop("tool_calls", None) or ():
                said["content"] = (said.get("content") or "") + call.get("function", {}).get("arguments", "")

    return Hooks(request=note, chunk=change)


def _forms_fail(crowd: Crowd) -> Hooks:
    def answer(request: ServedRequest) -> CannedResponse | None:
        formed = any(isinstance(other.get("response_format"), dict) for other in crowd.others(request))
        return fail(request) if formed and isinstance(request.payload.get("response_format"), dict) else None

    return Hooks(request=answer)


def _forms_lost(crowd: Crowd) -> Hooks:
    def change(request: ServedRequest) -> None:
        if crowd.size > 2 and isinstance(request.payload.get("response_format"), dict):
            del request.payload["response_format"]

    return Hooks(request=change)


def _top_k_lost(crowd: Crowd) -> Hooks:
    def change(request: ServedRequest) -> None:
        others = [other for other in crowd.others(request) if _samples(other)]
        if _samples(request.payload) and any("top_k" not in other for other in others):
            request.payload.pop("top_k", None)

    return Hooks(request=change)


def _pages(crowd: Crowd) -> Hooks:
    def answer(_request: ServedRequest) -> CannedResponse | None:
        return CannedResponse(503, PAGE, "text/html") if crowd.size > MANY else None

    return Hooks(request=answer)


def _stop_ids_shared(crowd: Crowd) -> Hooks:
    def change(request: ServedRequest) -> None:
        sent: Any = request.payload
        if sent.get("stop_token_ids") or "stop_token_ids" not in request.contract.parameters:
            return
        ids = [other.get("stop_token_ids") for other in crowd.others(request)]
        shared = next((own for own in ids if isinstance(own, list) and own), None)
        if shared is not None:
            sent["stop_token_ids"] = shared

    return Hooks(request=change)


seeds_lost_beside_others = crowd_fault(
    "seeds-lost-beside-others",
    "A seed is ignored while a request without a seed is running.",
    _seeds_lost,
)
equal_seeds_salted = crowd_fault(
    "equal-seeds-salted",
    "Requests with the same seed that run at the same time get different seeds.",
    _seeds_salted,
)
first_policy_for_all = crowd_fault(
    "first-policy-for-all",
    "Temperature, top_p and top_k are those of the first request that is running.",
    _first_policy,
)
parsers_shared_by_streams = crowd_fault(
    "parsers-shared-by-streams",
    "While two streams with tools are running, the arguments of their calls are in the content.",
    _parsers_shared,
    applies_to=has_parameters("tools"),
)
forms_fail_together = crowd_fault(
    "forms-fail-together",
    "A request with response_format gets a 500 while another one is running.",
    _forms_fail,
    applies_to=has_parameters("response_format"),
)
forms_lost_under_load = crowd_fault(
    "forms-lost-under-load",
    "While more than two requests are running, response_format is ignored.",
    _forms_lost,
    applies_to=has_parameters("response_format"),
)
top_k_lost_beside_others = crowd_fault(
    "top-k-lost-beside-others",
    "A top_k is ignored while a sampled request without top_k is running.",
    _top_k_lost,
    applies_to=has_parameters("top_k"),
)
pages_under_load = crowd_fault(
    "pages-under-load", "While more than 10 requests are running, further ones get a 503 with an HTML page.", _pages
)
stop_ids_spill_over = crowd_fault(
    "stop-ids-spill-over",
    "The stop_token_ids of a request also end other requests that are running.",
    _stop_ids_shared,
    applies_to=has_parameters("stop_token_ids"),
)
