"""Mutants of how stop strings are compared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import edit_text
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("stop.patterns-are-text", steps="with-comma")
def comma_separates_stop_texts(exchange: Exchange) -> Exchange:
    """An answer ends where a part of its stop string occurs."""
    return edit_text(exchange, lambda text: text[: len(text) // 2])


@mutant("stop.marks-end-the-answer", steps="at-a-mark-streamed")
def marks_match_nothing(exchange: Exchange) -> Exchange:
    """A stop string with characters that have a meaning in patterns is not found."""
    return edit_text(exchange, lambda text: f"{text}{exchange.request_json['stop']} and so on")


@mutant("stop.line-ends-end-the-answer", steps="at-a-line-end-streamed")
def line_ends_match_nothing(exchange: Exchange) -> Exchange:
    """A stop string of a line end is not found."""
    return edit_text(exchange, lambda text: f"{text}{exchange.request_json['stop']}and so on")


@mutant("stop.blanks-end-the-answer", steps="at-a-blank")
def blanks_match_nothing(exchange: Exchange) -> Exchange:
    """A stop string of a space is not found."""
    return edit_text(exchange, lambda text: f"{text}{exchange.request_json['stop']}and so on")
