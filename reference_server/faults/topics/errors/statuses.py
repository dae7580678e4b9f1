"""Faults in the status of refusals: refused requests look as if they were answered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import orjson

from openapi.stream import sse
from reference_server.faults.decorators import fault, hooked_fault
from reference_server.faults.hooks import DONE
from reference_server.faults.topics.errors.refusal import ANSWER
from reference_server.faults.topics.errors.response import BAD

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest


def _refuse_with(name: str, edit: Callable[[ResponseHead, Any], Any], line: str) -> Fault:
    """Make a fault that changes every refusal for an invalid request."""

    def change(head: ResponseHead, body: Any, _request: ServedRequest) -> Any:
        return edit(head, body) if head.status in BAD else body

    return hooked_fault(name, line, refusal=change)


def _with_status(status: int) -> Callable[[ResponseHead, Any], Any]:
    def edit(head: ResponseHead, body: Any) -> Any:
        head.status = status
        return body

    return edit


def _in_text(head: ResponseHead, body: Any) -> Any:
    head.status = 200
    (choice,) = ANSWER["choices"]
    message = {"role": "assistant", "content": f"Error: {body}"}
    return {**ANSWER, "choices": [{**choice, "message": message}]}


def _next_to_choices(head: ResponseHead, body: Any) -> Any:
    head.status = 200
    return {**ANSWER, **(body if isinstance(body, dict) else {}), "choices": []}


def _next_to_text(head: ResponseHead, _body: Any) -> Any:
    head.status = 200
    return {**ANSWER, "err_msg": "invalid request"}


def _without_body(head: ResponseHead, _body: Any) -> Any:
    head.status = 200
    return b"{}"


refusals_created = _refuse_with("refusals-201", _with_status(201), "Refusals have status 201.")
refusals_redirect = _refuse_with("refusals-302", _with_status(302), "Refusals have status 302.")
refusals_too_many = _refuse_with("refusals-429", _with_status(429), "Refusals have status 429.")
refusals_unavailable = _refuse_with("refusals-503", _with_status(503), "Refusals have status 503.")
refusals_in_text = _refuse_with("refusals-in-text", _in_text, "Refusals are answers whose text is the error.")
refusals_next_to_choices = _refuse_with(
    "refusals-with-choices", _next_to_choices, "Refusals have status 200, an error, and an empty list of choices."
)
refusals_next_to_text = _refuse_with(
    "refusals-with-text", _next_to_text, "Refusals have status 200, an `err_msg`, and an answer."
)
refusals_of_nothing = _refuse_with("refusals-200-empty", _without_body, "Refusals have status 200 and no fields.")


@fault("unknown-models-200", "refusal", bugs=[118])
def unknown_models_are_200(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """The refusal of an unknown model has status 200."""
    if isinstance(request.payload.get("model"), str) and request.payload["model"] != request.contract.default_model:
        head.status = 200
    return body


@fault("malformed-200", "refusal", bugs=[121])
def malformed_is_200(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
    """The refusal of a body that is not JSON has status 200."""
    if not request.payload:
        head.status = 200
    return body


@fault("errors-in-answers", "answer")
def errors_in_answers(response: Json, request: ServedRequest) -> None:
    """A valid request with a seed gets an answer that also reports an error."""
    if request.payload.get("seed") is not None:
        response["err_msg"] = "inference failed"


TOO_LONG: Final = 15_000
"""Characters of a body whose prompt does not fit the context of the reference server."""


def _if_long(
    name: str, edit: Callable[[ResponseHead, Any], Any], line: str, *, streamed: bool, bugs: list[int]
) -> Fault:
    """Make a fault that changes the refusal of a very long prompt."""

    def change(head: ResponseHead, body: Any, request: ServedRequest) -> Any:
        applies = (
            head.status in BAD and len(request.body) > TOO_LONG and (request.payload.get("stream") is True) == streamed
        )
        return edit(head, body) if applies else body

    return hooked_fault(name, line, refusal=change, bugs=bugs)


def _as_events(head: ResponseHead, body: Any) -> Any:
    head.status = 200
    head.headers["content-type"] = sse.MEDIA_TYPE
    return sse.encode(orjson.dumps(body)) + DONE


long_prompts_fail = _if_long(
    "prompts-beyond-context-500",
    _with_status(500),
    "A prompt that does not fit the context gets a 500.",
    streamed=False,
    bugs=[158],
)
long_streams_end_at_once = _if_long(
    "streams-beyond-context-200",
    _as_events,
    "The stream for a prompt that does not fit the context has an error and `[DONE]`.",
    streamed=True,
    bugs=[159],
)
