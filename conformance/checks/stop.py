"""Stop texts: the answer ends where one starts, and what is left out is left out whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NoOccasion, NotObserved, relation
from conformance.occasion import unsuccessful

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

ASTRAY = "greedy answers of this server do not repeat"


def _stop_of(exchange: Exchange) -> str:
    sent: Any = exchange.request_json
    stop = sent.get("stop") if isinstance(sent, dict) else None
    if not isinstance(stop, str):
        raise NotObserved("the request has no stop text")
    return stop


def _up_to(whole: str, stop: str, *, included: bool) -> str:
    """The text as far as the stop text, or with it."""
    return whole[: whole.find(stop) + (len(stop) if included else 0)]


def _repeats(whole: str, text: str, expected: str) -> bool:
    """Whether a stopped answer goes the way of the unstopped one, so that a difference is the stop text's doing."""
    return whole.startswith(text) or text.startswith(expected)


def _left_out(exchange: Exchange, context: Context) -> bool:
    return not (exchange.is_stream and context.contract.stream.stop_text == "included")


@relation("stop.not-in-output", over=("baseline", "stopped"), lacks=unsuccessful)
def stop_text_is_left_out(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A stop text is not part of the answer unless the request asks for it."""
    stopped = exchanges["stopped"]
    stop, text = _stop_of(stopped), stopped.content() or ""
    if stop in text:
        yield Finding("/choices/0/message/content", f"no {stop!r}", repr(text)[:200])


@relation("stop.cut-where-it-starts", over=("baseline", "stopped", "stopped-streamed"), lacks=unsuccessful)
def answer_is_cut_where_the_stop_text_starts(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """The stopped answer is the unstopped one up to the stop text: nothing of it leaks, nothing before it is lost.

    The stop text is cut out of the middle of the unstopped greedy answer, so it begins and ends within tokens.
    """
    whole = exchanges["baseline"].content() or ""
    faults: list[Finding] = []
    astray: list[Finding] = []
    for name in ("stopped", "stopped-streamed"):
        stop, text = _stop_of(exchanges[name]), exchanges[name].content() or ""
        expected = _up_to(whole, stop, included=not _left_out(exchanges[name], context))
        if text != expected:
            fault = Finding(f"/{name}/choices/0/message/content", repr(expected)[:200], repr(text)[:200])
            (faults if _repeats(whole, text, expected) else astray).append(fault)
    if astray and not faults:
        raise NoOccasion(ASTRAY)
    yield from faults


@relation("stop.included-on-request", over=("baseline", "included"), lacks=unsuccessful)
def stop_text_is_included_on_request(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """With include_stop_str_in_output the answer ends with the stop text."""
    yield from _ends_with_the_stop_text(exchanges["baseline"], exchanges["included"])


@relation("stop.included-when-streaming", over=("baseline", "stopped-streamed"), lacks=unsuccessful)
def stop_text_is_included_when_streaming(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A streamed answer ends with the stop text by default, as this dialect documents."""
    yield from _ends_with_the_stop_text(exchanges["baseline"], exchanges["stopped-streamed"])


def _ends_with_the_stop_text(baseline: Exchange, stopped: Exchange) -> Iterator[Finding]:
    stop, text, whole = _stop_of(stopped), stopped.content() or "", baseline.content() or ""
    if not text.endswith(stop):
        if not _repeats(whole, text, _up_to(whole, stop, included=False)):
            raise NoOccasion(ASTRAY)
        yield Finding("/choices/0/message/content", f"a text that ends with {stop!r}", repr(text)[-200:])
