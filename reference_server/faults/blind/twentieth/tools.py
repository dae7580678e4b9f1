"""Blind faults of tools: which tool is called, and descriptions in other scripts."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import when
from reference_server.faults.blind.tool_recipes import functions_of
from reference_server.faults.blind.validity import NO_TOOL, allows
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _demands_one_of_several(sent: Json) -> bool:
    tools = sent.get("tools")
    return sent.get("tool_choice") == "required" and isinstance(tools, list) and len(tools) > 1


def _keep_first(request: ServedRequest) -> None:
    request.payload["tools"] = request.payload["tools"][:1]


def _escape(request: ServedRequest) -> None:
    """Write tools for the prompt as ASCII. Violates function.description: what the model reads of the function."""
    for function in functions_of(request.payload):
        if isinstance(function.get("description"), str) and not function["description"].isascii():
            function["description"] = json.dumps(function["description"])[1:-1]


# Violates tool_choice: the model chooses one or more of the tools.
required_means_the_first_tool = when(
    "required-means-the-first-tool",
    "With tool_choice required and several tools, only the first one can be called.",
    _demands_one_of_several,
    _keep_first,
    applies_to=allows(tools=[NO_TOOL], tool_choice="required"),
)
descriptions_of_tools_escaped = hooked_fault(
    "descriptions-of-tools-escaped",
    "Characters beyond ASCII in the description of a tool reach the model as escapes such as \\u4e2d.",
    request=_escape,
    applies_to=has_parameters("tools"),
)
