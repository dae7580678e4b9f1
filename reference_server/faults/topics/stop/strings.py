"""Faults in the handling of stop strings."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Final

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


LONG: Final = 32
"""Characters of a stop string that a server may compare at most."""


def _keep_three_stops(request: ServedRequest) -> None:
    if isinstance(request.payload.get("stop"), list):
        request.payload["stop"] = request.payload["stop"][:3]


def _drop_lists_in_streams(request: ServedRequest) -> None:
    stop = request.payload.get("stop")
    if request.payload.get("stream") is True and isinstance(stop, list) and all(isinstance(item, str) for item in stop):
        request.payload.pop("stop")


def _drop_long_ones(request: ServedRequest) -> None:
    stop = request.payload.get("stop")
    if isinstance(stop, str) and len(stop) > LONG:
        request.payload.pop("stop")


long_stops_ignored = hooked_fault(
    "long-stops-ignored",
    "A stop string of more than 32 characters is ignored.",
    request=_drop_long_ones,
)
fourth_stop_ignored = hooked_fault(
    "fourth-stop-ignored",
    "Only the first three of several stop strings are used.",
    request=_keep_three_stops,
    bugs=[65],
)
stop_lists_ignored_in_streams = hooked_fault(
    "stop-lists-ignored-in-streams",
    "A list of stop strings is ignored in streams.",
    request=_drop_lists_in_streams,
    bugs=[63],
)


def _drop_stop_for_several(request: ServedRequest) -> None:
    if (request.payload.get("n") or 1) != 1:
        request.payload.pop("stop", None)


def _drop_stop_with_a_form(request: ServedRequest) -> None:
    if request.payload.get("response_format"):
        request.payload.pop("stop", None)


stop_ignored_for_several = hooked_fault(
    "stop-ignored-for-several",
    "`stop` is ignored if several choices are requested.",
    request=_drop_stop_for_several,
    applies_to=has_parameters("n"),
    declares=("n",),
    bugs=[63],
)
stop_ignored_with_a_form = hooked_fault(
    "stop-ignored-with-a-form",
    "`stop` is ignored if there is a response_format.",
    request=_drop_stop_with_a_form,
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
    """A stop string is removed from streamed answers, where the dialect keeps it."""
    return replace(params, include_stop_str_in_output=False)


@sampling_fault("stop-text-kept", bugs=[61])
def stop_text_kept(params: SamplingParams) -> SamplingParams:
    """The stop string remains at the end of the answer."""
    return replace(params, include_stop_str_in_output=True)


@sampling_fault("stop-at-first-character", bugs=[60])
def stop_at_first_character(params: SamplingParams) -> SamplingParams:
    """The first character of a stop string ends the answer."""
    return replace(params, stop=tuple(stop[0] for stop in params.stop))


@sampling_fault("first-stop-only", bugs=[65])
def first_stop_only(params: SamplingParams) -> SamplingParams:
    """Only the first of several stop strings ends an answer."""
    return replace(params, stop=params.stop[:1])


@sampling_fault("stop-stripped")
def stop_is_stripped(params: SamplingParams) -> SamplingParams:
    """White space around stop strings is removed."""
    return replace(params, stop=tuple(stop.strip() or stop for stop in params.stop))


@fault("stop-leaks-first-character", "chunk", bugs=[58])
def stop_leaks_first_character(chunk: Json, request: ServedRequest) -> None:
    """The first character of a stop string is streamed before the rest is known."""
    for choice in chunk["choices"]:
        if choice["finish_reason"] == "stop" and _stop_of(request) and not request.state.get("leaked"):
            request.state["leaked"] = True
            choice["delta"]["content"] = (choice["delta"].get("content") or "") + _stop_of(request)[0]


@fault("stop-loses-text", "answer", bugs=[60])
def stop_loses_text(answer: Json, request: ServedRequest) -> None:
    """The last word before a stop string is removed with it."""
    for choice in answer["choices"]:
        if choice["finish_reason"] == "stop" and _stop_of(request):
            choice["message"]["content"] = (choice["message"]["content"] or "")[:-2]


@fault("stop-reason-length", "answer", bugs=[63])
def stop_reason_length(answer: Json, request: ServedRequest) -> None:
    """An answer that ends at a stop string has the finish_reason length."""
    for choice in answer["choices"]:
        if choice["finish_reason"] == "stop" and _stop_of(request):
            choice["finish_reason"] = "length"


@fault("held-back-text-lost", "event", bugs=[58])
def held_back_text_lost(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Text buffered for a possible stop string is lost at the end of the stream."""
    if _stop_of(request) and b'"finish_reason":"' in frame:
        request.state.pop("held", None)
    if (held := request.state.pop("held", None)) is not None:
        yield held
    if _stop_of(request) and b'"finish_reason":null' in frame:
        request.state["held"] = frame
    else:
        yield frame


