"""Blind faults of strings that have to be read literally: stop strings and the text of messages."""

from __future__ import annotations

import html
import re
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import fail, messages_of, when
from reference_server.faults.decorators import choices_of, hooked_fault, message_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reference_server.faults.hooks import Json, ServedRequest

FIELD: Final = re.compile(r"\{[A-Za-z_]\w*\}")
CONTROL: Final = re.compile(r"<\|[a-z_]+\|>")


def _stops(sent: Json) -> list[str]:
    stop = sent.get("stop")
    stops = [stop] if isinstance(stop, str) else stop
    return [text for text in stops if isinstance(text, str) and text] if isinstance(stops, list) else []


def _each_stop(edit: Callable[[str], str]) -> Callable[[ServedRequest], None]:
    """Return a change of each stop string; empty ones are removed."""

    def change(request: ServedRequest) -> None:
        stops = [edited for text in _stops(request.payload) if (edited := edit(text))]
        if stops:
            request.payload["stop"] = stops
        else:
            request.payload.pop("stop", None)

    return change


def _texts(sent: Json) -> Iterator[str]:
    for message in messages_of(sent):
        if isinstance(message.get("content"), str):
            yield message["content"]


def _several_words(text: str) -> bool:
    return len(text.split()) > 1


def _end_at_control(request: ServedRequest) -> None:
    for message in messages_of(request.payload):
        if isinstance(message.get("content"), str):
            message["content"] = CONTROL.split(message["content"])[0]


def _silent_after_space(response: Json, request: ServedRequest) -> None:
    messages = messages_of(request.payload)
    last = messages[-1].get("content") if messages else None
    if isinstance(last, str) and last != last.rstrip():
        for choice in choices_of(response):
            if message_of(choice).get("content"):
                message_of(choice)["content"] = ""


escaped_stops_missed = when(
    "escaped-stops-missed",
    "Stop strings are searched in text escaped for HTML, so that those with `<`, `>`, `&` or quotes never match.",
    lambda sent: any(html.escape(text) != text for text in _stops(sent)),
    _each_stop(lambda text: text if html.escape(text) == text else ""),
)
long_stops_missed = when(
    "long-stops-missed",
    "Stop strings of several words never match, because each token is searched on its own.",
    lambda sent: any(map(_several_words, _stops(sent))),
    _each_stop(lambda text: "" if _several_words(text) else text),
)
parts_of_stops_stop = when(
    "parts-of-stops-stop",
    "The first word of a stop string of several words ends the answer.",
    lambda sent: any(map(_several_words, _stops(sent))),
    _each_stop(lambda text: text.split()[0] if _several_words(text) else text),
)
fields_in_messages_fail = when(
    "fields-in-messages-fail",
    "A message with a word in braces gets a 500, because the prompt is a format string.",
    lambda sent: any(FIELD.search(text) for text in _texts(sent)),
    fail,
)
control_tokens_in_messages_end = when(
    "control-tokens-in-messages-end",
    "The spelling of a control token in a message ends the message.",
    lambda sent: any(CONTROL.search(text) for text in _texts(sent)),
    _end_at_control,
)
trailing_spaces_silence = hooked_fault(
    "trailing-spaces-silence",
    "If the last message ends with white space, the answer is empty.",
    answer=_silent_after_space,
    chunk=_silent_after_space,
)
