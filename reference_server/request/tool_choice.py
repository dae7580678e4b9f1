"""Conversion of `tools` and `tool_choice` to the tools that a response may call."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from openapi.stream.strict_json import quote
from reference_server.engine import Tool, ToolParameter, ToolUse
from reference_server.errors import ApiError
from reference_server.request.client_schema import (
    MAX_TOOL_FIELDS,
    dump,
    has_few_fields,
    is_object_schema,
    read_nested_json,
    require_few_fields,
    require_short_source,
    with_definitions,
)
from reference_server.request.schema_rewriting import rewrite
from reference_server.tool_call_output import DEFAULT_FORMAT, INPUT, ToolCallFormat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Json = dict[str, Any]

COMBINATORS: Final = ("allOf", "anyOf", "oneOf", "$ref", "patternProperties", "unevaluatedProperties", "if", "not")
"""Keywords with which `properties` may not list everything that an object can contain."""


@dataclass(frozen=True, slots=True)
class ToolSelection:
    """Tools of one request.

    prompt_tools: tools that the prompt lists, as functions; None: no tools.
    use: which tools the engine may or must call; None: no tools.
    call_format: how the response writes the calls.
    """

    prompt_tools: list[Json] | None
    use: ToolUse | None
    call_format: ToolCallFormat = DEFAULT_FORMAT


def select_tools(given: Mapping[str, Any]) -> ToolSelection:
    """Return the tools of a request from its parameters, with defaults filled in; raise ApiError.

    The deprecated `functions` are converted to tools of which a response calls at most one.
    """
    functions = given.get("functions")
    if not functions:
        if isinstance(given.get("function_call"), dict):
            words = "function_call requires a call, but functions is missing: send functions"
            raise ApiError("invalid_request", words, param="function_call")
        return _select_tools(given)
    if given.get("tools"):
        words = "functions and tools are mutually exclusive: remove functions"
        raise ApiError("invalid_request", words, param="functions")
    choice = given.get("function_call") or "auto"
    converted = {
        "tools": [{"type": "function", "function": function} for function in functions],
        "tool_choice": choice if isinstance(choice, str) else {"type": "function", "function": choice},
        "parallel_tool_calls": False,
    }
    return replace(_select_tools(converted), call_format=ToolCallFormat(legacy=True))


def _select_tools(given: Mapping[str, Any]) -> ToolSelection:
    prompt_tools = [_to_function(tool) for tool in given.get("tools") or ()]
    choice = _read_choice(given.get("tool_choice") or "auto")
    if choice.mode == "none" or not prompt_tools:
        if choice.mode == "required":
            words = "tool_choice requires a call, but tools is missing: send tools"
            raise ApiError("invalid_request", words, param="tool_choice")
        return ToolSelection(None, ToolUse(()) if prompt_tools else None)
    functions = [tool["function"] for tool in prompt_tools]
    if choice.names is not None:
        for name in choice.names:
            if all(function["name"] != name for function in functions):
                words = f"tool_choice names the unknown tool {quote(name)}: name one of tools"
                raise ApiError("invalid_request", words, param="tool_choice")
        functions = [function for function in functions if function["name"] in choice.names]
    required = choice.mode == "required"
    require_few_fields([function.get("parameters") for function in functions], "tools", MAX_TOOL_FIELDS)
    tools = tuple(_engine_tool(function, required=required) for function in functions)
    use = ToolUse(tools, required, not choice.single and given.get("parallel_tool_calls") is not False)
    custom = frozenset(tool["custom"]["name"] for tool in given["tools"] if tool.get("type") == "custom")
    # No document forbids two functions of the same name, and a call matches one of them. But a function and a custom
    # tool of the same name cannot be told apart in a call.
    for tool in given["tools"]:
        if tool.get("type") != "custom" and tool["function"]["name"] in custom:
            words = f"tools: {quote(tool['function']['name'])} names both a function and a custom tool: rename one"
            raise ApiError("invalid_request", words, param="tools")
    return ToolSelection(prompt_tools, use, ToolCallFormat(custom=custom))


@dataclass(frozen=True, slots=True)
class _Choice:
    """A tool_choice.

    mode: none, auto or required. names: tools that may be called; None: all. single: there is exactly one call.
    """

    mode: str
    names: frozenset[str] | None = None
    single: bool = False


def _read_choice(choice: str | Json) -> _Choice:
    if isinstance(choice, str):
        return _Choice(choice)
    kind = choice.get("type", "function")
    if kind != "allowed_tools":
        return _Choice("required", frozenset({choice[kind]["name"]}), single=True)
    allowed = choice["allowed_tools"]
    names = [_named_tool(tool) for tool in allowed["tools"]]
    if not names or None in names:
        words = "invalid tool_choice.allowed_tools.tools: each item must name one of tools"
        raise ApiError("invalid_request", words, param="tool_choice")
    return _Choice(allowed["mode"], frozenset(name for name in names if name is not None))


def _named_tool(tool: Json) -> str | None:
    """Return the name of a tool that an item of allowed_tools names; the document allows any object as an item."""
    kind = tool.get("type")
    named = tool.get(kind) if isinstance(kind, str) else None
    name = named.get("name") if isinstance(named, dict) else None
    return name if isinstance(name, str) else None


def _to_function(tool: Json) -> Json:
    """Return a tool as a function; a custom tool becomes a function with one string argument."""
    if tool.get("type") != "custom":
        return tool
    custom = tool["custom"]
    input_format = custom.get("format") or {}
    text: Json = {"type": "string"}
    if input_format.get("type") == "grammar":
        grammar = input_format["grammar"]
        if grammar["syntax"] != "regex":
            words = "tools: unsupported grammar syntax of a custom tool: expected regex"
            raise ApiError("invalid_request", words, param="tools")
        require_short_source(grammar["definition"], "grammar of a custom tool", "tools")
        text["pattern"] = f"^(?:{grammar['definition']})$"
    parameters = {"type": "object", "properties": {INPUT: text}, "required": [INPUT], "additionalProperties": False}
    described = {"description": custom["description"]} if "description" in custom else {}
    function = {"name": custom["name"], **described, "parameters": parameters, "strict": True}
    return {"type": "function", "function": function}


def _engine_tool(function: Mapping[str, Any], *, required: bool) -> Tool:
    name = function["name"]
    strict = required or bool(function.get("strict"))
    schema = _arguments_schema(name, function.get("parameters") or {}, strict=strict)
    return Tool(name, dump(name), dump(schema), _parameters(schema), strict=strict)


def _arguments_schema(name: str, parameters: Mapping[str, Any], *, strict: bool) -> Json:
    """Return the schema that a call's arguments must match: the tool's own schema, or a subset of what it allows.

    A function without parameters takes no arguments. If an object names its properties, a call may use no others.
    """
    schema = rewrite({"type": "object", **parameters})
    schema.pop("x-guidance", None)  # options of the grammar compiler
    kind = schema["type"]
    if strict:
        require_few_fields(schema, "tools")
    if not is_object_schema(schema) or not has_few_fields(schema):
        if strict:
            words = f"tools: the parameters of {quote(name)} are not a JSON Schema: correct properties and required"
            raise ApiError("invalid_request", words, param="tools")
        return {"type": "object"}
    if kind != "object" and "object" not in (kind if isinstance(kind, list) else ()):
        if strict:
            words = f"tools: the parameters of {quote(name)} cannot be matched by a call: set type to object"
            raise ApiError("invalid_request", words, param="tools")
        return {"type": "object"}
    schema["type"] = "object"
    properties = schema.setdefault("properties", {})
    all_named = set(schema.get("required", ())) <= properties.keys()
    if all_named and not any(keyword in schema for keyword in COMBINATORS):
        schema.setdefault("additionalProperties", False)
    return schema


def _parameters(schema: Json) -> tuple[ToolParameter, ...] | None:
    """Return the arguments one by one, if the schema is only a closed list of them, else None."""
    if schema.keys() - {"type", "properties", "required", "additionalProperties", "description", "title", "$defs"}:
        return None
    if schema.get("additionalProperties") is not False:
        return None
    definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    required = frozenset(schema.get("required", ()))
    return tuple(
        ToolParameter(name, dump(with_definitions(value, definitions)), name in required)
        for name, value in schema["properties"].items()
    )


def convert_earlier_calls(calls: Sequence[Mapping[str, Any]], *, parsed_arguments: bool) -> list[Json]:
    """Convert the tool calls of an earlier turn for the chat template.

    parsed_arguments: whether the template takes the arguments as an object, not as a string.
    """
    earlier = []
    for call in calls:
        if "custom" in call:
            name, arguments = call["custom"]["name"], dump({INPUT: call["custom"]["input"]})
        else:
            name, arguments = call["function"]["name"], call["function"]["arguments"]
        function = {"name": name, "arguments": _parse_object(arguments) if parsed_arguments else arguments}
        earlier.append({"id": call["id"], "type": "function", "function": function})
    return earlier


def _parse_object(arguments: str) -> Any:
    """Return the JSON object in a string, or the string itself if it contains anything else."""
    value = read_nested_json(arguments)
    return value if isinstance(value, dict) else arguments
