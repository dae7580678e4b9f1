"""Blind faults of concurrent requests: log-probabilities of others, and models that are not listed meanwhile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import orjson

from reference_server.faults.blind.recipes import crowd_fault
from reference_server.faults.decorators import has_parameters, wrapping_fault
from reference_server.faults.fault_middleware import is_chat_request
from reference_server.faults.hooks import CannedResponse, Hooks

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract
    from reference_server.faults.blind.recipes import Crowd
    from reference_server.faults.hooks import ServedRequest
    from reference_server.faults.http_gate import App

BUSY: Final = 503


def _score_all(crowd: Crowd) -> Hooks:
    """Decide for the batch. Violates logprobs: only if the request asks for them."""

    def note(request: ServedRequest) -> None:
        if request.payload.get("logprobs") is None and any(sent.get("logprobs") for sent in crowd.others(request)):
            request.payload["logprobs"] = True

    return Hooks(request=note)


def _lists_models(contract: Contract) -> bool:
    return bool(contract.models_path)


@wrapping_fault("models-unlisted-while-answering", applies_to=_lists_models, flaky=True)
def models_unlisted_while_answering(app: ASGIApp, contract: Contract) -> App:
    """A request for the list of models gets a 503 while a chat request is running."""
    _, body = contract.errors.render("engine_failure", "the server is busy")
    busy = CannedResponse(BUSY, orjson.dumps(body))
    running = 0

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        nonlocal running
        if scope["type"] != "http" or not is_chat_request(scope, contract):
            is_list = scope["type"] == "http" and scope["path"] == contract.models_path
            await (busy if is_list and running else app)(scope, receive, send)
            return
        running += 1
        try:
            await app(scope, receive, send)
        finally:
            running -= 1

    return serve


scores_spill_over = crowd_fault(
    "scores-spill-over",
    "While a request with log-probabilities is running, the answers to others have them too.",
    _score_all,
    applies_to=has_parameters("logprobs"),
)
