"""Stop texts that leak, or take too much with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.mutants.editing import edit_text
from conformance.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


def _stop_of(exchange: Exchange) -> str:
    return str(exchange.request_json["stop"])


@mutant("stop.not-in-output")
def stop_text_leaks(exchange: Exchange) -> Exchange:
    """The answer ends with the stop text."""
    return edit_text(exchange, lambda text: text + _stop_of(exchange))


@mutant("stop.cut-where-it-starts", steps="stopped-streamed")
def first_character_of_the_stop_text_leaks(exchange: Exchange) -> Exchange:
    """The streamed answer ends with the first character of the stop text, sent before the rest was known."""
    return edit_text(exchange, lambda text: text + _stop_of(exchange)[0])


@mutant("stop.included-on-request")
def stop_text_is_left_out(exchange: Exchange) -> Exchange:
    """With include_stop_str_in_output the stop text is left out all the same."""
    return edit_text(exchange, lambda text: text.removesuffix(_stop_of(exchange)))


@mutant("stop.included-when-streaming")
def stop_text_is_cut_when_streaming(exchange: Exchange) -> Exchange:
    """A streamed answer lacks the last character of its stop text."""
    return edit_text(exchange, lambda text: text[:-1])
