"""Stop texts: the answer ends where one starts, and what is left out is left out whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NotObserved, relation
from conformance.occasion import unsuccessful

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange


def _stop_of(exchange: Exchange) -> str:
    sent: Any = exchange.request_json
    stop = sent.get("stop") if isinstance(sent, dict) else None
    if not isinstance(stop, str):
        raise NotObserved("the request has no stop text")
    return stop


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
    for name in ("stopped", "stopped-streamed"):
        stop, text = _stop_of(exchanges[name]), exchanges[name].content() or ""
        cut = whole.find(stop)
        expected = whole[: cut + (0 if _left_out(exchanges[name], context) else len(stop))]
        if text != expected:
            yield Finding(f"/{name}/choices/0/message/content", repr(expected)[:200], repr(text)[:200])


@relation("stop.included-on-request", over=("baseline", "included"), lacks=unsuccessful)
def stop_text_is_included_on_request(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """With include_stop_str_in_output the answer ends with the stop text."""
    included = exchanges["included"]
    stop, text = _stop_of(included), included.content() or ""
    if not text.endswith(stop):
        yield Finding("/choices/0/message/content", f"a text that ends with {stop!r}", repr(text)[-200:])


@relation("stop.included-when-streaming", over=("baseline", "stopped-streamed"), lacks=unsuccessful)
def stop_text_is_included_when_streaming(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A streamed answer ends with the stop text by default, as this dialect documents."""
    streamed = exchanges["stopped-streamed"]
    stop, text = _stop_of(streamed), streamed.content() or ""
    if not text.endswith(stop):
        yield Finding("/choices/0/delta/content", f"a text that ends with {stop!r}", repr(text)[-200:])
