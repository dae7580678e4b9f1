"""Faults in which the server refuses one form of a value that its contract allows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.decorators import has_parameters, hooked_fault
from reference_server.faults.hooks import Refusal

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from openapi.contract.contract import Contract
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest


def _refuse(
    name: str, line: str, has_form: Callable[[Json], bool], applies_to: Callable[[Contract], bool], *declares: str
) -> Fault:
    """Make a fault that refuses the requests in which a form is found."""

    def refuse(request: ServedRequest) -> None:
        if has_form(request.payload):
            raise Refusal("invalid_request", f"not supported: {line}")

    return hooked_fault(name, line, request=refuse, applies_to=applies_to, declares=declares)


def _messages(payload: Json, *roles: str) -> Iterator[Json]:
    messages = payload.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and message.get("role") in roles:
            yield message


def _parts(payload: Json) -> Iterator[Json]:
    for message in _messages(payload, "user"):
        content = message.get("content")
        yield from (part for part in (content if isinstance(content, list) else ()) if isinstance(part, dict))


def _inside(payload: Json, parameter: str) -> Json:
    """Return the object that is the value of a parameter; an empty one for any other value."""
    value = payload.get(parameter)
    return value if isinstance(value, dict) else {}


def _tools(payload: Json, kind: str) -> Iterator[Json]:
    tools = payload.get("tools")
    for tool in tools if isinstance(tools, list) else ():
        if isinstance(tool, dict) and isinstance(tool.get(kind), dict):
            yield tool[kind]


def _has_detail(payload: Json) -> bool:
    return any("detail" in _inside(part, "image_url") for part in _parts(payload))


def _knows_detail(contract: Contract) -> bool:
    return "detail" in str(contract.schemas.get("ImagePart")) and "media" in contract.capabilities


def _has_schema(name: str) -> Callable[[Contract], bool]:
    return lambda contract: name in contract.schemas


def _takes_null_calls(contract: Contract) -> bool:
    message: Any = contract.schemas.get("AssistantMessage", {})
    return "null" in message.get("properties", {}).get("tool_calls", {}).get("type", ())


OUTPUTS = has_parameters("structured_outputs")
STRUCTURED = "structured_output"

image_detail_refused = _refuse(
    "form-of-image-detail-refused", "`detail` of an image is refused.", _has_detail, _knows_detail
)
developer_parts_refused = _refuse(
    "form-of-developer-parts-refused",
    "Instructions of the developer that are a list of parts are refused.",
    lambda payload: any(isinstance(message.get("content"), list) for message in _messages(payload, "developer")),
    _has_schema("DeveloperMessage"),
)
null_calls_refused = _refuse(
    "form-of-null-calls-refused",
    "`tool_calls: null` in a message of the assistant is refused.",
    lambda payload: any(message.get("tool_calls", ()) is None for message in _messages(payload, "assistant")),
    _takes_null_calls,
    "tools",
)
names_of_assistants_refused = _refuse(
    "form-of-names-of-assistants-refused",
    "`name` in a message of the assistant is refused.",
    lambda payload: any("name" in message for message in _messages(payload, "assistant")),
    lambda contract: "name" in contract.schemas.get("AssistantMessage", {}).get("properties", {}),
)
grammar_refused = _refuse(
    "form-of-grammar-refused",
    "A grammar in `structured_outputs` is refused.",
    lambda payload: "grammar" in _inside(payload, "structured_outputs"),
    OUTPUTS,
    STRUCTURED,
)
schema_strings_refused = _refuse(
    "form-of-schema-strings-refused",
    "A schema that is a string is refused in `structured_outputs`.",
    lambda payload: isinstance(_inside(payload, "structured_outputs").get("json"), str),
    OUTPUTS,
    STRUCTURED,
)
whitespace_options_refused = _refuse(
    "form-of-whitespace-options-refused",
    "Options of white space in `structured_outputs` are refused.",
    lambda payload: "whitespace_pattern" in _inside(payload, "structured_outputs"),
    OUTPUTS,
    STRUCTURED,
)
structural_tags_refused = _refuse(
    "form-of-structural-tags-refused",
    "Structural tags as `response_format` are refused.",
    lambda payload: _inside(payload, "response_format").get("type") == "structural_tag",
    _has_schema("StructuralTagFormat"),
    STRUCTURED,
)
null_descriptions_refused = _refuse(
    "form-of-null-descriptions-refused",
    "`description: null` of a function is refused.",
    lambda payload: any(function.get("description", "") is None for function in _tools(payload, "function")),
    lambda contract: "null" in str(contract.schemas.get("ToolFunction", {}).get("properties", {}).get("description")),
    "tools",
)
prediction_parts_refused = _refuse(
    "form-of-prediction-parts-refused",
    "A prediction that is a list of parts is refused.",
    lambda payload: isinstance(_inside(payload, "prediction").get("content"), list),
    has_parameters("prediction"),
    "prediction",
)
grammars_of_tools_refused = _refuse(
    "form-of-grammars-of-tools-refused",
    "A custom tool with a grammar is refused.",
    lambda payload: any(_inside(tool, "format").get("type") == "grammar" for tool in _tools(payload, "custom")),
    _has_schema("CustomTool"),
    "tools",
)
custom_choice_refused = _refuse(
    "form-of-custom-choice-refused",
    "A choice of a custom tool is refused.",
    lambda payload: _inside(payload, "tool_choice").get("type") == "custom",
    _has_schema("NamedCustomToolChoice"),
    "tools",
)
function_call_refused = _refuse(
    "form-of-function-call-refused",
    "`function_call: auto` is refused.",
    lambda payload: payload.get("function_call") == "auto",
    has_parameters("function_call"),
    "functions",
)
no_storing_refused = _refuse(
    "form-of-no-storing-refused",
    "`store: false` is refused.",
    lambda payload: payload.get("store") is False,
    has_parameters("store"),
)
