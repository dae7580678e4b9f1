"""Blind faults of tools: properties that are called title, ids that come again, and texts that are null."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.recipes import messages_of
from reference_server.faults.blind.schema_recipes import parts_of
from reference_server.faults.blind.tool_recipes import arguments_fault, functions_of
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

TITLE = "title"


def _strip_titles(request: ServedRequest) -> None:
    """Take a property for an annotation. Violates parameters: the properties of the tool."""
    for function in functions_of(request.payload):
        for part in parts_of(function.get("parameters")):
            part.pop(TITLE, None)
            required = part.get("required")
            if isinstance(required, list):
                part["required"] = [name for name in required if name != TITLE]


def _keep_first_results(request: ServedRequest) -> None:
    """Index results by their id. Violates messages.content: the result of each call."""
    known: dict[Any, Any] = {}
    for message in messages_of(request.payload):
        call_id = message.get("tool_call_id")
        if message.get("role") == "tool" and isinstance(call_id, str):
            message["content"] = known.setdefault(call_id, message.get("content"))


def _say_none(request: ServedRequest) -> None:
    """Write a null as text. Violates messages.content, which a message with calls may lack."""
    for message in messages_of(request.payload):
        if message.get("role") == "assistant" and message.get("tool_calls") and message.get("content") is None:
            message["content"] = "None"


def _explain(arguments: str, _schemas: Json) -> str:
    """Add what a gateway asks of the model. Violates function.arguments: the parameters of the tool."""
    return json.dumps({**json.loads(arguments), "explanation": "The user asked for it."}, ensure_ascii=False)


properties_named_title_lost = hooked_fault(
    "properties-named-title-lost",
    "A parameter of a tool whose name is title is removed, as titles of schemas are.",
    request=_strip_titles,
    applies_to=has_parameters("tools"),
)
reused_ids_repeat_their_first_result = hooked_fault(
    "reused-ids-repeat-their-first-result",
    "If the id of a call comes again in a later turn, its result is read as that of the first call.",
    request=_keep_first_results,
    applies_to=has_parameters("tools"),
)
null_contents_read_as_none = hooked_fault(
    "null-contents-read-as-none",
    "A message of the assistant that has calls but no content reaches the model with the text None.",
    request=_say_none,
    applies_to=has_parameters("tools"),
)
explanations_added_to_arguments = arguments_fault(
    "explanations-added-to-arguments",
    "The arguments of a call in a plain answer have a further field that no schema has.",
    _explain,
)
