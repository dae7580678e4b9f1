"""Faults in how stop strings are compared: as patterns, or after a conversion."""

from __future__ import annotations

import re
from fnmatch import translate
from typing import TYPE_CHECKING

from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest


def _stops(request: ServedRequest) -> list[str]:
    stop = request.payload.get("stop")
    stops = stop if isinstance(stop, list) else [stop]
    return [item for item in stops if isinstance(item, str)]


def _converted(name: str, convert: Callable[[str], list[str]], line: str, *, streamed: bool = True) -> Fault:
    """Make a fault that converts every stop string to others."""

    def change(request: ServedRequest) -> None:
        if streamed or not request.payload.get("stream"):
            stops = [other for stop in _stops(request) for other in convert(stop) if other]
            if stops and stops != _stops(request):
                request.payload["stop"] = stops[:4]

    return hooked_fault(name, line, request=change, applies_to=has_parameters("stop"))


def _matched(name: str, compile_stop: Callable[[str], str], line: str) -> Fault:
    """Make a fault that ends a plain answer where a stop string matches it as a pattern."""

    def cut(response: Json, request: ServedRequest) -> None:
        for choice in choices_of(response):
            message = message_of(choice)
            for stop in _stops(request):
                try:
                    found = re.search(compile_stop(stop), message.get("content") or "")
                except re.error:
                    continue
                if found is not None:
                    message["content"] = message["content"][: found.start()]
                    choice["finish_reason"] = "stop"

    return hooked_fault(name, line, answer=cut, applies_to=has_parameters("stop"))


def _missed(name: str, is_missed: Callable[[str], bool], line: str, *, bugs: tuple[int, ...] = ()) -> Fault:
    """Make a fault that never finds some stop strings."""

    def change(request: ServedRequest) -> None:
        kept = [stop for stop in _stops(request) if not is_missed(stop)]
        if kept != _stops(request):
            request.payload["stop"] = kept
            if not kept:
                del request.payload["stop"]

    return hooked_fault(name, line, request=change, applies_to=has_parameters("stop"), bugs=bugs)


def _unescape(stop: str) -> list[str]:
    try:
        return [stop.encode("latin-1", "backslashreplace").decode("unicode_escape")]
    except UnicodeDecodeError:
        return [stop]


stops_are_patterns = _matched("stop-regexes-matched", str, "Stop strings are regular expressions.")
stops_are_wildcards = _matched(
    "stops-are-wildcards",
    lambda stop: translate(stop).removesuffix(r"\Z") if set("*?") & set(stop) else re.escape(stop),
    "Stop strings are patterns of file names.",
)
stops_split = _converted(
    "stops-split-at-commas", lambda stop: stop.split(","), "A stop string with a comma is a list of stop strings."
)
stops_are_letters = _converted("stops-are-letters", lambda stop: [*stop][-4:], "Each letter of a stop string is one.")
stops_stripped = _converted(
    "stops-stripped", lambda stop: [stop.strip()], "Stop strings lose the white space at their ends."
)
stops_unescaped = _converted("stops-unescaped", _unescape, "Escape sequences in stop strings are read.")
stops_with_marks_missed = _missed(
    "stops-with-marks-missed",
    lambda stop: not set(stop).isdisjoint("()[]{}*+?"),
    "Stop strings with parentheses, brackets or other marks are never found.",
)
stops_of_blanks_missed = _missed(
    "stops-of-blanks-missed", lambda stop: not stop.strip(), "Stop strings of white space are never found."
)
long_stops_missed = _missed(
    "stops-of-many-letters-missed",
    lambda stop: len(stop) > 12,
    "Stop strings of more than 12 characters are never found.",
)
stops_of_line_ends_missed = _missed(
    "stops-of-line-feeds-missed",
    lambda stop: bool(stop) and not stop.strip("\r\n"),
    "Stop strings of line ends are never found.",
    bugs=(156,),
)
