"""Stop texts that leak, or take too much with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import edit_text
from conformance.proof.mutants.mutant import mutant
from conformance.scenario import StopFrom

if TYPE_CHECKING:
    from conformance.exchange import Exchange


def _stop_of(exchange: Exchange) -> str:
    return str(exchange.request_json["stop"])


@mutant("stop.not-in-output")
def stop_text_leaks(exchange: Exchange) -> Exchange:
    """The answer ends with the stop text, or with the last of several."""
    stop = exchange.request_json["stop"]
    return edit_text(exchange, lambda text: text + (stop if isinstance(stop, str) else stop[-1]))


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


@mutant("stop.earliest-wins")
def first_of_the_list_wins(exchange: Exchange) -> Exchange:
    """Only the first text of the list is looked for, so the answer goes on past the last."""
    return edit_text(exchange, lambda text: text + exchange.request_json["stop"][-1])


@mutant("stop.list-heeded-in-streams", steps="beside-streamed")
def list_is_not_looked_at_in_streams(exchange: Exchange) -> Exchange:
    """Of a list of stop texts none ends a stream."""
    return edit_text(exchange, lambda text: f"{text} and so on")


@mutant("stop.listed-as-alone")
def list_is_not_looked_at(exchange: Exchange) -> Exchange:
    """A stop text in a list does not end the answer."""
    return edit_text(exchange, lambda text: text + exchange.request_json["stop"][0])


@mutant("stop.at-the-start")
def first_token_comes_through(exchange: Exchange) -> Exchange:
    """A stop text at the very start comes through, for nothing is looked for before the second token."""
    return edit_text(exchange, lambda text: text + _stop_of(exchange))


@mutant("stop.unfinished-changes-nothing")
def beginning_of_a_stop_text_ends_the_answer(exchange: Exchange) -> Exchange:
    """The answer ends where only the beginning of the stop text stands."""
    return edit_text(exchange, lambda text: text[: text.find(_stop_of(exchange)[0])])


@mutant("stop.unfinished-is-streamed")
def held_back_text_is_lost(exchange: Exchange) -> Exchange:
    """Text that was held back when the stream ended is never sent."""
    return edit_text(exchange, lambda text: text[:-1])


@mutant("stop.held-back-is-sent")
def beginning_of_a_stop_text_is_lost_at_the_end(exchange: Exchange) -> Exchange:
    """The stream lacks the four characters with which both the answer ends and the stop text begins."""
    return edit_text(exchange, lambda text: text[:-4])


@mutant("stop.included-when-streamed-too")
def stop_text_is_left_out_of_the_stream(exchange: Exchange) -> Exchange:
    """With include_stop_str_in_output a stream lacks the last character of the stop text."""
    return edit_text(exchange, lambda text: text[:-1])


@mutant("stop.token-ids-left-out")
def stop_token_is_shown(exchange: Exchange) -> Exchange:
    """The token that ended the answer stands in it."""
    return edit_text(exchange, lambda text: f"{text}Once")


@mutant("stop.no-special-tokens")
def end_marker_leaks(exchange: Exchange) -> Exchange:
    """The answer ends with the marker of its end, `<|im_end|>`."""
    return edit_text(exchange, lambda text: f"{text}<|im_end|>")


def _ended(exchange: Exchange, stop: str) -> Exchange:
    return edit_text(exchange, lambda text: text[: text.find(stop)])


@mutant("stop.forgotten-afterwards", steps="prose-again")
def stop_text_is_remembered(exchange: Exchange) -> Exchange:
    """The stop text of the request before, which the answer holds in its middle, ends the next one too."""
    text = exchange.content() or ""
    return _ended(exchange, str(StopFrom("prose", 4).cut(text)))


@mutant("stop.case-matters")
def case_does_not_matter(exchange: Exchange) -> Exchange:
    """The answer ends where the stop text stands in the other case."""
    return _ended(exchange, _stop_of(exchange).swapcase())
