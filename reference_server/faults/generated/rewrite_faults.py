"""Generates faults from rewrites: what a request says is changed before the server reads it, in one kind of request.

`rewritten:question-cut.next-to-tools` cuts the last question if there are tools. Gateways, templates and parsers of
real servers have such faults. All rewrites together are the set `rewrites`, with an origin of its own like the blind
sets: no author has written them, and few requests show each of them.
"""

from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import jsonschema_rs

from reference_server.faults.decorators import has_parameters, hooked_fault
from reference_server.faults.generated.request_kinds import KINDS, with_role

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping

    from openapi.contract.contract import Contract
    from reference_server.faults.fault import Fault
    from reference_server.faults.generated.request_kinds import Kind
    from reference_server.faults.hooks import Json, ServedRequest

ORIGIN: Final = "rewrites"
LONGEST: Final = 64
"""Characters that a cut leaves."""


class Rewrite(NamedTuple):
    """A change to a request. fields: the JSON Schemas of the fields that it changes; all must be present."""

    line: str
    fields: Mapping[str, Any]
    edit: Callable[[Json], None]


TEXT_EDITS: Final[Mapping[str, tuple[str, Callable[[str], str]]]] = {
    "emptied": ("is lost", lambda _text: ""),
    "cut": (f"ends after {LONGEST} characters", lambda text: text[:LONGEST]),
    "cut-before": (f"begins {LONGEST} characters before its end", lambda text: text[-LONGEST:]),
    "stripped": ("loses the white space around it", str.strip),
    "squeezed": ("has one space in place of each white space", lambda text: re.sub(r"\s+", " ", text)),
    "lowered": ("is in lower case", str.lower),
    "in-ascii": ("loses all characters beyond ASCII", lambda text: text.encode("ascii", "ignore").decode()),
    "composed": ("is in the normal form NFKC", lambda text: unicodedata.normalize("NFKC", text)),
    "escaped": ("is escaped as HTML", html.escape),
    "unescaped": ("is unescaped as HTML", html.unescape),
    "without-backslashes": ("loses its backslashes", lambda text: text.replace("\\", "")),
    "twice": ("is repeated", lambda text: text + text),
}

TEXTS: Final[Mapping[str, tuple[str, tuple[str, ...]]]] = {
    "question": ("the last question", ("user",)),
    "instructions": ("the text of instructions", ("system", "developer")),
    "answer": ("the text of an earlier answer", ("assistant",)),
    "result": ("the result of a tool", ("tool",)),
}


def _messages(payload: Json, roles: Collection[str] = ()) -> list[Json]:
    """Return the messages of some roles, or all."""
    messages = payload.get("messages")
    items = [item for item in messages if isinstance(item, dict)] if isinstance(messages, list) else []
    return [item for item in items if not roles or item.get("role") in roles]


def _edit_text(message: Json, edit: Callable[[str], str]) -> None:
    """Edit the text of a message, a string or in parts."""
    content = message.get("content")
    if isinstance(content, str):
        message["content"] = edit(content)
    for part in content if isinstance(content, list) else ():
        if isinstance(part, dict) and isinstance(part.get("text"), str):
            part["text"] = edit(part["text"])


def _text_rewrites() -> Iterator[tuple[str, Rewrite]]:
    for place, (subject, roles) in TEXTS.items():
        for name, (effect, edit) in TEXT_EDITS.items():
            yield (
                f"{place}-{name}",
                Rewrite(f"{subject} {effect}", with_role(*roles), _edit_of(roles, edit, last=place == "question")),
            )


def _edit_of(roles: tuple[str, ...], edit: Callable[[str], str], *, last: bool) -> Callable[[Json], None]:
    def change(payload: Json) -> None:
        for message in _messages(payload, roles)[-1 if last else 0 :]:
            _edit_text(message, edit)

    return change


def _lose_first_turn(payload: Json) -> None:
    turns = [message for message in _messages(payload) if message.get("role") in {"user", "assistant"}]
    payload["messages"] = [message for message in payload["messages"] if message not in turns[:2]]


def _lose_history(payload: Json) -> None:
    first = _messages(payload, ("system", "developer"))
    payload["messages"] = [*first, *payload["messages"][-1:]]


def _instructions_as_user(payload: Json) -> None:
    for message in _messages(payload, ("system", "developer")):
        message["role"] = "user"


def _lose_calls(payload: Json) -> None:
    for message in _messages(payload, ("assistant",)):
        if message.pop("tool_calls", None) is not None and not message.get("content"):
            message["content"] = ""


def _empty_arguments(payload: Json) -> None:
    for message in _messages(payload, ("assistant",)):
        for call in message.get("tool_calls") or ():
            if isinstance(call, dict) and isinstance(call.get("function"), dict):
                call["function"]["arguments"] = "{}"


def _swap_results(payload: Json) -> None:
    results = _messages(payload, ("tool",))
    contents = [message.get("content") for message in results]
    for message, content in zip(results, reversed(contents), strict=True):
        message["content"] = content


def _edit_lists(edit: Callable[[list[Any]], list[Any]], *names: str) -> Callable[[Json], None]:
    def change(payload: Json) -> None:
        for name in names:
            if isinstance(payload.get(name), list):
                payload[name] = edit(payload[name])

    return change


