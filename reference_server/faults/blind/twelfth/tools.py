"""Blind faults of tools: choices, custom tools and functions that are ignored, definitions, numbers and ids."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import dropping, messages_of, refusing, when
from reference_server.faults.blind.schema_recipes import parts_of
from reference_server.faults.blind.tool_recipes import arguments_fault, functions_of
from reference_server.faults.blind.validity import NO_TOOL, allows
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

ID_BYTES: Final = 12
NAMED: Final = {"type": "function", "function": {"name": "wait"}}
ALLOWED: Final = {"type": "allowed_tools", "allowed_tools": {"mode": "auto", "tools": [NAMED]}}
CUSTOM: Final = {"type": "custom", "custom": {"name": "note"}}
DOTTED: Final = {"type": "function", "function": {**NO_TOOL["function"], "name": "notes.add"}}  # type: ignore[dict-item]


def _names(tool: Any, name: Any) -> bool:
    function = tool.get("function") if isinstance(tool, dict) else None
    return isinstance(function, dict) and function.get("name") == name


def _offer_named(request: ServedRequest) -> None:
    """Offer one tool. Violates tool_choice: the function that it names is called."""
    choice, offered = request.payload.get("tool_choice"), request.payload.get("tools")
    named = choice.get("function") if isinstance(choice, dict) else None
    name = named.get("name") if isinstance(named, dict) else None
    tools = [tool for tool in offered if _names(tool, name)] if isinstance(offered, list) else []
    if name and tools:
        request.payload.update(tools=tools, tool_choice="auto")


def _allow_all(request: ServedRequest) -> None:
    """Read the mode only. Violates allowed_tools: no other tool is called."""
    choice = request.payload.get("tool_choice")
    allowed = choice.get("allowed_tools") if isinstance(choice, dict) else None
    if isinstance(allowed, dict) and allowed.get("mode") in ("auto", "required"):
        request.payload["tool_choice"] = allowed["mode"]


def _as_function(call: Json, custom: Json) -> Json:
    """Return the call of a custom tool, or a piece of it, as that of a function."""
    begins = "index" in call and "name" in custom
    arguments = "" if begins else json.dumps({"input": custom.get("input", "")}, ensure_ascii=False)
    named = {"name": custom["name"]} if "name" in custom else {}
    kind = {"type": "function"} if named else {}
    return {**call, **kind, "function": {**named, "arguments": arguments}}


def _call_functions(response: Json, _request: ServedRequest) -> None:
    """Know functions only. Violates type: the call of a custom tool is custom."""
    for choice in choices_of(response):
        said = message_of(choice)
        for at, call in enumerate(said.get("tool_calls") or ()):
            custom = call.pop("custom", None)
            if custom is not None:
                said["tool_calls"][at] = _as_function(call, custom)


def _has_functions(sent: Json) -> bool:
    return bool(sent.get("functions"))


def _as_fraction(value: Any) -> Any:
    return float(value) if isinstance(value, int) and not isinstance(value, bool) else value


def _write_fractions(arguments: str, _schemas: Json) -> str:
    """Read each number as a double. Violates function.arguments: what the model generates."""
    return json.dumps({name: _as_fraction(value) for name, value in json.loads(arguments).items()}, ensure_ascii=False)


def _ids_of(calls: Any) -> list[Any]:
    return [call.get("id") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _has_another_order(sent: Json) -> bool:
    """Whether results follow several calls in another order than that of the calls."""
    expected: list[Any] = []
    for message in messages_of(sent):
        if message.get("role") == "assistant":
            called = _ids_of(message.get("tool_calls"))
            expected = called if len(called) > 1 else []
        elif message.get("role") == "tool" and expected and message.get("tool_call_id") != expected.pop(0):
            return True
    return False


def _has_dotted_name(sent: Json) -> bool:
    return any("." in str(function.get("name")) for function in functions_of(sent))


def _states_version(sent: Json) -> bool:
    schemas = [function.get("parameters") for function in functions_of(sent)]
    return any("$schema" in schema for schema in schemas if isinstance(schema, dict))


def _has_format(sent: Json) -> bool:
    parts = [part for function in functions_of(sent) for part in parts_of(function.get("parameters"))]
    return any(isinstance(part.get("format"), str) and part.get("type") == "string" for part in parts)


def _name_each_piece(chunk: Json, _request: ServedRequest) -> None:
    """Make an id for each piece. Violates id: a call has one."""
    for choice in choices_of(chunk):
        for call in message_of(choice).get("tool_calls") or ():
            call["id"] = f"call_{secrets.token_hex(ID_BYTES)}"


named_choices_only_offer = hooked_fault(
    "named-choices-only-offer",
    "If tool_choice names a function, only this one is offered, and need not be called.",
    request=_offer_named,
    applies_to=allows(tools=[NO_TOOL], tool_choice=NAMED),
)
# MindIE's schema accepts any object as tool_choice, and its server refuses this one: it has no custom tools either.
allowed_tools_ignored = hooked_fault(
    "allowed-tools-ignored",
    "A tool_choice of allowed_tools does not restrict the tools that may be called.",
    request=_allow_all,
    applies_to=allows(tools=[NO_TOOL, CUSTOM], tool_choice=ALLOWED),
)
custom_calls_become_functions = hooked_fault(
    "custom-calls-become-functions",
    "The call of a custom tool is the call of a function with the argument `input`.",
    answer=_call_functions,
    chunk=_call_functions,
    applies_to=allows(tools=[CUSTOM]),
)
# Violates functions, which the model may call.
older_functions_ignored = when(
    "older-functions-ignored",
    "The functions of an older request are ignored.",
    _has_functions,
    dropping("functions", "function_call"),
    applies_to=has_parameters("functions"),
)
integers_in_arguments_become_fractions = arguments_fault(
    "integers-in-arguments-become-fractions",
    "Integers in the arguments of plain answers have a point and a zero.",
    _write_fractions,
)
# Violates tool_call_id, which says to what call a result belongs.
results_in_another_order_refused = when(
    "results-in-another-order-refused",
    "The results of several calls are refused unless they are in the order of the calls.",
    _has_another_order,
    refusing("tool messages must follow the order of tool_calls"),
    applies_to=has_parameters("tools"),
)
# Violates function.name: any string.
dots_in_names_refused = when(
    "dots-in-names-refused",
    "A tool with a dot in its name is refused.",
    _has_dotted_name,
    refusing("function.name: string does not match pattern"),
    applies_to=allows(tools=[DOTTED]),
)
# Violates parameters: $schema belongs to a schema.
versions_of_schemas_refused = when(
    "versions-of-schemas-refused",
    "A tool whose parameters state `$schema` is refused.",
    _states_version,
    refusing("unknown name $schema: cannot find field"),
    applies_to=has_parameters("tools"),
)
# Violates parameters: format belongs to a schema.
formats_of_tools_refused = when(
    "formats-of-tools-refused",
    "A tool with a string that has a format, such as date or uri, is refused.",
    _has_format,
    refusing("only enum and date-time are supported for strings"),
    applies_to=has_parameters("tools"),
)
ids_change_within_streamed_calls = hooked_fault(
    "ids-change-within-streamed-calls",
    "Each piece of a streamed call has another id.",
    chunk=_name_each_piece,
    applies_to=has_parameters("tools"),
)
