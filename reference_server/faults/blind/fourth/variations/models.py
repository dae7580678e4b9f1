"""A variation of the list of models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from reference_server.faults.decorators import wrapping_fault

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

OTHERS: Final = 30


@wrapping_fault("many-models-listed", benign=True)
def many_models_listed(app: ASGIApp, contract: Contract) -> App:
    """The list of models also contains thirty others, which are not loaded."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        starts: list[Message] = []

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                starts.append(message)
                return
            body = message.get("body", b"")
            if starts and starts[0]["status"] == 200 and not message.get("more_body"):
                listed = orjson.loads(body)
                if listed.get("data"):
                    own = listed["data"][-1]
                    others = [{**own, "id": f"other-model-{number}"} for number in range(OTHERS)]
                    body = orjson.dumps({**listed, "data": [*listed["data"], *others]})
            if starts:
                kept = [pair for pair in starts[0]["headers"] if pair[0] != b"content-length"]
                length = [] if message.get("more_body") else [(b"content-length", str(len(body)).encode())]
                await send({**starts.pop(), "headers": [*kept, *length]})
            await send({**message, "body": body})

        listing = scope["method"] == "GET" and scope["path"] == contract.models_path
        await app(scope, receive, sent if listing else send)

    return serve
