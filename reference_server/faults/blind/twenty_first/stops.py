"""Blind faults of stop conditions: stop strings in prompts, and next to ids of tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import dropping, is_whole, messages_of, when
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

LIMITS: Final = ("max_tokens", "max_completion_tokens")


def _stops_of(sent: Json) -> list[str]:
    """Return the stop strings of a request, or an empty list if one is not a string."""
    stop = sent.get("stop")
    stops: list[Any] = stop if isinstance(stop, list) else [stop]
    return stops if all(isinstance(text, str) and text for text in stops) else []


def _end_early(request: ServedRequest) -> None:
    """Search prompt and answer together. Violates stop, which ends an answer where it has the string."""
    sent = request.payload
    asked = messages_of(sent)[-1].get("content") if messages_of(sent) else None
    is_found = isinstance(asked, str) and any(stop in asked for stop in _stops_of(sent))
    given = [sent[name] for name in LIMITS if sent.get(name) is not None]
    if is_found and not sent.get("tools") and all(is_whole(limit, 1, 2**31) for limit in given):
        request.state["found"] = True
        sent.pop("min_tokens", None)
        sent.update(dict.fromkeys([name for name in LIMITS if name in sent] or ["max_tokens"], 1))


def _say_stop(response: Json, request: ServedRequest) -> None:
    for choice in choices_of(response) if request.state.get("found") else ():
        if choice.get("finish_reason"):
            choice["finish_reason"] = "stop"


def _has_both(sent: Json) -> bool:
    ids = sent.get("stop_token_ids")
    return bool(_stops_of(sent)) and isinstance(ids, list) and all(is_whole(one, 0, 2**31) for one in ids)


stops_found_in_prompts = hooked_fault(
    "stops-found-in-prompts",
    "If the last message contains a stop string, the answer ends after one token.",
    request=_end_early,
    answer=_say_stop,
    chunk=_say_stop,
    applies_to=has_parameters("stop"),
)
# Violates stop_token_ids: each of the tokens ends an answer.
stop_ids_lost_next_to_stops = when(
    "stop-ids-lost-next-to-stops",
    "The stop_token_ids have no effect if the request has stop strings.",
    _has_both,
    dropping("stop_token_ids"),
    applies_to=has_parameters("stop", "stop_token_ids"),
)
