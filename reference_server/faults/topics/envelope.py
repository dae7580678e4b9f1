"""The envelope of answers and chunks: id, object, created, model, and what does not belong there."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

from reference_server.faults.decorators import demands, fault, held_by

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, Told

MILLISECONDS = 1000


def _set(name: str, value: Any) -> Any:
    return lambda holder, _told: holder.update({name: value})


def _drop(name: str) -> Any:
    return lambda holder, _told: holder.pop(name, None)


@fault("id-per-chunk", "chunk", bugs=[24], fits=demands("stream.id-constant"))
def id_per_chunk(chunk: Json, _told: Told) -> None:
    """Every chunk has an id of its own."""
    chunk["id"] = secrets.token_hex(8)


@fault("created-per-chunk", "chunk", bugs=[29])
def created_per_chunk(chunk: Json, told: Told) -> None:
    """`created` is read from the clock for every chunk, and moves on within a stream."""
    chunk["created"] += told.at


@fault("model-flips", "chunk", bugs=[30])
def model_flips(chunk: Json, told: Told) -> None:
    """Chunks after the first name the model by another name."""
    if told.at > 0:
        chunk["model"] = f"models/{chunk['model']}"


@fault("full-text-short", "chunk", fits=demands("stream.full-text-is-whole"))
def full_text_short(chunk: Json, told: Told) -> None:
    """`full_text` lacks the last character of the answer."""
    for choice in chunk["choices"]:
        told.memory["text"] = told.memory.get("text", "") + (choice["delta"].get("content") or "")
        if choice["finish_reason"] is not None:
            chunk["full_text"] = told.memory["text"][:-1]


@fault("duplicate-keys", "plain")
def duplicate_keys(body: bytes, _told: Told) -> bytes:
    """A plain answer holds `created` twice."""
    return body.replace(b'"created":', b'"created":0,"created":', 1)


@fault("duplicate-keys-streamed", "event")
def duplicate_keys_streamed(frame: bytes, _told: Told) -> list[bytes]:
    """Chunks hold `created` twice."""
    return [frame.replace(b'"created":', b'"created":0,"created":', 1)]


ids_empty = held_by("ids-empty", _set("id", ""), "`id` is an empty text.", fits=demands("answer.id-given"))
ids_repeat = held_by(
    "ids-repeat", _set("id", "chatcmpl-1"), "All answers have the same id.", fits=demands("http.answers-differ-in-id")
)
object_of_the_older_api = held_by(
    "object-text-completion", _set("object", "text_completion"), "`object` is that of the older API.",
    streamed=False, bugs=[26],
)  # fmt: skip
object_of_plain_answers = held_by(
    "object-not-chunk", _set("object", "chat.completion"), "`object` of chunks is that of plain answers.",
    plain=False, bugs=[26],
)  # fmt: skip
created_in_milliseconds = held_by(
    "created-in-milliseconds",
    lambda holder, _told: holder.update(created=holder["created"] * MILLISECONDS),
    "`created` is in milliseconds.",
    bugs=[28],
)
created_zero = held_by("created-zero", _set("created", 0), "`created` is 0.", bugs=[28])
created_float = held_by(
    "created-float", lambda holder, _told: holder.update(created=holder["created"] + 0.5),
    "`created` has a fraction.", bugs=[28],
)  # fmt: skip
created_missing = held_by("created-missing", _drop("created"), "`created` is missing.", bugs=[28])
model_null = held_by("model-null", _set("model", None), "`model` is null.", bugs=[30])
model_missing = held_by("model-missing", _drop("model"), "`model` is missing.", bugs=[30])
model_other = held_by("model-other", _set("model", "another-model"), "The answer names another model.", bugs=[30])
object_missing = held_by("object-missing", _drop("object"), "`object` is missing.", bugs=[26])
choices_null = held_by("choices-null", _set("choices", None), "`choices` is null.")
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
