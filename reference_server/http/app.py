"""The application: which path leads where, and nothing else."""

from __future__ import annotations

import asyncio
import itertools
import secrets
import time
from dataclasses import replace
from typing import TYPE_CHECKING

import orjson
from fastapi import FastAPI
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route

from reference_server.answer.chunks import ChunkWriter
from reference_server.answer.completion import completion
from reference_server.answer.response_fields import Heading
from reference_server.engine import UnusableGrammar
from reference_server.errors import ApiError, as_api_error, response_to, unavailable
from reference_server.http import pages
from reference_server.http.admission import KeyCheck, Places, check_type, read_body
from reference_server.http.delivery import collect, stream
from reference_server.http.served_contract import description, served
from reference_server.request.chat_request import RequestReader

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from openapi.contract.contract import Contract, ErrorTable
    from reference_server.engine import Engine, Generation
    from reference_server.request.chat_request import ChatRequest
    from reference_server.settings import Settings


def create_app(contract: Contract, engine: Engine, settings: Settings) -> FastAPI:
    """The server of one dialect over one engine."""
    offered = served(contract, bearer=settings.api_key is not None, lacking=engine.lacking)
    document = description(offered, settings.model)
    models = Models(settings.model)
    app = FastAPI(
        title=contract.title,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        routes=[
            Route(contract.path, ChatEndpoint(offered, engine, settings), methods=["POST"]),
            Route(contract.models_path, models.list, methods=["GET"]),
            Route(f"{contract.models_path}/{{id:path}}", models.one, methods=["GET"]),
            Route("/health", pages.health(engine), methods=["GET"]),
            Route("/openapi.json", pages.description(document), methods=["GET"]),
            Route("/docs", pages.documentation(contract.title), methods=["GET"]),
            Route("/docs/{name}", pages.asset, methods=["GET"]),
        ],
    )
    app.openapi = lambda: document  # type: ignore[method-assign]  # for tools that ask the application itself

    async def refuse(request: Request, error: Exception) -> Response:
        refusal = as_api_error(error)
        if request.method == "OPTIONS" and refusal.kind == "method_not_allowed":
            return Response(status_code=204, headers=refusal.headers)
        return response_to(offered.errors, refusal)

    app.add_exception_handler(HTTPException, refuse)  # paths and methods that no route takes
    app.add_middleware(Front, errors=offered.errors, key=KeyCheck(settings.api_key) if settings.api_key else None)
    if settings.origins:  # around the front: a preflight carries no key, and refusals are to be read too
        app.add_middleware(
            CORSMiddleware,
            allow_origins=settings.origins,
            allow_methods=("GET", "POST"),
            allow_headers=("*",),
            expose_headers=("Retry-After",),
        )
    return app


class Front:
    """The outermost layer: asks for the key, and turns every failure into the dialect's envelope."""

    def __init__(self, app: ASGIApp, errors: ErrorTable, key: KeyCheck | None) -> None:
        self._app = app
        self._errors = errors
        self._key = key

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
            if self._key and scope["path"] not in pages.PATHS:
                self._key.admit(scope)
            await self._app(scope, receive, watched_send)
        except ClientDisconnect:
            pass  # nobody is left to read an answer
        except Exception as error:
            response = response_to(self._errors, error)
            if not started:
                await response(scope, receive, send)


class ChatEndpoint:
    """POST of a chat completion: bytes in, an answer or a stream out."""

    def __init__(self, contract: Contract, engine: Engine, settings: Settings) -> None:
        self._contract = contract
        self._engine = engine
        self._settings = settings
        self._reader = RequestReader(contract, settings.model, parsed=engine.parsed_arguments)
        self._places = Places(settings.max_in_flight)
        self._numbers = itertools.count(1)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        errors = self._contract.errors
        with self._places.one():
            request, generation = await self._accept(Headers(scope=scope), receive)
            heading = self._heading(request)
            if request.stream:
                end = await stream(generation, self._writer(request, generation, heading), receive, send, errors)
            else:
                deltas = await collect(generation, receive)
                answer = completion(self._contract, heading, generation.prompt_tokens, deltas, request.telling)
        # The place is free before the client can know that its answer is whole, and ask again.
        if request.stream:
            await send({"type": "http.response.body", "body": end})
        else:
            await Response(orjson.dumps(answer), media_type="application/json")(scope, receive, send)

    async def _accept(self, headers: Headers, receive: Receive) -> tuple[ChatRequest, Generation]:
        check_type(headers)
        body = await read_body(headers, receive, self._settings.body_limit_bytes)
        # In a thread, so that a large body delays its own request only.
        request, prompt = await asyncio.to_thread(self._read, body)
        if not self._engine.alive:
            raise unavailable()
        try:
            return request, self._engine.submit(prompt, request.params)
        except ValueError as error:  # what only the engine knows: how wide it can search
            raise ApiError("invalid_request", str(error)) from error

    def _read(self, body: bytes) -> tuple[ChatRequest, list[int]]:
        request = self._reader.read(body)
        prompt = self._engine.encode_chat(request.messages, request.tools, request.template_kwargs)
        try:
            self._engine.prepare(prompt, request.params)
        except UnusableGrammar as error:
            raise ApiError("invalid_request", str(error)) from error
        return request, prompt

    def _writer(self, request: ChatRequest, generation: Generation, heading: Heading) -> ChunkWriter:
        return ChunkWriter(
            self._contract,
            heading,
            generation,
            request.params,
            full_text=self._settings.full_text,
            telling=request.telling,
        )

    def _heading(self, request: ChatRequest) -> Heading:
        prefix = self._contract.answer.id_prefix
        name = None if prefix is None else f"{prefix}{request.telling.name or next(self._numbers)}"
        calls = replace(request.call_form, name=f"call_{secrets.token_hex(8)}")
        return Heading(name, int(time.time()), self._settings.model, request.telling.tier, calls)


class Models:
    """GET of the models: there is one."""

    def __init__(self, name: str) -> None:
        self._model = {"id": name, "object": "model", "created": int(time.time()), "owned_by": "chatproof"}

    async def list(self, _request: Request) -> Response:
        """Every model."""
        return Response(orjson.dumps({"object": "list", "data": [self._model]}), media_type="application/json")

    async def one(self, request: Request) -> Response:
        """The model of this name; raises ApiError not_found."""
        if request.path_params["id"] != self._model["id"]:
            raise ApiError("not_found", f"there is no such model; this server answers for {self._model['id']}")
        return Response(orjson.dumps(self._model), media_type="application/json")
