"""Faults in the handling of stop strings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.faults.decorators import (
    choice_fault,
    fault,
    has_parameters,
    hooked_fault,
    message_of,
    requires_check,
    sampling_fault,
    wrapping_fault,
)
from reference_server.faults.fault_middleware import FaultMiddleware
from reference_server.faults.hooks import Hooks
from reference_server.faults.request_edits import ignoring

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest


def _three_stops(request: ServedRequest) -> None:
    if isinstance(request.payload.get("stop"), list):
        request.payload["stop"] = request.payload["stop"][:3]


def _no_lists_in_streams(request: ServedRequest) -> None:
    stop = request.payload.get("stop")
    if request.payload.get("stream") is True and isinstance(stop, list) and all(isinstance(each, str) for each in stop):
        request.payload.pop("stop")


fourth_stop_ignored = hooked_fault(
    "fourth-stop-ignored", "Of several stop texts three are heeded.", request=_three_stops, bugs=[65]
)
stop_lists_ignored_in_streams = hooked_fault(
    "stop-lists-ignored-in-streams",
    "A list of stop texts is ignored in streams.",
    request=_no_lists_in_streams,
    bugs=[63],
)


def _no_stop_for_several(request: ServedRequest) -> None:
    if (request.payload.get("n") or 1) != 1:
        request.payload.pop("stop", None)


def _no_stop_with_a_form(request: ServedRequest) -> None:
    if request.payload.get("response_format"):
        request.payload.pop("stop", None)


stop_ignored_for_several = hooked_fault(
    "stop-ignored-for-several",
    "`stop` is ignored where several choices are asked for.",
    request=_no_stop_for_several,
    applies_to=has_parameters("n"),
    declares=("n",),
    bugs=[63],
)
stop_ignored_with_a_form = hooked_fault(
    "stop-ignored-with-a-form",
    "`stop` is ignored where a response_format is given.",
    request=_no_stop_with_a_form,
    applies_to=has_parameters("response_format"),
    declares=("structured_output",),
    bugs=[63],
)


def _stop_of(request: ServedRequest) -> str:
    stop = request.payload.get("stop")
    if isinstance(stop, list) and stop:
        stop = stop[0]
    return stop if isinstance(stop, str) else ""


stop_ignored = hooked_fault("stop-ignored", "`stop` is ignored.", request=ignoring("stop"), bugs=[63])
include_stop_ignored = hooked_fault(
    "include-stop-ignored",
    "include_stop_str_in_output is ignored.",
    request=ignoring("include_stop_str_in_output"),
    applies_to=requires_check("stop.included-on-request"),
)


@sampling_fault("stop-cut-when-streaming", applies_to=requires_check("stop.included-when-streaming"))
def stop_is_cut_when_streaming(params: SamplingParams) -> SamplingParams:
    """A stop text is cut off streamed answers, where the dialect leaves it in."""
    return replace(params, include_stop_str_in_output=False)


@sampling_fault("stop-text-kept", bugs=[61])
def stop_text_kept(params: SamplingParams) -> SamplingParams:
    """The stop text stays at the end of the answer."""
    return replace(params, include_stop_str_in_output=True)


@sampling_fault("stop-at-first-character", bugs=[60])
def stop_at_first_character(params: SamplingParams) -> SamplingParams:
    """The first character of a stop text ends the answer."""
    return replace(params, stop=tuple(each[0] for each in params.stop))


@sampling_fault("first-stop-only", bugs=[65])
def first_stop_only(params: SamplingParams) -> SamplingParams:
    """Of several stop texts only the first one ends an answer."""
    return replace(params, stop=params.stop[:1])


@sampling_fault("stop-stripped")
def stop_is_stripped(params: SamplingParams) -> SamplingParams:
    """Stop texts lose the white space around them."""
    return replace(params, stop=tuple(each.strip() or each for each in params.stop))


@fault("stop-leaks-first-character", "chunk", bugs=[58])
def stop_leaks_first_character(chunk: Json, request: ServedRequest) -> None:
    """The first character of a stop text is streamed before the rest is known."""
    for choice in chunk["choices"]:
        if choice["finish_reason"] == "stop" and _stop_of(request) and not request.state.get("leaked"):
            request.state["leaked"] = True
            choice["delta"]["content"] = (choice["delta"].get("content") or "") + _stop_of(request)[0]


@fault("stop-loses-text", "answer", bugs=[60])
def stop_loses_text(answer: Json, request: ServedRequest) -> None:
    """The last word before a stop text is lost with it."""
    for choice in answer["choices"]:
        if choice["finish_reason"] == "stop" and _stop_of(request):
            choice["message"]["content"] = (choice["message"]["content"] or "")[:-2]


@fault("stop-reason-length", "answer", bugs=[63])
def stop_reason_length(answer: Json, request: ServedRequest) -> None:
    """What a stop text ended ends with length."""
    for choice in answer["choices"]:
        if choice["finish_reason"] == "stop" and _stop_of(request):
            choice["finish_reason"] = "length"


@fault("held-back-text-lost", "event", bugs=[58])
def held_back_text_lost(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Text that was held back for a possible stop text is lost when the stream ends."""
    if _stop_of(request) and b'"finish_reason":"' in frame:
        request.state.pop("held", None)
    if (held := request.state.pop("held", None)) is not None:
        yield held
    if _stop_of(request) and b'"finish_reason":null' in frame:
        request.state["held"] = frame
    else:
        yield frame


