"""What stands before the endpoint: header fields, methods, paths, queries, preflights, models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from reference_server.faults.decorators import around
from reference_server.faults.hooks import Reply

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract

    Ask = Callable[[Scope, Receive, Send], Awaitable[None]]
    Headers = list[tuple[bytes, bytes]]

ORIGIN = (b"access-control-allow-origin", b"*")
METHODS = (b"access-control-allow-methods", b"POST, OPTIONS")
FIELDS = (b"access-control-allow-headers", b"authorization, content-type")


def _header(scope: Scope, name: bytes) -> bytes:
    found: bytes = dict(scope["headers"]).get(name, b"")
    return found


def _refusing(app: ASGIApp, contract: Contract, hit: Callable[[Scope], bool], status: int) -> Ask:
    """Refuses what is hit, with the envelope of the dialect."""
    _, body = contract.errors.render("invalid_request", "the request is not understood")
    return _instead(app, hit, Reply(status, orjson.dumps(body)))


def _instead(app: ASGIApp, hit: Callable[[Scope], bool], reply: Reply) -> Ask:
    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        await (reply if hit(scope) else app)(scope, receive, send)

    return ask


def _chats(contract: Contract, method: str = "POST") -> Callable[[Scope], bool]:
    return lambda scope: bool(scope["path"] == contract.path and scope["method"] == method)


@around("charset-refused")
def charset_is_refused(app: ASGIApp, contract: Contract) -> Ask:
    """`application/json; charset=utf-8` is refused with 415."""
    return _refusing(app, contract, lambda scope: b"charset" in _header(scope, b"content-type").lower(), 415)


@around("chunked-bodies-lost")
def chunked_bodies_are_lost(app: ASGIApp, contract: Contract) -> Ask:
    """A body in chunks is taken for an empty one."""
    return _refusing(app, contract, lambda scope: bool(_header(scope, b"transfer-encoding")), 400)


@around("offers-of-http2-lose-the-body", bugs=[140])
def offers_of_http2_lose_the_body(app: ASGIApp, contract: Contract) -> Ask:
    """The body of a request that offers HTTP/2 is lost."""
    return _refusing(app, contract, lambda scope: bool(_header(scope, b"http2-settings")), 400)


@around("expectations-refused")
def expectations_are_refused(app: ASGIApp, contract: Contract) -> Ask:
    """`Expect: 100-continue` is refused as a bad request."""
    return _refusing(app, contract, lambda scope: bool(_header(scope, b"expect")), 400)


@around("queries-refused")
def queries_are_refused(app: ASGIApp, contract: Contract) -> Ask:
    """A query behind the path is refused."""
    return _refusing(app, contract, lambda scope: bool(scope["query_string"]), 400)


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
    return _instead(app, lambda scope: scope["path"] == f"{contract.path}/", reply)


@around("put-answered")
def put_is_answered(app: ASGIApp, contract: Contract) -> Ask:
    """PUT, PATCH and DELETE on the chat endpoint are answered."""
    hit = ("PUT", "PATCH", "DELETE")
    return _instead(
        app, lambda scope: scope["path"] == contract.path and scope["method"] in hit, Reply(200, b'{"status":"ok"}')
    )


@around("options-500")
def options_is_500(app: ASGIApp, contract: Contract) -> Ask:
    """OPTIONS on the chat endpoint gets a 500."""
    return _instead(app, _chats(contract, "OPTIONS"), Reply(500, b"{}"))


def _with_stream(app: ASGIApp, contract: Contract, accepted: bytes, *, stream: bool) -> Ask:
    """Lets the Accept header decide whether an answer is streamed."""

    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        if not _chats(contract)(scope) or accepted not in _header(scope, b"accept"):
            await app(scope, receive, send)
            return
        message = await receive()
        try:
            body = orjson.dumps({**orjson.loads(message["body"]), "stream": stream})
        except (orjson.JSONDecodeError, TypeError):
            body = message["body"]
        rest: list[Message] = [{**message, "body": body}]

        async def again() -> Message:
            return rest.pop() if rest else await receive()

        headers = [pair for pair in scope["headers"] if pair[0] != b"content-length"]
        await app({**scope, "headers": headers}, again, send)

    return ask


@around("accept-starts-streams")
def accept_starts_streams(app: ASGIApp, contract: Contract) -> Ask:
    """`Accept: text/event-stream` turns a plain answer into a stream."""
    return _with_stream(app, contract, b"text/event-stream", stream=True)


@around("accept-ends-streams")
def accept_ends_streams(app: ASGIApp, contract: Contract) -> Ask:
    """`Accept: application/json` turns a stream into a plain answer."""
    return _with_stream(app, contract, b"application/json", stream=False)


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 1, "owned_by": "nobody"}


@around("models-listed-twice")
def models_are_listed_twice(app: ASGIApp, contract: Contract) -> Ask:
    """Every model is listed twice."""
    data = [_model(contract.default_model)] * 2
    reply = Reply(200, orjson.dumps({"object": "list", "data": data}))
    return _instead(app, lambda scope: scope["path"] == contract.models_path, reply)


@around("model-not-found")
def model_is_not_found(app: ASGIApp, contract: Contract) -> Ask:
    """A model that is listed is not found by its name."""
    status, body = contract.errors.render("not_found", "there is no such model")
    hit = f"{contract.models_path}/"
    return _instead(app, lambda scope: scope["path"].startswith(hit), Reply(status, orjson.dumps(body)))


@around("any-model-found")
def any_model_is_found(app: ASGIApp, contract: Contract) -> Ask:
    """Every name is that of a model."""
    reply = Reply(200, orjson.dumps(_model("any")))
    return _instead(app, lambda scope: scope["path"].startswith(f"{contract.models_path}/"), reply)


@around("connection-soured")
def connection_is_soured(app: ASGIApp, contract: Contract) -> Ask:
    """After a refusal the next request on the same connection gets a 400."""
    soured: set[Any] = set()

    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        client = tuple(scope["client"] or ())
        if client in soured and _chats(contract)(scope):
            soured.discard(client)
            await Reply(400, b"{}")(scope, receive, send)
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] >= 400:
                soured.add(client)
            await send(message)

        await app(scope, receive, sent)

    return ask


def _cors(app: ASGIApp, preflight: Headers | None, edit: Callable[[Scope, int], Headers]) -> Ask:
    """Answers preflights with these fields (None: as ever), and adds fields to answers by their status."""

    async def ask(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "OPTIONS" and preflight is not None:
            await send({"type": "http.response.start", "status": 204, "headers": preflight})
            await send({"type": "http.response.body", "body": b""})
            return

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start" and scope["method"] != "OPTIONS":
                message = {**message, "headers": [*message["headers"], *edit(scope, message["status"])]}
            await send(message)

        await app(scope, receive, sent)

    return ask


@around("origins-denied-answers")
def origins_are_denied_answers(app: ASGIApp, _contract: Contract) -> Ask:
    """The preflight allows every origin, the answer none."""
    return _cors(app, [ORIGIN, METHODS, FIELDS], lambda _scope, _status: [])


@around("origins-denied-refusals")
def origins_are_denied_refusals(app: ASGIApp, _contract: Contract) -> Ask:
    """Answers are allowed to every origin, refusals to none."""
    return _cors(app, [ORIGIN, METHODS, FIELDS], lambda _scope, status: [ORIGIN] if status < 400 else [])


@around("origins-denied-fields", bugs=[132])
def origins_are_denied_fields(app: ASGIApp, _contract: Contract) -> Ask:
    """The preflight allows every origin and no header fields."""
    return _cors(app, [ORIGIN, METHODS], lambda _scope, _status: [ORIGIN])


@around("origins-denied-preflight", bugs=[132])
def origins_are_denied_the_preflight(app: ASGIApp, contract: Contract) -> Ask:
    """Answers are allowed to every origin, and the preflight gets a 405."""
    allowing = _cors(app, None, lambda _scope, _status: [ORIGIN])
    return _instead(allowing, _chats(contract, "OPTIONS"), Reply(405, b"{}"))


@around("origins-not-varied")
def origins_are_not_varied(app: ASGIApp, _contract: Contract) -> Ask:
    """Answers repeat the origin and tell no cache that they do."""

    def echoed(scope: Scope, _status: int) -> Headers:
        origin = _header(scope, b"origin")
        return [(ORIGIN[0], origin)] if origin else []

    return _cors(app, [(ORIGIN[0], b"http://localhost"), METHODS, FIELDS], echoed)


@around("origins-with-credentials")
def origins_with_credentials(app: ASGIApp, _contract: Contract) -> Ask:
    """Every origin may send credentials."""
    fields = [ORIGIN, (b"access-control-allow-credentials", b"true")]
    return _cors(app, [*fields, METHODS, FIELDS], lambda _scope, _status: fields)
