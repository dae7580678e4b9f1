"""Faults in the presence of log-probabilities: missing, not requested, or in another form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import choice_fault, fault, has_parameters, hooked_fault, requires_check
from reference_server.faults.topics.logprobs.edits import BUTTON, whole_object

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

logprobs_empty_text = choice_fault(
    "logprobs-empty-text",
    lambda choice, _request: choice.update(logprobs=""),
    "`logprobs` is an empty string instead of null.",
    bugs=[32],
)


def _older(choice: Json, content: list[Json]) -> None:
    choice["logprobs"] = {
        "tokens": [entry["token"] for entry in content],
        "token_logprobs": [entry["logprob"] for entry in content],
        "top_logprobs": None,
        "text_offset": [],
    }


def _forget(request: ServedRequest) -> None:
    for name in ("logprobs", "top_logprobs"):
        request.payload.pop(name, None)


def _always(choice: Json, _request: ServedRequest) -> None:
    entry = {"token": "a", "logprob": -1.0, "bytes": [97], "top_logprobs": []}
    if not isinstance(choice.get("logprobs"), dict):
        choice["logprobs"] = {"content": [entry]}


logprobs_ignored = hooked_fault(
    "logprobs-ignored", "`logprobs` is ignored.", request=_forget, applies_to=BUTTON, bugs=[103]
)
logprobs_null = whole_object(
    "logprobs-null", lambda choice, _content: choice.update(logprobs=None), "Log-probabilities are null.", bugs=[100]
)


def _forget_without_alternatives(choice: Json, request: ServedRequest) -> None:
    if not request.payload.get("top_logprobs"):
        choice["logprobs"] = None


logprobs_null_without_alternatives = choice_fault(
    "logprobs-null-without-alternatives",
    _forget_without_alternatives,
    "Log-probabilities are null if no alternatives are requested.",
    applies_to=has_parameters("top_logprobs"),
    bugs=[163],
)


def _keep_first_only(choice: Json, _request: ServedRequest) -> None:
    if choice["index"] > 0 and choice.get("logprobs"):
        choice["logprobs"] = None


logprobs_of_first_choice_only = choice_fault(
    "logprobs-of-first-choice-only",
    _keep_first_only,
    "Only the first of several choices has log-probabilities.",
    streamed=False,
    applies_to=has_parameters("logprobs", "n"),
)
logprobs_older_form = whole_object(
    "logprobs-older-form", _older, "Log-probabilities have the form of the completions API.", bugs=[99]
)
logprobs_unasked = choice_fault(
    "logprobs-unasked",
    _always,
    "Log-probabilities are returned although they were not requested.",
    streamed=False,
    applies_to=BUTTON,
)
logprobs_in_streams = choice_fault(
    "logprobs-in-streams",
    _always,
    "Streams have log-probabilities, although the document says that they have none.",
    plain=False,
    applies_to=requires_check("logprobs.none-in-streams"),
)
logprobs_last_missing = whole_object(
    "logprobs-last-missing",
    lambda _choice, content: content and content.pop(),
    "The last token has no log-probability.",
    streamed=False,
    bugs=[104],
)


@fault("logprobs-in-first-chunk", "chunk", applies_to=BUTTON)
def logprobs_in_first_chunk(chunk: Json, request: ServedRequest) -> None:
    """Only the first chunk of a stream has log-probabilities."""
    for choice in chunk["choices"]:
        if request.event_index > 1 and isinstance(choice.get("logprobs"), dict):
            choice["logprobs"] = None
