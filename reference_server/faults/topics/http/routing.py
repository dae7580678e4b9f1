"""Faults in the handling of paths and methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import wrapping_fault
from reference_server.faults.hooks import CannedResponse
from reference_server.faults.http_gate import answer_matching, chat_requests, edit_headers, refuse_matching

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

PAGE = b"<html><body>It works!</body></html>"


@wrapping_fault("queries-refused")
def queries_are_refused(app: ASGIApp, contract: Contract) -> App:
    """A URL with a query string is refused."""
    return refuse_matching(app, contract, lambda scope: bool(scope["query_string"]), 400)


@wrapping_fault("below-endpoint-answered")
def below_the_endpoint_is_answered(app: ASGIApp, contract: Contract) -> App:
    """Paths below the endpoint are answered like the endpoint."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        below = scope["path"].startswith(f"{contract.path}/") and scope["path"] != f"{contract.path}/"
        await app({**scope, "path": contract.path} if below else scope, receive, send)

    return serve


@wrapping_fault("slash-redirected")
def slash_is_redirected(app: ASGIApp, contract: Contract) -> App:
    """A trailing slash is redirected with 301, which turns POST into GET."""
    reply = CannedResponse(301, b"", headers={"location": contract.path})
    return answer_matching(app, lambda scope: scope["path"] == f"{contract.path}/", reply)


@wrapping_fault("put-answered")
def put_is_answered(app: ASGIApp, contract: Contract) -> App:
    """PUT, PATCH and DELETE on the chat endpoint are answered."""
    hit = ("PUT", "PATCH", "DELETE")
    return answer_matching(
        app,
        lambda scope: scope["path"] == contract.path and scope["method"] in hit,
        CannedResponse(200, b'{"status":"ok"}'),
    )


@wrapping_fault("options-500")
def options_is_500(app: ASGIApp, contract: Contract) -> App:
    """OPTIONS on the chat endpoint gets a 500."""
    return answer_matching(app, chat_requests(contract, "OPTIONS"), CannedResponse(500, b"{}"))


@wrapping_fault("unknown-path-200")
def unknown_path_is_answered(app: ASGIApp, contract: Contract) -> App:
    """Every path is answered with a page."""
    known = (contract.path, contract.models_path, "/openapi.json")
    return answer_matching(app, lambda scope: scope["path"] not in known, CannedResponse(200, PAGE, "text/html"))


@wrapping_fault("get-answered")
def get_is_answered(app: ASGIApp, contract: Contract) -> App:
    """GET on the chat endpoint is answered with a page."""
    hit = lambda scope: scope["path"] == contract.path and scope["method"] == "GET"  # noqa: E731
    return answer_matching(app, hit, CannedResponse(200, PAGE, "text/html"))


@wrapping_fault("get-500")
def get_is_500(app: ASGIApp, contract: Contract) -> App:
    """GET on the chat endpoint gets a 500."""
    hit = lambda scope: scope["path"] == contract.path and scope["method"] == "GET"  # noqa: E731
    return answer_matching(app, hit, CannedResponse(500, b"{}"))


@wrapping_fault("allow-missing")
def allow_is_missing(app: ASGIApp, _contract: Contract) -> App:
    """A 405 does not name the allowed methods."""
    return edit_headers(app, lambda _scope, headers: [pair for pair in headers if pair[0].lower() != b"allow"])


@wrapping_fault("head-500")
def head_is_500(app: ASGIApp, contract: Contract) -> App:
    """HEAD on the list of models gets a 500."""
    hit = lambda scope: scope["path"] == contract.models_path and scope["method"] == "HEAD"  # noqa: E731
    return answer_matching(app, hit, CannedResponse(500, b""))
