"""Blind faults that show while several requests are running."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import (
    crowd_fault,
    every,
    fail,
    garble,
    is_whole,
    text_length,
)
from reference_server.faults.decorators import choices_of, has_parameters, message_of
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reference_server.faults.blind.recipes import Crowd
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest

LONG_CHARACTERS = 1_200
SHORT_CHARACTERS = 300
GREATEST = 2**31 - 1


def _noise(crowd: Crowd) -> Hooks:
    def change(request: ServedRequest) -> None:
        if crowd.size > 16:
            garble(request)

    return Hooks(request=change)


def _forms_spill(crowd: Crowd) -> Hooks:
    def change(request: ServedRequest) -> None:
        sent = request.payload
        formed = any(isinstance(other.get("response_format"), dict) for other in crowd.others(request))
        if formed and "response_format" not in sent and not sent.get("tools"):
            sent["response_format"] = {"type": "json_object"}

    return Hooks(request=change)


def _last_limit(crowd: Crowd) -> Hooks:
    def change(request: ServedRequest) -> None:
        limits = [sent.get("max_tokens") for sent in crowd.running.values()]
        if is_whole(request.payload.get("max_tokens"), 1, GREATEST) and is_whole(limits[-1], 1, GREATEST):
            request.payload["max_tokens"] = limits[-1]

    return Hooks(request=change)


def _budget_shared(crowd: Crowd) -> Hooks:
    def change(request: ServedRequest) -> None:
        if "thinking_token_budget" not in request.payload and any(
            other.get("thinking_token_budget") == 0 for other in crowd.others(request)
        ):
            request.payload["thinking_token_budget"] = 0

    return Hooks(request=change)


def _tails_lost(crowd: Crowd) -> Hooks:
    def change(request: ServedRequest) -> None:
        sent = request.payload
        if crowd.size > 8 and is_whole(sent.get("max_tokens"), 4, GREATEST) and not sent.get("stream"):
            sent["max_tokens"] //= 2
            request.state["cut"] = True

    def end(answer: Json, request: ServedRequest) -> None:
        for choice in choices_of(answer) if request.state.get("cut") else ():
            choice["finish_reason"] = "stop"

    return Hooks(request=change, answer=end)


def _one_empty(crowd: Crowd) -> Hooks:
    is_due = every(4)

    def note(request: ServedRequest) -> None:
        request.state["empty"] = crowd.size >= 4 and is_due()

    def change(response: Json, request: ServedRequest) -> None:
        for choice in choices_of(response) if request.state.get("empty") else ():
            if message_of(choice).get("content"):
                message_of(choice)["content"] = ""

    return Hooks(request=note, answer=change, chunk=change)


def _doubled(crowd: Crowd) -> Hooks:
    def note(request: ServedRequest) -> None:
        request.state["full"] = crowd.size > 6

    def event(frame: bytes, request: ServedRequest) -> Iterable[bytes]:
        again = request.state.get("full") and request.event_index == 3 and b'"finish_reason":null' in frame
        return (frame, frame) if again else (frame,)

    return Hooks(request=note, event=event)


def _broken_characters(crowd: Crowd) -> Hooks:
    def note(request: ServedRequest) -> None:
        request.state["full"] = crowd.size >= 4

    def change(response: Json, request: ServedRequest) -> None:
        for choice in choices_of(response) if request.state.get("full") else ():
            said = message_of(choice)
            if isinstance(said.get("content"), str):
                said["content"] = said["content"].encode("ascii", "replace").decode().replace("?", "\ufffd")

    return Hooks(request=note, answer=change, chunk=change)


def _twins(crowd: Crowd) -> Hooks:
    def note(request: ServedRequest) -> None:
        messages = request.payload.get("messages")
        request.state["twin"] = any(other.get("messages") == messages for other in crowd.others(request))

    def halve(answer: Json, request: ServedRequest) -> None:
        for choice in choices_of(answer) if request.state.get("twin") else ():
            text = message_of(choice).get("content") or ""
            message_of(choice)["content"] = text[len(text) // 2 :]

    return Hooks(request=note, answer=halve)


def _too_many(crowd: Crowd) -> Hooks:
    def answer(request: ServedRequest) -> CannedResponse | None:
        return fail(request) if crowd.size > 12 else None

    return Hooks(request=answer)


def _endless(crowd: Crowd) -> Hooks:
    def change(request: ServedRequest) -> None:
        if crowd.size >= 10 and request.payload.get("stop"):
            del request.payload["stop"]

    return Hooks(request=change)


def _short_beside_long(crowd: Crowd) -> Hooks:
    def change(request: ServedRequest) -> None:
        longest = max(map(text_length, crowd.others(request)), default=0)
        if text_length(request.payload) < SHORT_CHARACTERS and longest > LONG_CHARACTERS:
            garble(request)

    return Hooks(request=change)


over_sixteen_is_noise = crowd_fault(
    "over-sixteen-is-noise", "While more than 16 requests are running, answers are noise.", _noise
)
forms_spill_over = crowd_fault(
    "forms-spill-over",
    "A request without response_format gets JSON while a request with one is running.",
    _forms_spill,
    applies_to=has_parameters("response_format"),
)
last_limit_counts_for_all = crowd_fault(
    "last-limit-counts-for-all", "Requests that arrive together all get the max_tokens of the last one.", _last_limit
)
budgets_shared = crowd_fault(
    "budgets-shared",
    "A thinking budget of 0 also applies to requests that are running at the same time.",
    _budget_shared,
    applies_to=has_parameters("thinking_token_budget"),
)
tails_lost_under_load = crowd_fault(
    "tails-lost-under-load",
    "While more than 8 requests run, plain answers lack their second half.",
    _tails_lost,
)
one_of_several_is_empty = crowd_fault(
    "one-of-several-is-empty", "While 4 or more requests are running, one answer in four is empty.", _one_empty
)
tokens_doubled_under_load = crowd_fault(
    "tokens-doubled-under-load", "While more than 6 requests are running, streams repeat a token.", _doubled
)
characters_break_under_load = crowd_fault(
    "characters-break-under-load",
    "While 4 or more requests are running, question marks and non-ASCII characters become U+FFFD.",
    _broken_characters,
)
twins_share_a_slot = crowd_fault(
    "twins-share-a-slot", "Two equal conversations at the same time share a slot, and each gets half an answer.", _twins
)
thirteen_at_once_fail = crowd_fault(
    "thirteen-at-once-fail", "A request gets a 500 if more than 12 are running.", _too_many
)
stops_missed_under_load = crowd_fault(
    "stops-missed-under-load", "While 10 or more requests are running, `stop` is ignored.", _endless
)
short_next_to_long_is_noise = crowd_fault(
    "short-next-to-long-is-noise",
    "The answer to a short prompt is noise while a long prompt is running.",
    _short_beside_long,
)