def _begun(text: str, stop: str) -> int:
    """How many characters at the end of a text may be the beginning of a stop text."""
    return next((size for size in range(min(len(text), len(stop)), 0, -1) if text.endswith(stop[:size])), 0)


@fault("half-a-stop-lost", "chunk", bugs=[58])
def half_a_stop_lost(chunk: Json, request: ServedRequest) -> None:
    """Where an answer ends with the beginning of a stop text, what was held back for it is never sent."""
    held = request.state.setdefault("half", {})
    for choice in chunk["choices"]:
        text = held.pop(choice["index"], "") + (choice["delta"].get("content") or "")
        size = _begun(text, _stop_of(request))
        if text:
            choice["delta"]["content"] = text[: len(text) - size]
            held[choice["index"]] = text[len(text) - size :]


def _end_at_once(request: ServedRequest) -> None:
    if len(request.payload.pop("stop_token_ids", None) or ()) > 100:  # the first token is one of so many
        request.payload["max_tokens"] = 1
        request.state["ended"] = True


def _ended_by_a_token(answer: Json, request: ServedRequest) -> None:
    for choice in answer["choices"] if request.state.get("ended") else ():
        choice["finish_reason"] = "stop"


stop_token_kept = hooked_fault(
    "stop-token-kept",
    "A token of `stop_token_ids` that ends an answer stays in it.",
    request=_end_at_once,
    answer=_ended_by_a_token,
    applies_to=requires_check("stop.token-ids-left-out"),
)


def _drop_lists(request: ServedRequest) -> None:
    if isinstance(request.payload.get("stop"), list) and request.payload["stop"]:
        request.payload.pop("stop")


def _show_at_start(answer: Json, request: ServedRequest) -> None:
    for choice in answer["choices"]:
        if choice["finish_reason"] == "stop" and _stop_of(request) and not choice["message"].get("content"):
            choice["message"]["content"] = _stop_of(request)


stop_lists_ignored = hooked_fault(
    "stop-lists-ignored", "`stop` is ignored where it is a list.", request=_drop_lists, bugs=[63]
)
stop_at_start_missed = hooked_fault(
    "stop-at-start-missed",
    "A stop text at the very start of an answer comes through.",
    answer=_show_at_start,
    bugs=[61],
)


@sampling_fault("stop-in-any-case", applies_to=requires_check("stop.case-matters"))
def stop_in_any_case(params: SamplingParams) -> SamplingParams:
    """A stop text ends an answer that holds it in the other case, too."""
    return replace(params, stop=(*params.stop, *(each.swapcase() for each in params.stop)))


@wrapping_fault("stop-remembered", applies_to=requires_check("stop.forgotten-afterwards"))
def stop_is_remembered(app: ASGIApp, contract: Contract) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """A stop text ends the answers to later requests on its connection, too, as long as they name no other."""
    known: dict[tuple[str, int], object] = {}

    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        def remember(request: ServedRequest) -> None:
            stop = request.payload.setdefault("stop", known.get(scope["client"]))
            if stop:
                known[scope["client"]] = stop

        await FaultMiddleware(app, contract, Hooks(request=remember))(scope, receive, send)

    return ask


def _special(choice: Json, _request: ServedRequest) -> None:
    if choice["finish_reason"] is not None:
        message_of(choice)["content"] = (message_of(choice).get("content") or "") + "<|im_end|>"


special_tokens_leak = choice_fault(
    "special-tokens-leak", _special, "The special token that ends an answer stands in its text.", bugs=[64]
)


def _eaten(answer: Json, request: ServedRequest) -> None:
    if request.payload.get("stop"):
        for choice in answer["choices"]:
            choice["message"]["content"] = (choice["message"]["content"] or "")[1:]


stop_eats = hooked_fault("stop-eats", "A stop text eats the first character of an answer.", answer=_eaten, bugs=[60])
