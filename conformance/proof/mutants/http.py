"""HTTP around the endpoint, broken."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.mutants.editing import edit_answer, with_header, with_status
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("http.unknown-path-is-404")
def unknown_path_is_found(exchange: Exchange) -> Exchange:
    """A path that does not exist is answered with 200."""
    return with_status(exchange, 200)


@mutant("http.get-refused")
def get_is_answered(exchange: Exchange) -> Exchange:
    """GET on the chat endpoint is answered with 200."""
    return with_status(exchange, 200)


@mutant("http.allow-header")
def allow_is_absent(exchange: Exchange) -> Exchange:
    """A 405 has no Allow header."""
    return with_header(exchange, "allow", None)


@mutant("http.models-listed")
def model_is_not_listed(exchange: Exchange) -> Exchange:
    """The list of models is empty."""
    return edit_answer(exchange, lambda body: body.update(data=[]))


@mutant("http.answers-differ-in-id", steps="plain*")
def answers_share_an_id(exchange: Exchange) -> Exchange:
    """Every answer has the same id."""
    return edit_answer(exchange, lambda answer: answer.update(id="chatcmpl-1"))
