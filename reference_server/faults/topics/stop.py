"""Faults in the handling of stop strings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.faults.decorators import around, at_seams, demands, fault, knows, said_by, sampled, spoken
from reference_server.faults.fault_middleware import Faulty
from reference_server.faults.hooks import Seams
from reference_server.faults.request_edits import ignoring

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import Json, Told


def _three_stops(told: Told) -> None:
    if isinstance(told.sent.get("stop"), list):
        told.sent["stop"] = told.sent["stop"][:3]


def _no_lists_in_streams(told: Told) -> None:
    stop = told.sent.get("stop")
    if told.sent.get("stream") is True and isinstance(stop, list) and all(isinstance(each, str) for each in stop):
        told.sent.pop("stop")


fourth_stop_ignored = at_seams(
    "fourth-stop-ignored", "Of several stop texts three are heeded.", request=_three_stops, bugs=[65]
)
stop_lists_ignored_in_streams = at_seams(
    "stop-lists-ignored-in-streams", "A list of stop texts is ignored in streams.", request=_no_lists_in_streams,
    bugs=[63],
)  # fmt: skip


def _no_stop_for_several(told: Told) -> None:
    if (told.sent.get("n") or 1) != 1:
        told.sent.pop("stop", None)


def _no_stop_with_a_form(told: Told) -> None:
    if told.sent.get("response_format"):
        told.sent.pop("stop", None)


stop_ignored_for_several = at_seams(
    "stop-ignored-for-several", "`stop` is ignored where several choices are asked for.", request=_no_stop_for_several,
    fits=knows("n"), declares=("n",), bugs=[63],
)  # fmt: skip
stop_ignored_with_a_form = at_seams(
    "stop-ignored-with-a-form", "`stop` is ignored where a response_format is given.", request=_no_stop_with_a_form,
    fits=knows("response_format"), declares=("structured_output",), bugs=[63],
)  # fmt: skip


def _stop_of(told: Told) -> str:
    stop = told.sent.get("stop")
    if isinstance(stop, list) and stop:
        stop = stop[0]
    return stop if isinstance(stop, str) else ""


stop_ignored = at_seams("stop-ignored", "`stop` is ignored.", request=ignoring("stop"), bugs=[63])
include_stop_ignored = at_seams(
    "include-stop-ignored", "include_stop_str_in_output is ignored.", request=ignoring("include_stop_str_in_output"),
    fits=demands("stop.included-on-request"),
)  # fmt: skip


@sampled("stop-cut-when-streaming", fits=demands("stop.included-when-streaming"))
def stop_is_cut_when_streaming(params: SamplingParams) -> SamplingParams:
    """A stop text is cut off streamed answers, where the dialect leaves it in."""
    return replace(params, include_stop_str_in_output=False)


@sampled("stop-text-kept", bugs=[61])
def stop_text_kept(params: SamplingParams) -> SamplingParams:
    """The stop text stays at the end of the answer."""
    return replace(params, include_stop_str_in_output=True)


@sampled("stop-at-first-character", bugs=[60])
def stop_at_first_character(params: SamplingParams) -> SamplingParams:
    """The first character of a stop text ends the answer."""
    return replace(params, stop=tuple(each[0] for each in params.stop))


@sampled("first-stop-only", bugs=[65])
def first_stop_only(params: SamplingParams) -> SamplingParams:
    """Of several stop texts only the first one ends an answer."""
    return replace(params, stop=params.stop[:1])


@sampled("stop-stripped")
def stop_is_stripped(params: SamplingParams) -> SamplingParams:
    """Stop texts lose the white space around them."""
    return replace(params, stop=tuple(each.strip() or each for each in params.stop))


@fault("stop-leaks-first-character", "chunk", bugs=[58])
def stop_leaks_first_character(chunk: Json, told: Told) -> None:
    """The first character of a stop text is streamed before the rest is known."""
    for choice in chunk["choices"]:
        if choice["finish_reason"] == "stop" and _stop_of(told) and not told.memory.get("leaked"):
            told.memory["leaked"] = True
            choice["delta"]["content"] = (choice["delta"].get("content") or "") + _stop_of(told)[0]


@fault("stop-loses-text", "answer", bugs=[60])
def stop_loses_text(answer: Json, told: Told) -> None:
    """The last word before a stop text is lost with it."""
    for choice in answer["choices"]:
        if choice["finish_reason"] == "stop" and _stop_of(told):
            choice["message"]["content"] = (choice["message"]["content"] or "")[:-2]


@fault("stop-reason-length", "answer", bugs=[63])
def stop_reason_length(answer: Json, told: Told) -> None:
    """What a stop text ended ends with length."""
    for choice in answer["choices"]:
        if choice["finish_reason"] == "stop" and _stop_of(told):
            choice["finish_reason"] = "length"


@fault("held-back-text-lost", "event", bugs=[58])
def held_back_text_lost(frame: bytes, told: Told) -> Iterator[bytes]:
    """Text that was held back for a possible stop text is lost when the stream ends."""
    if _stop_of(told) and b'"finish_reason":"' in frame:
        told.memory.pop("held", None)
    if (held := told.memory.pop("held", None)) is not None:
        yield held
    if _stop_of(told) and b'"finish_reason":null' in frame:
        told.memory["held"] = frame
    else:
        yield frame


def _begun(text: str, stop: str) -> int:
    """How many characters at the end of a text may be the beginning of a stop text."""
    return next((size for size in range(min(len(text), len(stop)), 0, -1) if text.endswith(stop[:size])), 0)


@fault("half-a-stop-lost", "chunk", bugs=[58])
def half_a_stop_lost(chunk: Json, told: Told) -> None:
    """Where an answer ends with the beginning of a stop text, what was held back for it is never sent."""
    held = told.memory.setdefault("half", {})
    for choice in chunk["choices"]:
        text = held.pop(choice["index"], "") + (choice["delta"].get("content") or "")
        size = _begun(text, _stop_of(told))
        if text:
            choice["delta"]["content"] = text[: len(text) - size]
            held[choice["index"]] = text[len(text) - size :]


def _end_at_once(told: Told) -> None:
    if len(told.sent.pop("stop_token_ids", None) or ()) > 100:  # the first token is one of so many
        told.sent["max_tokens"] = 1
        told.memory["ended"] = True


def _ended_by_a_token(answer: Json, told: Told) -> None:
    for choice in answer["choices"] if told.memory.get("ended") else ():
        choice["finish_reason"] = "stop"


stop_token_kept = at_seams(
    "stop-token-kept", "A token of `stop_token_ids` that ends an answer stays in it.",
    request=_end_at_once, answer=_ended_by_a_token, fits=demands("stop.token-ids-left-out"),
)  # fmt: skip


def _drop_lists(told: Told) -> None:
    if isinstance(told.sent.get("stop"), list) and told.sent["stop"]:
        told.sent.pop("stop")


def _show_at_start(answer: Json, told: Told) -> None:
    for choice in answer["choices"]:
        if choice["finish_reason"] == "stop" and _stop_of(told) and not choice["message"].get("content"):
            choice["message"]["content"] = _stop_of(told)


stop_lists_ignored = at_seams(
    "stop-lists-ignored", "`stop` is ignored where it is a list.", request=_drop_lists, bugs=[63]
)
stop_at_start_missed = at_seams(
    "stop-at-start-missed",
    "A stop text at the very start of an answer comes through.",
    answer=_show_at_start,
    bugs=[61],
)


@sampled("stop-in-any-case", fits=demands("stop.case-matters"))
def stop_in_any_case(params: SamplingParams) -> SamplingParams:
    """A stop text ends an answer that holds it in the other case, too."""
    return replace(params, stop=(*params.stop, *(each.swapcase() for each in params.stop)))


@around("stop-remembered", fits=demands("stop.forgotten-afterwards"))
def stop_is_remembered(app: ASGIApp, contract: Contract) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """A stop text ends the answers to later requests on its connection, too, as long as they name no other."""
    known: dict[tuple[str, int], object] = {}

    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        def remember(told: Told) -> None:
            stop = told.sent.setdefault("stop", known.get(scope["client"]))
            if stop:
                known[scope["client"]] = stop

        await Faulty(app, contract, Seams(request=remember))(scope, receive, send)

    return ask


def _special(choice: Json, _told: Told) -> None:
    if choice["finish_reason"] is not None:
        spoken(choice)["content"] = (spoken(choice).get("content") or "") + "<|im_end|>"


special_tokens_leak = said_by(
    "special-tokens-leak", _special, "The special token that ends an answer stands in its text.", bugs=[64]
)


def _eaten(answer: Json, told: Told) -> None:
    if told.sent.get("stop"):
        for choice in answer["choices"]:
            choice["message"]["content"] = (choice["message"]["content"] or "")[1:]


stop_eats = at_seams("stop-eats", "A stop text eats the first character of an answer.", answer=_eaten, bugs=[60])
