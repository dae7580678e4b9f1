"""Stop texts that leak, are ignored, or take too much with them."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.faults.decorators import around, at_seams, demands, fault, knows, sampled
from reference_server.faults.fault_middleware import Faulty
from reference_server.faults.hooks import Seams

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import Json, Told


def _stop_of(told: Told) -> str:
    stop = told.sent.get("stop")
    if isinstance(stop, list) and stop:
        stop = stop[0]
    return stop if isinstance(stop, str) else ""


def _without(name: str) -> object:
    def edit(told: Told) -> None:
        told.sent.pop(name, None)

    return edit


stop_ignored = at_seams("stop-ignored", "`stop` is ignored.", request=_without("stop"), bugs=[63])
include_stop_ignored = at_seams(
    "include-stop-ignored", "include_stop_str_in_output is ignored.", request=_without("include_stop_str_in_output"),
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


newer_limit_ignored = at_seams(
    "newer-limit-ignored", "`max_completion_tokens` is taken and ignored.", request=_without("max_completion_tokens"),
    fits=knows("max_completion_tokens"), bugs=[128],
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
