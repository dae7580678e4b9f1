"""The ASGI application of one dialect: its routes, and the path of a chat request through the server."""

from __future__ import annotations

import secrets
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import orjson
from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route

from reference_server.answer.chunks import ChunkWriter
from reference_server.answer.completion import build_completion
from reference_server.answer.response_fields import AnswerMetadata
from reference_server.engine import UnusableGrammar
from reference_server.errors import ApiError, error_response, overloaded_error, to_api_error
from reference_server.http import pages
from reference_server.http.admission import (
    MAX_HELD_BYTES,
    AdmissionSlots,
    BodyMemory,
    KeyCheck,
    check_content_type,
    read_body,
)
from reference_server.http.delivery import collect, stream
from reference_server.http.metrics import ServerMetrics
from reference_server.http.request_media import THREADS, RequestMedia
from reference_server.http.request_threads import RequestThreads
from reference_server.http.served_contract import describe_served, served_contract
from reference_server.request.chat_request import RequestReader
from reference_server.request.media_parts import has_media

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract, ErrorTable
    from reference_server.engine import Engine, Generation
    from reference_server.request.chat_request import ChatRequest
    from reference_server.settings import Settings


def create_app(contract: Contract, engine: Engine, settings: Settings) -> FastAPI:
    """Create the application that serves a dialect with an engine."""
    media = RequestMedia(contract, engine.media, settings.media)
    lacking = engine.lacking | settings.lacking | media.lacking
    served = served_contract(contract, bearer=settings.api_key is not None, lacking=lacking)
    document = describe_served(served, settings.model)
    models, metrics = ModelsEndpoint(settings.model), ServerMetrics(settings.model, engine)
    app = FastAPI(
        title=contract.title,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        routes=[
            Route(contract.path, ChatEndpoint(served, engine, settings, media, metrics), methods=["POST"]),
            Route(contract.models_path, models.list, methods=["GET"]),
            Route(f"{contract.models_path}/{{id:path}}", models.retrieve, methods=["GET"]),
            Route("/health", pages.health(engine), methods=["GET"]),
            Route("/metrics", metrics.handle, methods=["GET"]),
            Route("/openapi.json", pages.description(document), methods=["GET"]),
            Route("/docs", pages.documentation(contract.title), methods=["GET"]),
            Route("/docs/{name}", pages.asset, methods=["GET"]),
        ],
    )
    app.openapi = lambda: document  # type: ignore[method-assign]  # for tools that ask the application itself

    async def refuse(request: Request, error: Exception) -> Response:
        refusal = to_api_error(error)
        metrics.count_refusal(refusal.kind)
        if request.method == "OPTIONS" and refusal.kind == "method_not_allowed":
            return Response(status_code=204, headers=refusal.headers)
        return error_response(served.errors, refusal)

    app.add_exception_handler(HTTPException, refuse)  # unknown paths and methods
    key = KeyCheck(settings.api_key) if settings.api_key else None
    app.add_middleware(AuthAndErrorMiddleware, errors=served.errors, key=key, metrics=metrics)
    if settings.origins:  # outermost: a CORS preflight carries no key, and pages must be able to read refusals too
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.origins,
            allow_methods=("GET", "POST"),
            allow_headers=("*",),
            expose_headers=("Retry-After",),
        )
    return app


class AuthAndErrorMiddleware:
    """Checks the API key, and converts every failure to the dialect's error envelope."""

    def __init__(self, app: ASGIApp, errors: ErrorTable, key: KeyCheck | None, metrics: ServerMetrics) -> None:
        self._app = app
        self._errors = errors
        self._key = key
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = False

        async def watched_send(message: Message) -> None:
            nonlocal started
            started = True
            await send(message)

        try:
            if self._key and scope["path"] not in pages.PUBLIC_PATHS:
                self._key.check(scope)
            await self._app(scope, receive, watched_send)
        except ClientDisconnect:
            pass  # nothing can be sent, because the client has disconnected
        except Exception as error:
            refusal = to_api_error(error)
            self._metrics.count_refusal(refusal.kind)
            response = error_response(self._errors, refusal)
            if not started:
                await response(scope, receive, send)


