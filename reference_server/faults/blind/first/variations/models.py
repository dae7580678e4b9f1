"""Variations of models and of what a server can handle: looping models, near ties, ceilings, queues."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Final

import orjson

from reference_server.faults.blind.other_models import model_after, other_model
from reference_server.faults.decorators import variation, wrapping_fault
from reference_server.faults.fault_middleware import is_chat_request
from reference_server.faults.hooks import CannedResponse
from reference_server.faults.http_gate import header_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

CONTEXT: Final = 1_024  # tokens
CEILING: Final = 200
PLACES: Final = 3
MOST_AT_ONCE: Final = 8
WARM_UP_S: Final = 1.5
WAIT_S: Final = 0.7
KEY: Final = b"authorization"


looping_model = model_after(
    "looping-model",
    "The model tends to repeat itself.",
    "Say dog dog dog dog.",
    "dog dog dog dog dog dog dog dog dog dog dog dog dog dog dog dog dog dog",
)
overconfident_model = model_after(
    "overconfident-model",
    "The model is almost certain of each token, whatever the prompt.",
    "Count.",
    "one two three four five six seven eight nine ten one two three four five six seven eight nine ten",
    "Count.",
    "one two three four five six seven eight nine ten one two three four five six seven eight nine ten",
)


@other_model("near-ties")
def near_ties(params: SamplingParams) -> SamplingParams:
    """Greedy answers depend on the batch: of two almost equally likely tokens either may be chosen."""
    if params.temperature > 0 or params.beam_search:
        return params
    return replace(params, temperature=0.1, top_k=2, top_p=1.0, min_p=0.0, seed=None)


@other_model("own-context", context=CONTEXT)
def own_context(params: SamplingParams) -> SamplingParams:
    """The context has 1,024 tokens; longer prompts are refused."""
    return params


@other_model("answers-capped")
def answers_are_capped(params: SamplingParams) -> SamplingParams:
    """The server generates at most 200 tokens, and says that the limit ended the answer."""
    limit = min(params.max_tokens or CEILING, CEILING)
    return replace(params, max_tokens=limit, min_tokens=min(params.min_tokens, limit))


@wrapping_fault("three-places", benign=True)
def three_places(app: ASGIApp, contract: Contract) -> App:
    """At most three requests are served at the same time; others wait."""
    places = asyncio.Semaphore(PLACES)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if is_chat_request(scope, contract):
            async with places:
                await app(scope, receive, send)
        else:
            await app(scope, receive, send)

    return serve


@wrapping_fault("busy-above-eight", benign=True)
def busy_above_eight(app: ASGIApp, contract: Contract) -> App:
    """A request is refused with Retry-After while more than eight others are running."""
    running = [0]
    status, body = contract.errors.render("overloaded", "the server is busy: try again")
    refusal = CannedResponse(status, orjson.dumps(body), headers={"retry-after": "1"})

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        chat = is_chat_request(scope, contract)
        if chat and running[0] > MOST_AT_ONCE:
            await refusal(scope, receive, send)
            return
        running[0] += chat
        try:
            await app(scope, receive, send)
        finally:
            running[0] -= chat

    return serve


@wrapping_fault("every-other-waits", benign=True)
def every_other_request_waits(app: ASGIApp, contract: Contract) -> App:
    """Every other request waits 0.7 s for a place in the batch."""
    count = [0]

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if is_chat_request(scope, contract):
            count[0] += 1
            await asyncio.sleep(WAIT_S * (count[0] % 2 == 0))
        await app(scope, receive, send)

    return serve


@wrapping_fault("slow-first-request", benign=True)
def first_request_is_slow(app: ASGIApp, contract: Contract) -> App:
    """The first request waits 1.5 s until the model is loaded."""
    loaded = asyncio.Event()
    asked = [False]

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        if is_chat_request(scope, contract):
            if not asked[0]:
                asked[0] = True
                await asyncio.sleep(WARM_UP_S)
                loaded.set()
            await loaded.wait()
        await app(scope, receive, send)

    return serve


@wrapping_fault("keys-in-another-header", benign=True, applies_to=lambda contract: contract.auth == "bearer")
def keys_in_another_header(app: ASGIApp, _contract: Contract) -> App:
    """The key may also be sent in x-api-key."""

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        key = header_of(scope, b"x-api-key")
        if key and not header_of(scope, KEY):
            scope = {**scope, "headers": [*scope["headers"], (KEY, b"Bearer " + key)]}
        await app(scope, receive, send)

    return serve


def _alias(request: ServedRequest) -> None:
    own = request.contract.default_model
    if request.payload.get("model") == f"{own}-latest":
        request.payload["model"] = own
        request.state["alias"] = True


def _name(response: Json, request: ServedRequest) -> None:
    if request.state.get("alias") and "model" in response:
        response["model"] = f"{request.contract.default_model}-latest"


def _list_both(response: Json, request: ServedRequest) -> None:
    if request.path == request.contract.models_path:
        response["data"] = list(_with_alias(response["data"]))
    else:
        _name(response, request)


def _with_alias(models: list[Json]) -> Iterator[Json]:
    for model in models:
        yield model
        yield {**model, "id": f"{model['id']}-latest"}


two_names = variation(
    "two-names",
    "The model is served and listed under two names.",
    request=_alias,
    answer=_list_both,
    chunk=_name,
    everywhere=True,
)
