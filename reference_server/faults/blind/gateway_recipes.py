"""Make faults of gateways: of one of several replicas behind them, and of requests that they write again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.faults.blind.recipes import every, per_server
from reference_server.faults.decorators import wrapping_fault
from reference_server.faults.hooks import CannedResponse, Hooks

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest

SUCCESS: Final = 200
PAGE: Final = b"<html><head><title>403 Forbidden</title></head><body><h1>403 Forbidden</h1></body></html>"


def replica_fault(
    name: str,
    line: str,
    *,
    change: Callable[[ServedRequest], object] | None = None,
    edit: Callable[[Json, ServedRequest], None] | None = None,
    **options: Any,
) -> Fault:
    """Make a fault of one of two replicas, which take turns: a change of the request, or of answers and chunks."""

    def make() -> Hooks:
        is_turn = every(2)

        def choose(request: ServedRequest) -> None:
            request.state["faulty"] = is_turn()
            if request.state["faulty"] and change is not None:
                change(request)

        def edit_some(response: Json, request: ServedRequest) -> None:
            if request.state.get("faulty") and edit is not None:
                edit(response, request)

        return Hooks(request=choose, answer=edit_some, chunk=edit_some)

    return per_server(name, line, make, **options)


def replace_values(value: Any, old: Any, new: Any) -> Any:
    """Return JSON in which each value of this kind, at any depth, is another one."""
    if value == old and isinstance(value, type(old)):
        return new
    if isinstance(value, dict):
        return {name: replace_values(item, old, new) for name, item in value.items()}
    if isinstance(value, list):
        return [replace_values(item, old, new) for item in value]
    return value


def rewriting(old: Any, new: Any) -> Callable[[ServedRequest], None]:
    """Return a change that replaces each value of this kind in a request."""

    def change(request: ServedRequest) -> None:
        request.payload.update({name: replace_values(item, old, new) for name, item in request.payload.items()})

    return change


def forbidden() -> CannedResponse:
    """Return the page of a firewall."""
    return CannedResponse(403, PAGE, "text/html")


def models_fault(name: str, line: str, edit: Callable[[Json], None]) -> Fault:
    """Make a fault of the list of models."""

    def wrap(app: ASGIApp, contract: Contract) -> Callable[[Scope, Receive, Send], Awaitable[None]]:
        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            if scope["type"] != "http" or scope["method"] != "GET" or scope["path"] != contract.models_path:
                await app(scope, receive, send)
                return
            body: list[bytes] = []
            status: list[int] = []

            async def keep(message: Any) -> None:
                status.extend([message["status"]] if "status" in message else [])
                body.append(message.get("body", b""))

            await app(scope, receive, keep)
            listed = orjson.loads(b"".join(body))
            if status[0] == SUCCESS:
                edit(listed)
            await CannedResponse(status[0], orjson.dumps(listed))(scope, receive, send)

        return serve

    wrap.__doc__ = line
    return wrapping_fault(name)(wrap)
