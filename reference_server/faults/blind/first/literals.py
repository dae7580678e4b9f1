"""Blind faults of strings that have to be read literally: stop strings, names of models, markup in messages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import messages_of, when

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest

MARK = "</think>"


def _stops(sent: Json) -> list[str]:
    stop = sent.get("stop")
    stops = [stop] if isinstance(stop, str) else stop
    valid = isinstance(stops, list) and all(isinstance(text, str) and text for text in stops)
    return stops if valid and isinstance(stops, list) else []


def _missing(name: str, line: str, is_missed: Callable[[str], bool]) -> Fault:
    """Make a fault that ignores some stop strings."""

    def change(request: ServedRequest) -> None:
        kept = [text for text in _stops(request.payload) if not is_missed(text)]
        if kept:
            request.payload["stop"] = kept
        else:
            del request.payload["stop"]

    return when(name, line, lambda sent: any(map(is_missed, _stops(sent))), change)


def _is_no_pattern(text: str) -> bool:
    try:
        return re.fullmatch(text, text) is None
    except re.error:
        return True


def _model_fault(name: str, line: str, is_taken: Callable[[str, str], bool]) -> Fault:
    def change(request: ServedRequest) -> None:
        model = request.payload.get("model")
        if isinstance(model, str) and is_taken(model, request.contract.default_model):
            request.payload["model"] = request.contract.default_model

    return when(name, line, lambda sent: "model" in sent, change)


def _cut_at_marks(request: ServedRequest) -> None:
    for message in messages_of(request.payload):
        if isinstance(message.get("content"), str):
            message["content"] = message["content"].rpartition(MARK)[2]


stops_are_patterns = _missing(
    "stops-are-patterns",
    "Stop strings are regular expressions, so that strings with special characters never match.",
    _is_no_pattern,
)
blank_stops_missed = _missing(
    "blank-stops-missed", "Stop strings of spaces or line ends are ignored.", lambda text: not text.strip()
)
foreign_stops_missed = _missing(
    "foreign-stops-missed", "Stop strings with non-ASCII characters are ignored.", lambda text: not text.isascii()
)
models_in_any_case = _model_fault(
    "models-in-any-case",
    "The name of the model is compared without regard to case.",
    lambda model, own: model.lower() == own.lower(),
)
models_by_their_last_part = _model_fault(
    "models-by-their-last-part",
    "Of the name of the model only the part after the last slash is compared.",
    lambda model, own: model.rpartition("/")[2] == own.rpartition("/")[2],
)
marks_in_messages_cut = when(
    "marks-in-messages-cut",
    "The text of a message in front of a literal `</think>` is dropped.",
    lambda sent: any(MARK in str(message.get("content")) for message in messages_of(sent)),
    _cut_at_marks,
)
