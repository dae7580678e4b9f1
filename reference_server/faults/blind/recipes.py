"""Make faults that keep a state for each server, that edit what the engine gets, or that depend on other requests."""

from __future__ import annotations

import asyncio
import itertools
from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.faults.decorators import hooked_fault
from reference_server.faults.fault import Fault
from reference_server.faults.fault_middleware import (
    FaultMiddleware,
    is_chat_request,
    parse_object,
    read_body,
    replay_body,
)
from reference_server.faults.hooks import CannedResponse, Hooks, Refusal

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.engine import Delta, Engine, Generation, SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest

    EngineEdit = Callable[[list[int], SamplingParams], tuple[list[int], SamplingParams]]

WINDOW_S: Final = 0.03
"""How long a crowd fault holds each request, so that requests that are sent together are handled together."""
HOTTEST: Final = 2.0


def _always(_contract: Contract) -> bool:
    return True


def per_server(
    name: str,
    line: str,
    make: Callable[[], Hooks],
    *,
    applies_to: Callable[[Contract], bool] = _always,
    **options: Any,
) -> Fault:
    """Make a fault whose hooks share a state. `make` is called once for each server."""
    return Fault(name, line, applies_to, lambda app, contract: FaultMiddleware(app, contract, make()), **options)


class PromptEngine:
    """An engine that gets other prompts and parameters than the request contains.

    counts_original: whether the number of prompt tokens is that of the request's own prompt.
    """

    def __init__(self, engine: Engine, edit: EngineEdit, *, counts_original: bool) -> None:
        self._engine = engine
        self._edit = edit
        self._counts_original = counts_original

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def submit(self, prompt: list[int], params: SamplingParams) -> Generation:
        """Submit the edited prompt with the edited parameters."""
        generation = self._engine.submit(*self._edit(prompt, params))
        return CountedGeneration(generation, len(prompt)) if self._counts_original else generation


class CountedGeneration:
    """A generation with a given number of prompt tokens."""

    def __init__(self, generation: Generation, prompt_tokens: int) -> None:
        self._generation = generation
        self.prompt_tokens: int | None = prompt_tokens

    def __aiter__(self) -> AsyncIterator[Delta]:
        return self

    async def __anext__(self) -> Delta:
        return await self._generation.__anext__()

    def cancel(self) -> None:
        """Cancel the generation."""
        self._generation.cancel()


def engine_fault(
    name: str,
    line: str,
    make: Callable[[], EngineEdit],
    *,
    counts_original: bool = False,
    applies_to: Callable[[Contract], bool] = _always,
    **options: Any,
) -> Fault:
    """Make a fault that edits the engine's prompts and parameters. `make` is called once for each server."""
    return Fault(
        name,
        line,
        applies_to,
        lambda app, _contract: app,
        lambda engine: PromptEngine(engine, make(), counts_original=counts_original),
        **options,
    )


class Crowd:
    """The chat requests that a server is handling, in the order of their arrival."""

    def __init__(self) -> None:
        self.running: dict[int, Json] = {}
        self._keys = itertools.count()

    @property
    def size(self) -> int:
        """The number of these requests."""
        return len(self.running)

    def others(self, request: ServedRequest) -> list[Json]:
        """Return all requests except one that is equal to this one."""
        running = list(self.running.values())
        if request.payload in running:
            running.remove(request.payload)
        return running

    def serve(self, app: ASGIApp, contract: Contract) -> ASGIApp:
        """Return an application that registers each chat request and holds it for a moment."""

        async def serve(scope: Scope, receive: Receive, send: Send) -> None:
            if not is_chat_request(scope, contract):
                await app(scope, receive, send)
                return
            body, key = await read_body(receive), next(self._keys)
            self.running[key] = parse_object(body)
            try:
                await asyncio.sleep(WINDOW_S)
                await app(scope, replay_body(body, receive), send)
            finally:
                del self.running[key]

        return serve


def crowd_fault(
    name: str,
    line: str,
    make: Callable[[Crowd], Hooks],
    *,
    applies_to: Callable[[Contract], bool] = _always,
    **options: Any,
) -> Fault:
    """Make a fault that depends on the other requests that the server is handling."""

    def wrap(app: ASGIApp, contract: Contract) -> ASGIApp:
        crowd = Crowd()
        return crowd.serve(FaultMiddleware(app, contract, make(crowd)), contract)

    return Fault(name, line, applies_to, wrap, flaky=True, **options)


class Silence(CannedResponse):
    """No response until the client leaves."""

    def __init__(self) -> None:
        super().__init__(200, b"")

    async def __call__(self, _scope: Scope, receive: Receive, _send: Send) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass


def fail(request: ServedRequest) -> CannedResponse:
    """Return the dialect's error for a failed engine."""
    status, body = request.contract.errors.render("engine_failure", "internal error")
    return CannedResponse(status, orjson.dumps(body))


def every(step: int, *, after: int = 0) -> Callable[[], bool]:
    """Return a function that is true in every n-th call after the first ones."""
    calls = itertools.count(1 - after)
    return lambda: (number := next(calls)) > 0 and number % step == 0


def is_number(value: Any, least: float, most: float) -> bool:
    """Whether a JSON value is a number in a range."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most


def is_whole(value: Any, least: int, most: int) -> bool:
    """Whether a JSON value is an integer in a range."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= most


def garble(request: ServedRequest, temperature: float = HOTTEST) -> None:
    """Sample the answer at a high temperature, unless the request is invalid."""
    sent = request.payload
    if sent.get("temperature") is None or is_number(sent["temperature"], 0, HOTTEST):
        sent["temperature"] = temperature
        for name in ("seed", "top_k", "top_p"):
            if not isinstance(sent.get(name), (str, bool, list, dict)):
                sent.pop(name, None)


def is_greedy(sent: Json) -> bool:
    """Whether a request asks for temperature 0."""
    return is_number(sent.get("temperature"), 0, 0)


def messages_of(sent: Json) -> list[Json]:
    """Return the messages of a request, or an empty list if they are not objects."""
    messages = sent.get("messages")
    valid = isinstance(messages, list) and all(isinstance(message, dict) for message in messages)
    return messages if valid and isinstance(messages, list) else []


def text_length(sent: Json) -> int:
    """Return the number of characters of all messages."""
    return sum(len(message["content"]) for message in messages_of(sent) if isinstance(message.get("content"), str))


def when(
    name: str,
    line: str,
    is_hit: Callable[[Json], bool],
    change: Callable[[ServedRequest], CannedResponse | None],
    **options: Any,
) -> Fault:
    """Make a fault of the requests for which a condition holds."""

    def edit(request: ServedRequest) -> CannedResponse | None:
        return change(request) if is_hit(request.payload) else None

    return hooked_fault(name, line, request=edit, **options)


def dropping(*names: str) -> Callable[[ServedRequest], None]:
    """Return a change that removes parameters."""

    def change(request: ServedRequest) -> None:
        for name in names:
            request.payload.pop(name, None)

    return change


def refusing(message: str) -> Callable[[ServedRequest], CannedResponse | None]:
    """Return a change that refuses a request."""

    def change(_request: ServedRequest) -> CannedResponse | None:
        raise Refusal("invalid_request", message)

    return change
