"""From tools and tool_choice, as a body has them, to the tools that an answer may call."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from openapi.stream.strict_json import quote
from reference_server.engine import Keyword, Tool, ToolUse
from reference_server.errors import ApiError
from reference_server.tool_call_output import FUNCTIONS, INPUT, CallForm

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Json = dict[str, Any]

COMBINED: Final = ("allOf", "anyOf", "oneOf", "$ref", "patternProperties", "unevaluatedProperties", "if", "not")
"""Keywords beside which `properties` does not say all that an object may hold."""


@dataclass(frozen=True, slots=True)
class Calling:
    """shown: the tools that the prompt names, as functions. use: what the engine is asked; None: nothing."""

    shown: list[Json] | None
    use: ToolUse | None
    form: CallForm = FUNCTIONS


def calling(given: Mapping[str, Any]) -> Calling:
    """What a request with these parameters, defaults filled in, may call; raises ApiError.

    Functions, which tools have replaced, are tools of which an answer calls one at most.
    """
    functions = given.get("functions")
    if not functions:
        if isinstance(given.get("function_call"), dict):
            words = "function_call asks for a call and there are no functions: send functions"
            raise ApiError("invalid_request", words, param="function_call")
        return _calling(given)
    if given.get("tools"):
        words = "functions and tools both say what may be called: leave functions out"
        raise ApiError("invalid_request", words, param="functions")
    choice = given.get("function_call") or "auto"
    asked = {
        "tools": [{"type": "function", "function": function} for function in functions],
        "tool_choice": choice if isinstance(choice, str) else {"type": "function", "function": choice},
        "parallel_tool_calls": False,
    }
    return replace(_calling(asked), form=CallForm(legacy=True))


def _calling(given: Mapping[str, Any]) -> Calling:
    offered = [_function(tool) for tool in given.get("tools") or ()]
    choice = _choice(given.get("tool_choice") or "auto")
    if choice.mode == "none" or not offered:
        if choice.mode == "required":
            words = "tool_choice asks for a call and there are no tools: send tools"
            raise ApiError("invalid_request", words, param="tool_choice")
        return Calling(None, ToolUse(()) if offered else None)
    functions = [tool["function"] for tool in offered]
    if choice.names is not None:
        for name in choice.names:
            if all(function["name"] != name for function in functions):
                words = f"tool_choice names {quote(name)}, which is none of the tools: name one"
                raise ApiError("invalid_request", words, param="tool_choice")
        functions = [function for function in functions if function["name"] in choice.names]
    required = choice.mode == "required"
    tools = tuple(_tool(function, required=required) for function in functions)
    use = ToolUse(tools, required, not choice.single and given.get("parallel_tool_calls") is not False)
    custom = frozenset(tool["custom"]["name"] for tool in given["tools"] if tool.get("type") == "custom")
    # Functions may share a name, which no document forbids: a call fits one of them. Of which kind it is, nobody could
    # tell by its name.
    for tool in given["tools"]:
        if tool.get("type") != "custom" and tool["function"]["name"] in custom:
            words = f"tools: {quote(tool['function']['name'])} is a function and a custom tool: rename one"
            raise ApiError("invalid_request", words, param="tools")
    return Calling(offered, use, CallForm(custom=custom))


@dataclass(frozen=True, slots=True)
class _Choice:
    """mode: none, auto or required. names: of the tools that are left; None: all. single: there is one call."""

    mode: str
    names: frozenset[str] | None = None
    single: bool = False


def _choice(choice: str | Json) -> _Choice:
    if isinstance(choice, str):
        return _Choice(choice)
    kind = choice.get("type", "function")
    if kind != "allowed_tools":
        return _Choice("required", frozenset({choice[kind]["name"]}), single=True)
    allowed = choice["allowed_tools"]
    names = {tool.get(tool.get("type", ""), {}).get("name") for tool in allowed["tools"]}
    if not names or not all(isinstance(name, str) for name in names):
        words = "tool_choice.allowed_tools.tools must name one of the tools each: name them"
        raise ApiError("invalid_request", words, param="tool_choice")
    return _Choice(allowed["mode"], frozenset(names))


def _function(tool: Json) -> Json:
    """A tool as models know it; one that takes a text is a function of one argument."""
    if tool.get("type") != "custom":
        return tool
    custom = tool["custom"]
    form = custom.get("format") or {}
    text: Json = {"type": "string"}
    if form.get("type") == "grammar":
        grammar = form["grammar"]
        if grammar["syntax"] != "regex":
            words = "tools: a custom tool's grammar must have the syntax regex here: send that"
            raise ApiError("invalid_request", words, param="tools")
        text["pattern"] = f"^(?:{grammar['definition']})$"
    parameters = {"type": "object", "properties": {INPUT: text}, "required": [INPUT], "additionalProperties": False}
    described = {"description": custom["description"]} if "description" in custom else {}
    function = {"name": custom["name"], **described, "parameters": parameters, "strict": True}
    return {"type": "function", "function": function}


def _tool(function: Mapping[str, Any], *, required: bool) -> Tool:
    name = function["name"]
    exact = required or bool(function.get("strict"))
    schema = _arguments(name, function.get("parameters") or {}, exact=exact)
    return Tool(name, _text(name), _text(schema), _keywords(schema), exact=exact)


def _arguments(name: str, parameters: Mapping[str, Any], *, exact: bool) -> Json:
    """The schema that the arguments of a call are held to: that of the tool, or a part of what that allows.

    A function without parameters takes no arguments, and where an object names its properties a call invents no others.
    """
    schema = {"type": "object", **parameters}
    schema.pop("x-guidance", None)  # options of the grammar's compiler
    kind = schema["type"]
    if kind != "object" and "object" not in (kind if isinstance(kind, list) else ()):
        if exact:
            words = f"tools: the parameters of {quote(name)} are no object, so no call fits them: fix type"
            raise ApiError("invalid_request", words, param="tools")
        return {"type": "object"}
    schema["type"] = "object"
    properties = schema.setdefault("properties", {})
    all_named = isinstance(properties, dict) and set(schema.get("required", ())) <= properties.keys()
    if all_named and not any(keyword in schema for keyword in COMBINED):
        schema.setdefault("additionalProperties", False)
    return schema


def _keywords(schema: Json) -> tuple[Keyword, ...] | None:
    """The arguments one by one, where the schema is nothing but a closed list of them."""
    if schema.keys() - {"type", "properties", "required", "additionalProperties", "description", "title", "$defs"}:
        return None
    if schema.get("additionalProperties") is not False:
        return None
    definitions = {"$defs": schema["$defs"]} if "$defs" in schema else {}
    required = schema.get("required", ())
    return tuple(
        Keyword(name, _text({**value, **definitions}), name in required) for name, value in schema["properties"].items()
    )


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def earlier_calls(calls: Sequence[Mapping[str, Any]], *, parsed: bool) -> list[Json]:
    """Calls of an earlier turn as chat templates read them. parsed: whether they take arguments as an object."""
    earlier = []
    for call in calls:
        if "custom" in call:
            name, arguments = call["custom"]["name"], _text({INPUT: call["custom"]["input"]})
        else:
            name, arguments = call["function"]["name"], call["function"]["arguments"]
        function = {"name": name, "arguments": _object(arguments) if parsed else arguments}
        earlier.append({"id": call["id"], "type": "function", "function": function})
    return earlier


def _object(arguments: str) -> Any:
    """The object that arguments are; whatever else they are, stays a text."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return arguments
    return value if isinstance(value, dict) else arguments
