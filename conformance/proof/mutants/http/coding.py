"""Mutants of answers to requests that accept compressed ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.exchange import Failure
from conformance.proof.editing.answers import edit_text
from conformance.proof.editing.responses import cut, deliver_at_once, response_of, with_header
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("http.encoding-as-asked")
def answer_has_an_unknown_coding(exchange: Exchange) -> Exchange:
    """A body has a coding that no request accepts."""
    return with_header(exchange, "content-encoding", "compress")


@mutant("http.body-decodable")
def answer_is_not_compressed(exchange: Exchange) -> Exchange:
    """A body is said to be compressed, and is not."""
    failure = Failure("coding", "the body is not valid gzip: incorrect header check")
    return replace(cut(with_header(exchange, "content-encoding", "gzip")), failure=failure)


@mutant("http.coded-as-plain", steps="plain-*e")
def compressed_answer_is_another(exchange: Exchange) -> Exchange:
    """The compressed answer lacks its end."""
    return edit_text(exchange, lambda text: text[:-1])


@mutant("http.coded-stream-in-time", steps="streamed-gzip*")
def compressed_stream_is_held_back(exchange: Exchange) -> Exchange:
    """The compressed stream arrives at once, at its end."""
    return deliver_at_once(exchange, response_of(exchange).ended_at_s)


@mutant("http.large-stream-in-time", steps="streamed-large*")
def stream_of_a_large_request_is_held_back(exchange: Exchange) -> Exchange:
    """The stream of a large request arrives at once, at its end."""
    return deliver_at_once(exchange, response_of(exchange).ended_at_s)
