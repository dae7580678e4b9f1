"""Faults in the top-level fields of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from reference_server.faults.decorators import demands, fault, held_by
from reference_server.faults.hooks import Reply
from reference_server.faults.topics.usage.counts import counted

if TYPE_CHECKING:
    from reference_server.faults.hooks import Head, Json, Told

MILLISECONDS = 1000


def set_field(name: str, value: Any) -> Any:
    return lambda holder, _told: holder.update({name: value})


def _drop(name: str) -> Any:
    return lambda holder, _told: holder.pop(name, None)


@fault("duplicate-keys", "plain")
def duplicate_keys(body: bytes, _told: Told) -> bytes:
    """A plain answer holds `created` twice."""
    return body.replace(b'"created":', b'"created":0,"created":', 1)


ids_empty = held_by("ids-empty", set_field("id", ""), "`id` is an empty text.", fits=demands("answer.id-given"))
object_of_the_older_api = held_by(
    "object-text-completion", set_field("object", "text_completion"), "`object` is that of the older API.",
    streamed=False, bugs=[26],
)  # fmt: skip
created_in_milliseconds = held_by(
    "created-in-milliseconds",
    lambda holder, _told: holder.update(created=holder["created"] * MILLISECONDS),
    "`created` is in milliseconds.",
    bugs=[28],
)
created_zero = held_by("created-zero", set_field("created", 0), "`created` is 0.", bugs=[28])
created_float = held_by(
    "created-float", lambda holder, _told: holder.update(created=holder["created"] + 0.5),
    "`created` has a fraction.", bugs=[28],
)  # fmt: skip
created_missing = held_by("created-missing", _drop("created"), "`created` is missing.", bugs=[28])
model_null = held_by("model-null", set_field("model", None), "`model` is null.", bugs=[30])
model_missing = held_by("model-missing", _drop("model"), "`model` is missing.", bugs=[30])
model_other = held_by("model-other", set_field("model", "another-model"), "The answer names another model.", bugs=[30])
object_missing = held_by("object-missing", _drop("object"), "`object` is missing.", bugs=[26])
choices_null = held_by("choices-null", set_field("choices", None), "`choices` is null.")
choices_absent = held_by("choices-absent", _drop("choices"), "There are no choices.")
vendor_members = held_by(
    "vendor-members",
    lambda holder, _told: holder.update(full_output="", token_ids=[1, 2], kv_transfer_params=None),
    "Answers hold members that no document names.",
    bugs=[35],
)


@fault("error-inside", "answer")
def error_inside(answer: Json, _told: Told) -> None:
    """A plain answer with status 200 holds an error."""
    answer.clear()
    answer["error"] = {"message": "the model failed", "type": "server_error"}


@fault("types-as-text", "head")
def types_are_text(head: Head, _told: Told) -> None:
    """Plain answers are sent as text/plain."""
    if not head.streams:
        head.headers["content-type"] = "text/plain"


@fault("refuses-valid", "request")
def refuses_valid(told: Told) -> Reply | None:
    """A conversation with an answer of the assistant in it is refused."""
    messages = told.sent.get("messages")
    roles = (
        [message.get("role") for message in messages if isinstance(message, dict)] if isinstance(messages, list) else []
    )
    if "assistant" in roles:
        status, body = told.contract.errors.render("invalid_request", "messages: assistant is not allowed")
        return Reply(status, orjson.dumps(body))
    return None


@fault("marked-answers", "plain")
def answers_are_marked(body: bytes, _told: Told) -> bytes:
    """A byte order mark comes before plain answers."""
    return b"\xef\xbb\xbf" + body


batch_sizes_negative = counted(
    "batch-sizes-negative",
    lambda usage: usage.update(batch_size=[-1 for _ in usage.get("batch_size", [])]),
    "Batch sizes are negative.",
    fits=demands("answer.timings-non-negative"),
)
usage_absent = held_by(
    "usage-absent", lambda answer, _told: answer.pop("usage", None), "Plain answers have no usage.",
    streamed=False, bugs=[77],
)  # fmt: skip
prefill_negative = held_by(
    "prefill-negative", lambda answer, _told: answer.update(prefill_time=-1), "`prefill_time` is negative.",
    streamed=False, fits=demands("answer.timings-non-negative"),
)  # fmt: skip


@fault("streams-unasked", "request")
def streams_unasked(told: Told) -> None:
    """Every answer is a stream."""
    told.sent["stream"] = True