def _edit_parts(edit: Callable[[list[Any]], list[Any]]) -> Callable[[Json], None]:
    def change(payload: Json) -> None:
        for message in _messages(payload, ("user",)):
            if isinstance(message.get("content"), list):
                message["content"] = edit(message["content"])

    return change


def _edit_functions(edit: Callable[[Json], object]) -> Callable[[Json], None]:
    def change(payload: Json) -> None:
        for tool in payload.get("tools") or ():
            if isinstance(tool, dict) and isinstance(tool.get("function"), dict):
                edit(tool["function"])

    return change


def _lose_in_parameters(keyword: str) -> Callable[[Json], None]:
    def lose(function: Json) -> None:
        parameters = function.get("parameters")
        if isinstance(parameters, dict):
            parameters.pop(keyword, None)
            for value in (parameters.get("properties") or {}).values():
                if isinstance(value, dict):
                    value.pop(keyword, None)

    return _edit_functions(lose)


def _edit_number(name: str, edit: Callable[[Any], Any]) -> Callable[[Json], None]:
    def change(payload: Json) -> None:
        if isinstance(payload.get(name), int | float) and not isinstance(payload[name], bool):
            payload[name] = edit(payload[name])

    return change


_TOOLS: Final = KINDS["next-to-tools"].fields
_PARTS: Final = KINDS["in-parts"].fields
_HISTORY: Final = with_role("assistant")
_RESULTS: Final = with_role("tool")

REWRITES: Final[Mapping[str, Rewrite]] = {
    **dict(_text_rewrites()),
    "history-lost": Rewrite("all but instructions and the last message is lost", _HISTORY, _lose_history),
    "first-turn-lost": Rewrite("the first turn is lost", _HISTORY, _lose_first_turn),
    "instructions-as-user": Rewrite(
        "instructions are read as a question", with_role("system", "developer"), _instructions_as_user
    ),
    "calls-lost": Rewrite("earlier calls are lost", _RESULTS, _lose_calls),
    "arguments-lost": Rewrite("the arguments of earlier calls are lost", _RESULTS, _empty_arguments),
    "results-swapped": Rewrite("the results of calls are swapped", _RESULTS, _swap_results),
    "parts-first-only": Rewrite("only the first part is read", _PARTS, _edit_parts(lambda parts: parts[:1])),
    "parts-last-only": Rewrite("only the last part is read", _PARTS, _edit_parts(lambda parts: parts[-1:])),
    "parts-reversed": Rewrite("parts are read in reverse order", _PARTS, _edit_parts(lambda parts: parts[::-1])),
    "tools-first-only": Rewrite("only the first tool is read", _TOOLS, _edit_lists(lambda tools: tools[:1], "tools")),
    "tools-last-only": Rewrite("only the last tool is read", _TOOLS, _edit_lists(lambda tools: tools[-1:], "tools")),
    "tools-undescribed": Rewrite(
        "descriptions of tools are lost", _TOOLS, _edit_functions(lambda function: function.pop("description", None))
    ),
    "required-lost": Rewrite("`required` of tools is lost", _TOOLS, _lose_in_parameters("required")),
    "enums-lost": Rewrite("`enum` of tools is lost", _TOOLS, _lose_in_parameters("enum")),
    "stop-first-only": Rewrite(
        "only the first stop string is read", {"stop": {"type": "array"}}, _edit_lists(lambda stops: stops[:1], "stop")
    ),
    "stop-last-only": Rewrite(
        "only the last stop string is read", {"stop": {"type": "array"}}, _edit_lists(lambda stops: stops[-1:], "stop")
    ),
    "limit-halved": Rewrite(
        "max_tokens is halved",
        {"max_tokens": {"type": "integer", "minimum": 2}},
        _edit_number("max_tokens", lambda limit: limit // 2),
    ),
    "choices-one-less": Rewrite(
        "n is one less", {"n": {"type": "integer", "minimum": 2}}, _edit_number("n", lambda count: count - 1)
    ),
    "temperature-halved": Rewrite(
        "temperature is halved",
        {"temperature": {"type": "number", "exclusiveMinimum": 0}},
        _edit_number("temperature", lambda value: value / 2),
    ),
}


def rewrite_faults_of(contract: Contract) -> Iterator[Fault]:
    """Yield a fault for each rewrite and each kind of request that a served contract has."""
    for rewrite_name, rewrite in REWRITES.items():
        for kind_name, kind in KINDS.items():
            if {*rewrite.fields, *kind.fields} <= contract.parameters.keys():
                line = f"{rewrite.line[0].upper()}{rewrite.line[1:]} {kind.line}."
                fault = rewrite_fault(f"rewritten:{rewrite_name}.{kind_name}", line, rewrite, kind)
                yield replace(fault, origin=ORIGIN, group=kind_name)


def rewrite_fault(name: str, line: str, rewrite: Rewrite, kind: Kind) -> Fault:
    """Make a fault that changes requests of a kind."""
    required = [*rewrite.fields, *kind.fields] if kind.present else [*rewrite.fields]
    both = [{"properties": dict(rewrite.fields)}, {"properties": dict(kind.fields)}]
    schema = {"type": "object", "required": sorted({*required}), "allOf": both}

    def change(request: ServedRequest) -> None:
        if jsonschema_rs.is_valid(schema, request.payload):
            rewrite.edit(request.payload)

    return hooked_fault(
        name, line, request=change, shows_in=schema, applies_to=has_parameters(*rewrite.fields, *kind.fields)
    )
