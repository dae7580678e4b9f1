"""Faults in the handling of paths and methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import around
from reference_server.faults.hooks import Reply
from reference_server.faults.http_gate import chat_requests, refusing, reply_instead, with_headers

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract

    Ask = Callable[[Scope, Receive, Send], Awaitable[None]]

PAGE = b"<html><body>It works!</body></html>"


@around("queries-refused")
def queries_are_refused(app: ASGIApp, contract: Contract) -> Ask:
    """A query behind the path is refused."""
    return refusing(app, contract, lambda scope: bool(scope["query_string"]), 400)


@around("below-endpoint-answered")
def below_the_endpoint_is_answered(app: ASGIApp, contract: Contract) -> Ask:
    """Paths below the endpoint are answered like the endpoint."""

    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        below = scope["path"].startswith(f"{contract.path}/") and scope["path"] != f"{contract.path}/"
        await app({**scope, "path": contract.path} if below else scope, receive, send)

    return ask


@around("slash-redirected")
def slash_is_redirected(app: ASGIApp, contract: Contract) -> Ask:
    """A slash behind the path is redirected with 301, which turns POST into GET."""
    reply = Reply(301, b"", headers={"location": contract.path})
    return reply_instead(app, lambda scope: scope["path"] == f"{contract.path}/", reply)


@around("put-answered")
def put_is_answered(app: ASGIApp, contract: Contract) -> Ask:
    """PUT, PATCH and DELETE on the chat endpoint are answered."""
    hit = ("PUT", "PATCH", "DELETE")
    return reply_instead(
        app, lambda scope: scope["path"] == contract.path and scope["method"] in hit, Reply(200, b'{"status":"ok"}')
    )


@around("options-500")
def options_is_500(app: ASGIApp, contract: Contract) -> Ask:
    """OPTIONS on the chat endpoint gets a 500."""
    return reply_instead(app, chat_requests(contract, "OPTIONS"), Reply(500, b"{}"))


@around("unknown-path-200")
def unknown_path_is_answered(app: ASGIApp, contract: Contract) -> Ask:
    """Every path is answered with a page."""
    known = (contract.path, contract.models_path, "/openapi.json")
    return reply_instead(app, lambda scope: scope["path"] not in known, Reply(200, PAGE, "text/html"))


@around("get-answered")
def get_is_answered(app: ASGIApp, contract: Contract) -> Ask:
    """GET on the chat endpoint is answered with a page."""
    hit = lambda scope: scope["path"] == contract.path and scope["method"] == "GET"  # noqa: E731
    return reply_instead(app, hit, Reply(200, PAGE, "text/html"))


@around("get-500")
def get_is_500(app: ASGIApp, contract: Contract) -> Ask:
    """GET on the chat endpoint gets a 500."""
    hit = lambda scope: scope["path"] == contract.path and scope["method"] == "GET"  # noqa: E731
    return reply_instead(app, hit, Reply(500, b"{}"))


@around("allow-missing")
def allow_is_missing(app: ASGIApp, _contract: Contract) -> Ask:
    """A 405 does not name the allowed methods."""
    return with_headers(app, lambda _scope, headers: [pair for pair in headers if pair[0].lower() != b"allow"])


@around("head-500")
def head_is_500(app: ASGIApp, contract: Contract) -> Ask:
    """HEAD on the list of models gets a 500."""
    hit = lambda scope: scope["path"] == contract.models_path and scope["method"] == "HEAD"  # noqa: E731
    return reply_instead(app, hit, Reply(500, b""))
