"""Mutants of concurrent requests."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.exchange import Segment
from conformance.proof.editing.answers import add_tokens, edit_answer, edit_text
from conformance.proof.editing.responses import accept, cut, refuse, response_of
from conformance.proof.editing.streams import edit_chunks
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("parallel.all-answered")
def one_of_several_is_dropped(exchange: Exchange) -> Exchange:
    """One of several concurrent answers breaks off."""
    return cut(exchange)


@mutant("parallel.no-crosstalk")
def answers_are_mixed(exchange: Exchange) -> Exchange:
    """An answer ends with the word of another request."""
    other = "Quenvarlo" if exchange.step != "canary-1" else "Brisduntek"
    return edit_text(exchange, lambda text: f"{text} {other}")


@mutant("parallel.own-word-said")
def answer_is_another_s(exchange: Exchange) -> Exchange:
    """An answer is about something else."""
    if exchange.is_stream:
        return edit_chunks(exchange, lambda chunk: [choice["delta"].update(content="!") for choice in chunk["choices"]])
    return edit_text(exchange, lambda _: "Good day.")


@mutant("parallel.ids-differ", steps="*")
def answers_at_the_same_time_share_an_id(exchange: Exchange) -> Exchange:
    """Concurrent answers have the same id."""
    if exchange.is_stream:
        return edit_chunks(exchange, lambda chunk: chunk.update(id="chatcmpl-1"))
    return edit_answer(exchange, lambda answer: answer.update(id="chatcmpl-1"))


@mutant("parallel.prompts-counted-apart", steps="canary-4")
def counts_are_mixed(exchange: Exchange) -> Exchange:
    """The tokens of two prompts are added up."""
    return add_tokens(exchange, prompt=7)


@mutant("parallel.served-together", steps="*")
def clients_wait_for_each_other(exchange: Exchange) -> Exchange:
    """A request is processed only after the previous one is complete."""
    at_s = 10.0 * int(exchange.step[-1])
    response = replace(
        response_of(exchange), segments=(Segment(at_s, exchange.body),), headers_at_s=at_s, ended_at_s=at_s + 1
    )
    return replace(exchange, response=response)


@mutant("parallel.models-reached", steps="models-meanwhile")
def list_of_models_fails_beside_chat_requests(exchange: Exchange) -> Exchange:
    """The list of models gets a 503 while chat requests are processed."""
    return refuse(exchange, 503)


@mutant("parallel.refusals-hurt-nobody")
def good_request_breaks_beside_bad_ones(exchange: Exchange) -> Exchange:
    """A valid request gets a 500 while invalid ones are refused."""
    return refuse(exchange, 500)


@mutant("parallel.bad-ones-refused")
def bad_request_is_answered_beside_good_ones(exchange: Exchange) -> Exchange:
    """An invalid request is answered while valid ones are."""
    return accept(exchange)


@mutant("parallel.crowd-as-alone", steps="*-crowd-*")
def crowd_confuses_answers(exchange: Exchange) -> Exchange:
    """Answers in a crowd begin with the words of another one."""
    return exchange if exchange.is_stream else edit_text(exchange, lambda text: f"#1: {text}")


@mutant("parallel.crowd-counted-as-alone", steps="*-crowd-1")
def crowd_is_miscounted(exchange: Exchange) -> Exchange:
    """Tokens of another request are counted in a crowd."""
    return add_tokens(exchange, prompt=3)


@mutant("parallel.crowd-ids-differ", steps="*-crowd-*")
def crowd_shares_an_id(exchange: Exchange) -> Exchange:
    """Answers in a crowd have the same id."""
    return answers_at_the_same_time_share_an_id.change(exchange)


@mutant("parallel.equal-requests-drawn-apart", steps="equal-crowd-*")
def equal_requests_share_an_answer(exchange: Exchange) -> Exchange:
    """Equal requests at the same time get one answer."""
    return edit_text(exchange, lambda _: "Once upon a time there was one answer for all.")
