"""Mutants of API key checks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.responses import accept, refuse, with_header, with_json, with_status
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("auth.key-demanded")
def missing_key_is_accepted(exchange: Exchange) -> Exchange:
    """A request without a key is answered."""
    return accept(exchange)


@mutant("auth.wrong-key-refused")
def wrong_key_is_taken(exchange: Exchange) -> Exchange:
    """A request with a wrong key is answered."""
    return accept(exchange)


@mutant("auth.refused-when-streaming")
def missing_key_breaks_the_stream(exchange: Exchange) -> Exchange:
    """A streamed request without a key ends in a 500."""
    return refuse(exchange, 500)


@mutant("auth.refusal-code")
def refusal_has_no_code(exchange: Exchange) -> Exchange:
    """The refusal of a key has no code."""
    return refuse(exchange, 401)


@mutant("auth.refused-before-validation")
def parameters_are_read_first(exchange: Exchange) -> Exchange:
    """An invalid request without a key is refused for its parameters."""
    return refuse(exchange, 422)


@mutant("auth.challenge-given")
def challenge_is_absent(exchange: Exchange) -> Exchange:
    """A 401 has no WWW-Authenticate header."""
    return with_header(with_status(exchange, 401), "www-authenticate", None)


@mutant("auth.status-is-401")
def key_is_refused_with_400(exchange: Exchange) -> Exchange:
    """A missing or wrong key is refused with 400."""
    return with_status(exchange, 400)


@mutant("auth.key-not-repeated", scenario="key-wrong*")
def wrong_key_is_repeated(exchange: Exchange) -> Exchange:
    """The refusal repeats the headers of the request."""
    return with_json(exchange, {"error": f"wrong key in {exchange.request.headers}"})


@mutant("auth.scheme-in-any-case")
def small_letters_are_refused(exchange: Exchange) -> Exchange:
    """The right key behind `bearer` is refused."""
    return refuse(exchange, 401)


@mutant("auth.whole-key-compared")
def beginning_of_a_key_is_enough(exchange: Exchange) -> Exchange:
    """A key with more characters at its end is accepted."""
    return accept(exchange)


@mutant("auth.answers-not-reused", steps="missing*")
def cached_answer_needs_no_key(exchange: Exchange) -> Exchange:
    """A request without a key gets the answer to the same request with the key."""
    return accept(exchange)
