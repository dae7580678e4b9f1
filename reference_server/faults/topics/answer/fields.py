"""Faults in the top-level fields of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from reference_server.faults.decorators import envelope_fault, fault, requires_check
from reference_server.faults.hooks import CannedResponse
from reference_server.faults.topics.usage.counts import counted

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

MILLISECONDS = 1000


def set_field(name: str, value: Any) -> Any:
    return lambda response, _request: response.update({name: value})


def _drop(name: str) -> Any:
    return lambda response, _request: response.pop(name, None)


@fault("duplicate-keys", "plain")
def duplicate_keys(body: bytes, _request: ServedRequest) -> bytes:
    """A plain answer contains `created` twice."""
    return body.replace(b'"created":', b'"created":0,"created":', 1)


ids_empty = envelope_fault(
    "ids-empty", set_field("id", ""), "`id` is an empty string.", applies_to=requires_check("answer.id-given")
)
object_of_the_older_api = envelope_fault(
    "object-text-completion",
    set_field("object", "text_completion"),
    "`object` has the value of the completions API.",
    streamed=False,
    bugs=[26],
)
created_in_milliseconds = envelope_fault(
    "created-in-milliseconds",
    lambda response, _request: response.update(created=response["created"] * MILLISECONDS),
    "`created` is in milliseconds.",
    bugs=[28],
)
created_zero = envelope_fault("created-zero", set_field("created", 0), "`created` is 0.", bugs=[28])
created_float = envelope_fault(
    "created-float",
    lambda response, _request: response.update(created=response["created"] + 0.5),
    "`created` has a fraction.",
    bugs=[28],
)
created_missing = envelope_fault("created-missing", _drop("created"), "`created` is missing.", bugs=[28])
model_null = envelope_fault("model-null", set_field("model", None), "`model` is null.", bugs=[30])
model_missing = envelope_fault("model-missing", _drop("model"), "`model` is missing.", bugs=[30])
model_other = envelope_fault(
    "model-other", set_field("model", "another-model"), "The answer names another model.", bugs=[30]
)
object_missing = envelope_fault("object-missing", _drop("object"), "`object` is missing.", bugs=[26])
choices_null = envelope_fault("choices-null", set_field("choices", None), "`choices` is null.")
choices_absent = envelope_fault("choices-absent", _drop("choices"), "`choices` is missing.")
vendor_members = envelope_fault(
    "vendor-members",
    lambda response, _request: response.update(full_output="", token_ids=[1, 2], kv_transfer_params=None),
    "Answers contain fields that no document mentions.",
    bugs=[35],
)


@fault("error-inside", "answer")
def error_inside(answer: Json, _request: ServedRequest) -> None:
    """A plain answer with status 200 contains an error."""
    answer.clear()
    answer["error"] = {"message": "the model failed", "type": "server_error"}


@fault("types-as-text", "head")
def types_are_text(head: ResponseHead, _request: ServedRequest) -> None:
    """Plain answers are sent as text/plain."""
    if not head.streams:
        head.headers["content-type"] = "text/plain"


@fault("refuses-valid", "request")
def refuses_valid(request: ServedRequest) -> CannedResponse | None:
    """A conversation that contains an assistant message is refused."""
    messages = request.payload.get("messages")
    roles = (
        [message.get("role") for message in messages if isinstance(message, dict)] if isinstance(messages, list) else []
    )
    if "assistant" in roles:
        status, body = request.contract.errors.render("invalid_request", "messages: assistant is not allowed")
        return CannedResponse(status, orjson.dumps(body))
    return None


@fault("marked-answers", "plain")
def answers_are_marked(body: bytes, _request: ServedRequest) -> bytes:
    """Plain answers begin with a byte order mark."""
    return b"\xef\xbb\xbf" + body


batch_sizes_negative = counted(
    "batch-sizes-negative",
    lambda usage: usage.update(batch_size=[-1 for _ in usage.get("batch_size", [])]),
    "Batch sizes are negative.",
    applies_to=requires_check("answer.timings-non-negative"),
)
usage_absent = envelope_fault(
    "usage-absent",
    lambda answer, _request: answer.pop("usage", None),
    "Plain answers have no usage.",
    streamed=False,
    bugs=[77],
)
prefill_negative = envelope_fault(
    "prefill-negative",
    lambda answer, _request: answer.update(prefill_time=-1),
    "`prefill_time` is negative.",
    streamed=False,
    applies_to=requires_check("answer.timings-non-negative"),
)


@fault("streams-unasked", "request")
def streams_unasked(request: ServedRequest) -> None:
    """Every answer is a stream."""
    request.payload["stream"] = True