def _overlap(text: str, stop: str) -> int:
    """Return how many characters at the end of a string could be the start of a stop string."""
    return next((size for size in range(min(len(text), len(stop)), 0, -1) if text.endswith(stop[:size])), 0)


@fault("half-a-stop-lost", "chunk", bugs=[58])
def half_a_stop_lost(chunk: Json, request: ServedRequest) -> None:
    """If an answer ends with the start of a stop string, the text buffered for it is not sent."""
    held = request.state.setdefault("half", {})
    for choice in chunk["choices"]:
        text = held.pop(choice["index"], "") + (choice["delta"].get("content") or "")
        size = _overlap(text, _stop_of(request))
        if text:
            choice["delta"]["content"] = text[: len(text) - size]
            held[choice["index"]] = text[len(text) - size :]


def _stop_at_first_token(request: ServedRequest) -> None:
    if (
        len(request.payload.pop("stop_token_ids", None) or ()) > 100
    ):  # then the first token is almost surely one of them
        request.payload["max_tokens"] = 1
        request.state["ended"] = True


def _report_stop(answer: Json, request: ServedRequest) -> None:
    for choice in answer["choices"] if request.state.get("ended") else ():
        choice["finish_reason"] = "stop"


stop_token_kept = hooked_fault(
    "stop-token-kept",
    "A token of `stop_token_ids` that ends an answer remains in it.",
    request=_stop_at_first_token,
    answer=_report_stop,
    applies_to=requires_check("stop.token-ids-left-out"),
)


def _drop_lists(request: ServedRequest) -> None:
    if isinstance(request.payload.get("stop"), list) and request.payload["stop"]:
        request.payload.pop("stop")


def _restore_stop_at_start(answer: Json, request: ServedRequest) -> None:
    for choice in answer["choices"]:
        if choice["finish_reason"] == "stop" and _stop_of(request) and not choice["message"].get("content"):
            choice["message"]["content"] = _stop_of(request)


stop_lists_ignored = hooked_fault(
    "stop-lists-ignored", "`stop` is ignored if it is a list.", request=_drop_lists, bugs=[63]
)
stop_at_start_missed = hooked_fault(
    "stop-at-start-missed",
    "A stop string at the start of an answer is not removed.",
    answer=_restore_stop_at_start,
    bugs=[61],
)


@sampling_fault("stop-in-any-case", applies_to=requires_check("stop.case-matters"))
def stop_in_any_case(params: SamplingParams) -> SamplingParams:
    """Stop strings are matched without regard to case."""
    return replace(params, stop=(*params.stop, *(stop.swapcase() for stop in params.stop)))


@wrapping_fault("stop-remembered", applies_to=requires_check("stop.forgotten-afterwards"))
def stop_is_remembered(app: ASGIApp, contract: Contract) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
    """A stop string also ends the answers to later requests on the connection that have none."""
    known: dict[tuple[str, int], object] = {}

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        def remember(request: ServedRequest) -> None:
            stop = request.payload.setdefault("stop", known.get(scope["client"]))
            if stop:
                known[scope["client"]] = stop

        await FaultMiddleware(app, contract, Hooks(request=remember))(scope, receive, send)

    return serve


def _append_special_token(choice: Json, _request: ServedRequest) -> None:
    if choice["finish_reason"] is not None:
        message_of(choice)["content"] = (message_of(choice).get("content") or "") + "<|im_end|>"


special_tokens_leak = choice_fault(
    "special-tokens-leak", _append_special_token, "The end-of-sequence token appears in the text.", bugs=[64]
)


def _drop_first_character(answer: Json, request: ServedRequest) -> None:
    if request.payload.get("stop"):
        for choice in answer["choices"]:
            choice["message"]["content"] = (choice["message"]["content"] or "")[1:]


stop_eats = hooked_fault(
    "stop-eats", "A stop string removes the first character of an answer.", answer=_drop_first_character, bugs=[60]
)


def _lose_beside_logprobs(request: ServedRequest) -> None:
    if request.payload.get("logprobs"):
        request.payload.pop("stop", None)


stops_lost_beside_logprobs = hooked_fault(
    "stop-lost-beside-logprobs",
    "Stop strings are ignored if there are logprobs.",
    request=_lose_beside_logprobs,
    applies_to=has_parameters("stop", "logprobs"),
    bugs=[148],
)


def _search_without_stops(request: ServedRequest) -> None:
    if request.payload.get("use_beam_search") is True:
        request.payload.pop("stop", None)


stop_lost_in_searches = hooked_fault(
    "stop-lost-beside-a-beam-search",
    "Stop strings are ignored in a beam search.",
    request=_search_without_stops,
    applies_to=requires_check("choices.beams-repeat"),
)
