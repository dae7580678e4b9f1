"""Mutants of paths and methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.responses import accept, refuse, with_header, with_status
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


@mutant("http.other-methods-refused")
def other_methods_are_answered(exchange: Exchange) -> Exchange:
    """PUT on the chat endpoint is answered."""
    return accept(exchange)


@mutant("http.options-survived")
def options_breaks_the_server(exchange: Exchange) -> Exchange:
    """OPTIONS gets a 500."""
    return refuse(exchange, 500)


@mutant("http.head-survived")
def head_breaks_the_server(exchange: Exchange) -> Exchange:
    """HEAD gets a 500."""
    return refuse(exchange, 500)


@mutant("http.slash-keeps-method")
def slash_redirects_to_get(exchange: Exchange) -> Exchange:
    """A slash at the end of the path is redirected with 301."""
    return with_header(with_status(exchange, 301), "location", "/v1/chat/completions")


@mutant("http.query-ignored")
def query_is_refused(exchange: Exchange) -> Exchange:
    """A query parameter is refused."""
    return refuse(exchange, 404)


@mutant("http.below-endpoint-is-404")
def every_path_is_the_endpoint(exchange: Exchange) -> Exchange:
    """A path below the endpoint is answered like the endpoint."""
    return accept(exchange)
