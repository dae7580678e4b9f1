"""Variations of answers: ids, white space, further fields."""

from __future__ import annotations

import json
import uuid
import zlib
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import choices_of, has_parameters, message_of, variation

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest

VOCABULARY: Final = 151_936
END: Final = 151_645
EXACT: Final = ("logprobs", "return_token_ids", "stop", "stop_token_ids")
TOOL: Final = {"type": "function", "function": {"name": "note", "description": "Take a note", "parameters": {}}}


def _formed(answer: Json, request: ServedRequest) -> Iterator[Json]:
    """Yield the messages of choices with complete JSON that response_format demands."""
    if request.payload.get("response_format") and not any(request.payload.get(name) for name in EXACT):
        for choice in choices_of(answer):
            said = message_of(choice)
            if choice.get("finish_reason") == "stop" and str(said.get("content") or "").startswith("{"):
                yield said


def _end_with_blanks(answer: Json, request: ServedRequest) -> None:
    for said in _formed(answer, request):
        said["content"] += "\n\n  \n"


def _indent(answer: Json, request: ServedRequest) -> None:
    for said in _formed(answer, request):
        try:
            said["content"] = json.dumps(json.loads(said["content"]), indent=2, ensure_ascii=False)
        except ValueError:
            continue  # text that only looks like JSON


def _line_feeds(answer: Json, request: ServedRequest) -> None:
    for choice in choices_of(answer) if request.payload.get("tool_choice", "auto") == "auto" else ():
        said = message_of(choice)
        if said.get("tool_calls") and not said.get("content"):
            said["content"] = "\n\n"


def _name_calls(response: Json, request: ServedRequest) -> None:
    ids = request.state.setdefault("ids", {})
    for choice in choices_of(response):
        for call in message_of(choice).get("tool_calls") or ():
            if call.get("id"):
                call["id"] = ids.setdefault(call["id"], str(uuid.uuid4()))


def _add_ids(response: Json, _request: ServedRequest) -> None:
    for choice in choices_of(response):
        scores = choice.get("logprobs")
        for entry in (scores.get("content") or ()) if isinstance(scores, dict) else ():
            for token in (entry, *(entry.get("top_logprobs") or ())):
                token["id"] = zlib.crc32(token["token"].encode()) % VOCABULARY


def _tell_stop(response: Json, _request: ServedRequest) -> None:
    for choice in choices_of(response):
        choice["matched_stop"] = END if choice.get("finish_reason") == "stop" else None


forms_end_with_white_space = variation(
    "forms-end-with-white-space",
    "JSON that a request demands is followed by white space in plain answers.",
    answer=_end_with_blanks,
    applies_to=has_parameters("response_format"),
)
forms_indented = variation(
    "forms-indented",
    "JSON that a request demands is spread over several lines in plain answers.",
    answer=_indent,
    applies_to=has_parameters("response_format"),
)
line_feeds_beside_calls = variation(
    "line-feeds-beside-calls",
    "The content of a plain answer with tool calls consists of line ends.",
    answer=_line_feeds,
    applies_to=allows(tools=[TOOL], tool_choice="auto"),
)
call_ids_as_uuid = variation(
    "call-ids-as-uuid",
    "The id of a call is a UUID.",
    answer=_name_calls,
    chunk=_name_calls,
    applies_to=has_parameters("tools"),
)
scores_with_ids = variation(
    "scores-with-ids",
    "Log-probabilities contain the ids of the tokens.",
    answer=_add_ids,
    chunk=_add_ids,
    applies_to=has_parameters("logprobs"),
)
matched_stop_told = variation(
    "matched-stop-told",
    "Choices say in a further field which token ended them.",
    answer=_tell_stop,
    chunk=_tell_stop,
)
