"""Mutants of stop strings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import edit_text
from conformance.proof.mutants.mutant import mutant
from conformance.stop_string import StopFrom

if TYPE_CHECKING:
    from conformance.exchange import Exchange


def _stop_of(exchange: Exchange) -> str:
    return str(exchange.request_json["stop"])


@mutant("stop.not-in-output")
def stop_text_leaks(exchange: Exchange) -> Exchange:
    """The answer ends with the stop string, or with the last of several."""
    stop = exchange.request_json["stop"]
    return edit_text(exchange, lambda text: text + (stop if isinstance(stop, str) else stop[-1]))


@mutant("stop.cut-where-it-starts", steps="stopped-streamed")
def first_character_of_the_stop_text_leaks(exchange: Exchange) -> Exchange:
    """The streamed answer ends with the first character of the stop string, sent before the others were generated."""
    return edit_text(exchange, lambda text: text + _stop_of(exchange)[0])


@mutant("stop.included-on-request")
def stop_text_is_left_out(exchange: Exchange) -> Exchange:
    """With include_stop_str_in_output the stop string is left out."""
    stop: Any = exchange.request_json["stop"]
    return edit_text(exchange, lambda text: text.removesuffix(stop if isinstance(stop, str) else stop[-1]))


@mutant("stop.included-when-streaming")
def stop_text_is_cut_when_streaming(exchange: Exchange) -> Exchange:
    """A streamed answer lacks the last character of its stop string."""
    return edit_text(exchange, lambda text: text[:-1])


@mutant("stop.earliest-wins")
def first_of_the_list_wins(exchange: Exchange) -> Exchange:
    """Only the first string of the list has an effect, so the answer continues past the last."""
    return edit_text(exchange, lambda text: text + exchange.request_json["stop"][-1])


@mutant("stop.list-heeded-in-streams", steps="beside-streamed")
def list_is_not_looked_at_in_streams(exchange: Exchange) -> Exchange:
    """A list of stop strings does not end a stream."""
    return edit_text(exchange, lambda text: f"{text} and so on")


@mutant("stop.listed-as-alone")
def list_is_not_looked_at(exchange: Exchange) -> Exchange:
    """A stop string in a list does not end the answer."""
    return edit_text(exchange, lambda text: text + exchange.request_json["stop"][0])


@mutant("stop.at-the-start")
def first_token_comes_through(exchange: Exchange) -> Exchange:
    """A stop string at the very beginning is not recognized, because the search begins at the second token."""
    return edit_text(exchange, lambda text: text + _stop_of(exchange))


@mutant("stop.unfinished-changes-nothing")
def beginning_of_a_stop_text_ends_the_answer(exchange: Exchange) -> Exchange:
    """The answer ends where only the beginning of the stop string occurs."""
    return edit_text(exchange, lambda text: text[: text.find(_stop_of(exchange)[0])])


@mutant("stop.unfinished-is-streamed")
def held_back_text_is_lost(exchange: Exchange) -> Exchange:
    """Text that was held back when the stream ended is never sent."""
    return edit_text(exchange, lambda text: text[:-1])


@mutant("stop.held-back-is-sent")
def beginning_of_a_stop_text_is_lost_at_the_end(exchange: Exchange) -> Exchange:
    """The stream lacks the four characters with which the answer ends and the stop string begins."""
    return edit_text(exchange, lambda text: text[:-4])


@mutant("stop.included-when-streamed-too")
def stop_text_is_left_out_of_the_stream(exchange: Exchange) -> Exchange:
    """With include_stop_str_in_output a stream lacks the last character of the stop string."""
    return edit_text(exchange, lambda text: text[:-1])


@mutant("stop.token-ids-left-out")
def stop_token_is_shown(exchange: Exchange) -> Exchange:
    """The token that ended the answer is part of it."""
    return edit_text(exchange, lambda text: f"{text}Once")


@mutant("stop.no-special-tokens")
def end_marker_leaks(exchange: Exchange) -> Exchange:
    """The answer ends with the special token `<|eot_id|>`, which no request contains."""
    return edit_text(exchange, lambda text: f"{text}<|eot_id|>")


def _ended(exchange: Exchange, stop: str) -> Exchange:
    return edit_text(exchange, lambda text: text[: text.find(stop)])


@mutant("stop.forgotten-afterwards", steps="prose-again")
def stop_text_is_remembered(exchange: Exchange) -> Exchange:
    """The stop string of the previous request, which occurs in the middle of the answer, ends the next answer too."""
    text = exchange.content() or ""
    return _ended(exchange, str(StopFrom("prose", 4).cut(text)))


@mutant("stop.case-matters")
def case_does_not_matter(exchange: Exchange) -> Exchange:
    """The answer ends where the stop string occurs in another case."""
    return _ended(exchange, _stop_of(exchange).swapcase())
