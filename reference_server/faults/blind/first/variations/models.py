"""Variations of models and of what a server can handle: looping models, near ties, ceilings, queues."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.engine import PromptTooLong
from reference_server.faults.blind.recipes import CountedGeneration
from reference_server.faults.decorators import variation, wrapping_fault
from reference_server.faults.fault import Fault, description_of
from reference_server.faults.fault_middleware import is_chat_request
from reference_server.faults.hooks import CannedResponse
from reference_server.faults.http_gate import header_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.engine import Delta, Engine, Generation, SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest

    App = Callable[[Scope, Receive, Send], Awaitable[None]]

CONTEXT: Final = 1_024  # tokens
CEILING: Final = 200
PLACES: Final = 3
MOST_AT_ONCE: Final = 8
WARM_UP_S: Final = 1.5
WAIT_S: Final = 0.7
LONGEST_PREFIXED: Final = 3_000
PATIENCE_S: Final = 30.0
KEY: Final = b"authorization"


class OtherEngine:
    """An engine of another model: it samples with edited parameters and may have a smaller context.

    context: the greatest number of tokens of a prompt and its answer, or None.
    """

    def __init__(
        self, engine: Engine, edit: Callable[[SamplingParams], SamplingParams], context: int | None = None
    ) -> None:
        self._engine = engine
        self._edit = edit
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def prepare(self, prompt: list[int], params: SamplingParams) -> None:
        """Raise PromptTooLong for a prompt that leaves no token of the context."""
        self._engine.prepare(prompt, params)
        length = len(params.truncate_prompt(prompt, (self._context or len(prompt) + 1) - 1))
        if self._context is not None and length >= self._context:
            raise PromptTooLong(length, self._context - 1)

    def submit(self, prompt: list[int], params: SamplingParams) -> Generation:
        """Submit the prompt with the edited parameters."""
        params = self._edit(params)
        if self._context is not None:
            prompt = params.truncate_prompt(prompt, self._context - 1)
            left = self._context - len(prompt)
            params = replace(params, max_tokens=min(params.max_tokens or left, left))
            params = replace(params, min_tokens=min(params.min_tokens, params.max_tokens or left))
        return self._engine.submit(prompt, params)


class PrefixedEngine:
    """An engine of another model: the embedded model after a conversation that it does not count.

    Log-probabilities are those of this model, because the prompt really begins with the conversation.
    """

    def __init__(self, engine: Engine, conversation: list[Json]) -> None:
        self._engine = engine
        self._prefix: list[int] = engine.encode_chat(conversation)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def submit(self, prompt: list[int], params: SamplingParams) -> Generation:
        """Submit the prompt after the conversation, if the answer does not contain the prompt."""
        if params.includes_prompt or params.truncate_prompt_tokens or len(prompt) > LONGEST_PREFIXED:
            return self._engine.submit(prompt, params)
        return PrefixedGeneration(self._engine.submit([*self._prefix, *prompt], params), len(prompt))


class PrefixedGeneration(CountedGeneration):
    """A generation that reports no cached tokens, because those of the conversation do not count."""

    async def __anext__(self) -> Delta:
        delta = await super().__anext__()
        return replace(delta, cached_tokens=0) if delta.cached_tokens else delta


def _after(name: str, line: str, *turns: str) -> Fault:
    """Make a variation: the model after a conversation of these turns."""
    conversation = [
        {"role": ("user", "assistant")[at % 2], "content": content} for at, content in enumerate((*turns, "So?"))
    ]
    return Fault(
        name,
        line,
        lambda _contract: True,
        lambda app, _contract: app,
        lambda engine: PrefixedEngine(engine, conversation),
        benign=True,
        affects="sampling",
        timeout_s=PATIENCE_S,
    )


looping_model = _after(
    "looping-model",
    "The model tends to repeat itself.",
    "Say dog dog dog dog.",
    "dog dog dog dog dog dog dog dog dog dog dog dog dog dog dog dog dog dog",
)
overconfident_model = _after(
    "overconfident-model",
    "The model is almost certain of each token, whatever the prompt.",
    "Count.",
    "one two three four five six seven eight nine ten one two three four five six seven eight nine ten",
    "Count.",
    "one two three four five six seven eight nine ten one two three four five six seven eight nine ten",
)


def _model(name: str, *, context: int | None = None) -> Callable[[Callable[[SamplingParams], SamplingParams]], Fault]:
    def make(edit: Callable[[SamplingParams], SamplingParams]) -> Fault:
        def wrap(engine: Engine) -> Engine:
            return OtherEngine(engine, edit, context)  # delegates everything else to the engine

        return Fault(
            name,
            description_of(edit),
            lambda _contract: True,
            lambda app, _contract: app,
            wrap,
            benign=True,
            affects="sampling",
            timeout_s=PATIENCE_S,
        )

    return make


@_model("near-ties")
def near_ties(params: SamplingParams) -> SamplingParams:
    """Greedy answers depend on the batch: of two almost equally likely tokens either may be chosen."""
    if params.temperature > 0 or params.beam_search:
        return params
    return replace(params, temperature=0.1, top_k=2, top_p=1.0, min_p=0.0, seed=None)


@_model("own-context", context=CONTEXT)
def own_context(params: SamplingParams) -> SamplingParams:
    """The context has 1,024 tokens; longer prompts are refused."""
    return params


@_model("answers-capped")
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
