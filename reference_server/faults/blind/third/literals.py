"""Blind faults of strings that have to be read literally: stop strings and the text of messages."""

from __future__ import annotations

import html
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import messages_of, when
from reference_server.faults.decorators import sampling_fault

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest

ENDS_OF_WORDS: Final = " .,:;!?\n"
MARKS: Final = frozenset("<>&\"'")


@sampling_fault("stops-leave-all-but-the-last")
def stops_leave_all_but_the_last(params: SamplingParams) -> SamplingParams:
    """The last character of a longer stop string is ignored, and the others stay in the text."""
    if not any(len(text) > 1 for text in params.stop) or params.include_stop_str_in_output:
        return params
    stop = tuple(dict.fromkeys(text[:-1] if len(text) > 1 else text for text in params.stop))
    return replace(params, stop=stop, include_stop_str_in_output=True)


@sampling_fault("stops-within-words-missed")
def stops_within_words_are_missed(params: SamplingParams) -> SamplingParams:
    """A stop string that ends with a letter or digit only matches at the end of a word."""
    return replace(params, stop=tuple(dict.fromkeys(_at_ends_of_words(params.stop)))) if params.stop else params


def _at_ends_of_words(stop: tuple[str, ...]) -> Iterator[str]:
    for text in stop:
        if text[-1].isalnum():
            yield from (text + end for end in ENDS_OF_WORDS)
        else:
            yield text


def _stops(sent: Json) -> list[str]:
    stop = sent.get("stop")
    stops = [stop] if isinstance(stop, str) else stop
    return stops if isinstance(stops, list) and all(isinstance(text, str) for text in stops) else []


def _spans_tokens(text: str) -> bool:
    return len(text.split()) > 1


def _streams_to_long_stops(sent: Json) -> bool:
    return sent.get("stream") is True and any(map(_spans_tokens, _stops(sent)))


def _miss_long_stops(request: ServedRequest) -> None:
    kept = [text for text in _stops(request.payload) if not _spans_tokens(text)]
    if kept:
        request.payload["stop"] = kept
    else:
        del request.payload["stop"]


def _is_marked(content: Any) -> bool:
    return isinstance(content, str) and bool(MARKS.intersection(content))


def _escape(request: ServedRequest) -> None:
    for message in messages_of(request.payload):
        if _is_marked(message.get("content")):
            message["content"] = html.escape(message["content"])


def _is_parts(content: Any) -> bool:
    parts = content if isinstance(content, list) else []
    return bool(parts) and all(isinstance(part, dict) and part.get("type") == "text" for part in parts)


def _as_python(request: ServedRequest) -> None:
    for message in messages_of(request.payload):
        if _is_parts(message.get("content")):
            message["content"] = repr(message["content"])


stops_across_tokens_missed_in_streams = when(
    "stops-across-tokens-missed-in-streams",
    "In streams, stop strings of several words never match.",
    _streams_to_long_stops,
    _miss_long_stops,
)
messages_escaped_for_html = when(
    "messages-escaped-for-html",
    "The characters `<`, `>`, `&` and quotes in messages are escaped for HTML before the model reads them.",
    lambda sent: any(_is_marked(message.get("content")) for message in messages_of(sent)),
    _escape,
)
parts_read_as_python = when(
    "parts-read-as-python",
    "If the content of a message is a list of parts, the model reads the list as Python writes it.",
    lambda sent: any(_is_parts(message.get("content")) for message in messages_of(sent)),
    _as_python,
)