class ChatEndpoint:
    """Handles POST requests for chat completions: reads the request, runs the engine, sends a response or a stream."""

    def __init__(
        self, contract: Contract, engine: Engine, settings: Settings, media: RequestMedia, metrics: ServerMetrics
    ) -> None:
        self._contract = contract
        self._media = media
        self._metrics = metrics
        self._body_limit_bytes = media.body_limit_bytes(
            settings.body_limit_bytes, served="media" in contract.capabilities
        )
        self._engine = engine
        self._settings = settings
        self._reader = RequestReader(
            contract,
            settings.model,
            parsed_arguments=engine.parsed_arguments,
            sampling_defaults=engine.sampling_defaults,
        )
        self._slots = AdmissionSlots(settings.max_in_flight)
        self._bodies = BodyMemory(max(MAX_HELD_BYTES, THREADS * self._body_limit_bytes))
        self._threads = RequestThreads(engine.release_memory)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        errors = self._contract.errors
        with self._slots.acquire():
            request, generation = await self._accept(Headers(scope=scope), receive)
            metadata = self._metadata(request)
            if request.stream:
                end = await stream(generation, self._writer(request, generation, metadata), receive, send, errors)
            else:
                deltas = await collect(generation, receive)
                answer = build_completion(self._contract, metadata, generation.prompt_tokens, deltas, request.options)
        # The slot is released before the last byte is sent, so a client that asks again at once finds it free.
        if request.stream:
            await send({"type": "http.response.body", "body": end})
        else:
            await Response(orjson.dumps(answer), media_type="application/json")(scope, receive, send)

    async def _accept(self, headers: Headers, receive: Receive) -> tuple[ChatRequest, Generation]:
        check_content_type(headers)
        with self._bodies.hold() as add:
            body = await self._read_body(headers, receive, add)
            request = await self._threads.run(len(body), self._read(body), receive)
            messages = await self._load_media(request.messages, receive)
            prompt = await self._threads.run(len(body), self._encode(request, messages), receive)
            del body
        if not self._engine.alive:
            raise overloaded_error()
        try:
            # The messages are not needed again, and may contain files of megabytes.
            answered = replace(request, messages=[])
            return answered, self._metrics.measure(self._engine.submit(prompt, request.params))
        except ValueError as error:  # limits that only the engine knows, such as the width of a beam search
            raise ApiError("invalid_request", str(error)) from error

    async def _read_body(self, headers: Headers, receive: Receive, add: Callable[[int], None]) -> bytes:
        try:
            return await read_body(headers, receive, self._body_limit_bytes, add)
        except (ApiError, ClientDisconnect):
            if self._bodies.held_bytes:  # megabytes may have been read
                self._threads.schedule_release()
            raise

    async def _load_media(self, messages: list[dict[str, Any]], receive: Receive) -> list[dict[str, Any]]:
        """Return the messages with decoded media."""
        if not has_media(messages):
            return messages
        try:
            return await self._media.load(messages, receive)
        finally:
            self._threads.schedule_release()

    def _read(self, body: bytes) -> Iterator[ChatRequest]:
        """Read a request. In the pause after each stage, here and below, the client may have left."""
        request = self._reader.read(body)
        yield request
        self._engine.check_size(request.messages, request.tools, request.params)
        yield request

    def _encode(self, request: ChatRequest, messages: list[dict[str, Any]]) -> Iterator[Any]:
        """Encode the prompt of a request. messages: with media loaded."""
        prompt = self._engine.encode_chat(messages, request.tools, request.template_kwargs)
        yield prompt
        try:
            self._engine.prepare(prompt, request.params)
        except UnusableGrammar as error:
            raise ApiError("invalid_request", str(error)) from error
        yield prompt

    def _writer(self, request: ChatRequest, generation: Generation, metadata: AnswerMetadata) -> ChunkWriter:
        return ChunkWriter(
            self._contract,
            metadata,
            generation,
            request.params,
            full_text=self._settings.full_text,
            options=request.options,
        )

    def _metadata(self, request: ChatRequest) -> AnswerMetadata:
        prefix = self._contract.answer.id_prefix
        answer_id = None if prefix is None else f"{prefix}{request.options.request_id or secrets.randbits(63)}"
        call_format = replace(request.call_format, id_prefix=f"call_{secrets.token_hex(8)}")
        tier = request.options.service_tier
        return AnswerMetadata(answer_id, int(time.time()), self._settings.model, tier, call_format)


class ModelsEndpoint:
    """Handles GET requests for the list of models, which has one entry, and for that model."""

    def __init__(self, name: str) -> None:
        self._model = {"id": name, "object": "model", "created": int(time.time()), "owned_by": "chatproof"}

    async def list(self, _request: Request) -> Response:
        """Respond with the list of models."""
        return Response(orjson.dumps({"object": "list", "data": [self._model]}), media_type="application/json")

    async def retrieve(self, request: Request) -> Response:
        """Respond with the model of the requested name; raise ApiError `not_found` for any other name."""
        if request.path_params["id"] != self._model["id"]:
            raise ApiError("not_found", f"unknown model: this server serves {self._model['id']}")
        return Response(orjson.dumps(self._model), media_type="application/json")
