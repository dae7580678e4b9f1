"""A check of text that looks like the end of an event, of a stream or of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from conformance.check import Context, Finding, NotExercised, series
from conformance.judge.acceptance import is_refused
from conformance.judge.applicability import why_unanswered
from openapi.stream.strict_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

STREAMED: Final = "-streamed"
"""The end of the name of a request for a stream; the rest is the name of the same plain request."""


@series("stream.marks-kept", scenario="marks-in-answers")
def marks_in_text_are_text(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """An answer or a call whose text contains `[DONE]`, `data:`, blank lines or quotes is the same streamed and plain.

    Where the request leaves one text only, the form that does not have it is reported. Of other answers a stream is
    reported whose text is the beginning of the plain one, or the reverse, or differs from it in white space only.
    """
    compared = False
    for name, plain in exchanges.items():
        streamed = exchanges.get(f"{name}{STREAMED}")
        if streamed is None or why_unanswered(plain) or is_refused(streamed, context.contract):
            continue
        if "length" in (plain.finish_reason(), streamed.finish_reason()):
            continue
        texts = {name: _read(plain), f"{name}{STREAMED}": _read(streamed)}
        demanded = _find_demanded(plain)
        kept = [text == demanded for text in texts.values()]
        if demanded is not None and any(kept):
            compared = True
            for step in (step for step, text in texts.items() if text != demanded):
                yield Finding(f"/{step}/choices/0/message", repr(demanded), repr(texts[step])[:200])
        elif demanded is None:
            compared = True
            first, second = texts.values()
            same_words = first.split() == second.split()
            if first != second and (first.startswith(second) or second.startswith(first) or same_words):
                yield Finding(f"/{name}{STREAMED}/choices/0/message", repr(first)[:200], repr(second)[:200])
    if not compared:
        raise NotExercised("no answer has the text")


def _read(exchange: Exchange) -> str:
    """Return the text of an answer or of the arguments of its call; of JSON in a requested form, the note in it."""
    choice = exchange.choices.get(0)
    if choice is None:
        return ""
    sent: Any = exchange.request_json
    text = choice.tool_calls[0].arguments if choice.tool_calls else choice.content
    if "response_format" not in sent:
        return text
    value = read_json(text).value
    note = value.get("note") if isinstance(value, dict) else None
    return note if isinstance(note, str) else text


def _find_demanded(exchange: Exchange) -> str | None:
    """Return the only text that a request allows; None if it does not demand one."""
    sent: Any = exchange.request_json
    if "structured_outputs" in sent:
        return str(sent["structured_outputs"]["choice"][0])
    if "response_format" in sent:
        return str(sent["response_format"]["json_schema"]["schema"]["properties"]["note"]["enum"][0])
    return None  # the arguments of a call that is not strict need not follow their schema
