"""Faults in which part of the prompt does not reach the model."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING, Final

import orjson

from openapi.stream.strict_json import read_json
from reference_server.faults.decorators import hooked_fault, requires_check
from reference_server.faults.request_edits import LONG, text_messages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, ServedRequest

VERY_LONG: Final = 6_000  # characters
MOST_MESSAGES: Final = 18
MANY_CHARACTERS: Final = 600
MARKUP: Final = re.compile(r"<!--.*?-->|<[^<>]{1,20}>|\{[{%#].*?[}%#]\}", re.DOTALL)


def _cut(request: ServedRequest) -> None:
    for message in text_messages(request):
        if len(message["content"]) > LONG:
            message["content"] = message["content"][-LONG // 8 :]


def _last_only(request: ServedRequest) -> None:
    messages = text_messages(request)
    if len(messages) > 1 and messages[-1].get("role") == "user":
        request.payload["messages"] = messages[-1:]


def _no_system(request: ServedRequest) -> None:
    roles = [message.get("role") for message in text_messages(request)]
    if "system" in roles and "user" in roles:
        request.payload["messages"] = [
            message for message in request.payload["messages"] if message.get("role") != "system"
        ]


def _no_results(request: ServedRequest) -> None:
    for message in text_messages(request):
        if message.get("role") == "tool":
            message["content"] = "-"


def _cut_far(request: ServedRequest) -> None:
    for message in text_messages(request):
        message["content"] = message["content"][:VERY_LONG]


def _forget_turns(request: ServedRequest) -> None:
    messages = request.payload.get("messages")
    if isinstance(messages, list):
        messages[:] = messages[-MOST_MESSAGES:]


def _drop_middle(request: ServedRequest) -> None:
    for message in text_messages(request):
        if (length := len(message["content"])) > MANY_CHARACTERS:
            message["content"] = message["content"][: length // 3] + message["content"][-length // 3 :]


middle_of_prompts_dropped = hooked_fault(
    "middle-of-prompts-dropped",
    "The middle third of a message with more than 600 characters is not read.",
    request=_drop_middle,
)
very_long_prompts_cut = hooked_fault(
    "very-long-prompts-cut", "A message is cut after 6,000 characters without notice.", request=_cut_far
)
oldest_turns_forgotten = hooked_fault(
    "oldest-turns-forgotten", "Of a conversation only the last 18 messages are read.", request=_forget_turns
)
long_prompts_cut = hooked_fault(
    "long-prompts-cut", "A prompt that is too long is truncated silently.", request=_cut, bugs=[123]
)
history_ignored = hooked_fault("history-ignored", "All messages except the last are ignored.", request=_last_only)
system_ignored = hooked_fault("system-ignored", "The system message is ignored.", request=_no_system)
tool_results_ignored = hooked_fault(
    "tool-results-ignored",
    "Tool messages are ignored.",
    request=_no_results,
    applies_to=requires_check("usage.tool-results-counted"),
)


def _messages_by(role: str, request: ServedRequest) -> Iterator[Json]:
    return (message for message in text_messages(request) if message.get("role") == role)


def _no_answers(request: ServedRequest) -> None:
    for message in _messages_by("assistant", request):
        message["content"] = "-"


def _no_rare_characters(request: ServedRequest) -> None:
    for message in text_messages(request):
        if any(ord(letter) >= 0x10000 for letter in message["content"]):
            message["content"] = "".join(letter for letter in message["content"] if ord(letter) < 0x10000) or "-"


def _up_to_nul(request: ServedRequest) -> None:
    for message in text_messages(request):
        if "\0" in message["content"]:
            message["content"] = message["content"].split("\0")[0] or "-"


def _first_part(request: ServedRequest) -> None:
    messages = request.payload.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and isinstance(message.get("content"), list):
            message["content"] = message["content"][:1]


answers_ignored = hooked_fault("answers-ignored", "Assistant messages are ignored.", request=_no_answers)
rare_characters_dropped = hooked_fault(
    "rare-characters-dropped", "Characters of a prompt beyond U+FFFF are dropped.", request=_no_rare_characters
)
nul_ends_prompts = hooked_fault("nul-ends-prompts", "A NUL character ends a message.", request=_up_to_nul)
first_part_only = hooked_fault(
    "first-part-only", "Only the first of several content parts is read.", request=_first_part
)


def _without_markup(request: ServedRequest) -> None:
    for message in text_messages(request):
        message["content"] = MARKUP.sub("", message["content"])


markup_removed = hooked_fault(
    "markup-removed",
    "Tags, comments and placeholders in messages are removed with what is between them.",
    request=_without_markup,
    applies_to=requires_check("usage.marks-remove-nothing"),
)


def _as_entities(request: ServedRequest) -> None:
    for message in text_messages(request):
        message["content"] = escape(message["content"])


marks_as_entities = hooked_fault(
    "marks-as-entities",
    "Quotes, angle brackets and ampersands in messages are rewritten as entities.",
    request=_as_entities,
    applies_to=requires_check("usage.marks-add-nothing"),
)


def _cut_past_arguments(request: ServedRequest) -> None:
    messages = request.payload.get("messages")
    for message in messages if isinstance(messages, list) else ():
        for call in (message.get("tool_calls") or ()) if isinstance(message, dict) else ():
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict) and isinstance(function.get("arguments"), str):
                reading = read_json(function["arguments"])
                if isinstance(reading.value, dict):
                    function["arguments"] = orjson.dumps(dict([*reading.value.items()][:1])).decode()


past_arguments_cut = hooked_fault(
    "past-arguments-cut",
    "Only the first argument of an earlier call reaches the model.",
    request=_cut_past_arguments,
    applies_to=requires_check("usage.tool-calls-counted"),
    bugs=[145],
)


def _show_parts(request: ServedRequest) -> None:
    messages = request.payload.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and isinstance(message.get("content"), list) and message.get("role") == "tool":
            message["content"] = repr(message["content"])


parts_of_results_shown = hooked_fault(
    "parts-of-results-shown",
    "The model reads the list of parts of a tool's result as it is written, not its text.",
    request=_show_parts,
    applies_to=requires_check("usage.parts-counted-as-text"),
)
