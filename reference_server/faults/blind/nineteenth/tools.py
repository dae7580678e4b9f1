"""Blind faults of tools: words, alternatives and schemas of arguments, and tools of later turns."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.faults.blind.recipes import refusing, when
from reference_server.faults.blind.tool_recipes import arguments_fault, functions_of
from reference_server.faults.blind.validity import NO_TOOL, allows
from reference_server.faults.decorators import has_parameters
from reference_server.faults.fault import Fault

if TYPE_CHECKING:
    from collections.abc import Mapping

    from reference_server.engine import Engine
    from reference_server.faults.hooks import Json

NOTHING: Final = ("null", "none", "nil")
BRANCHES: Final = ("anyOf", "oneOf")
BARE_TOOL: Final = {"type": "function", "function": {"name": "wait", "parameters": {"type": "object"}}}


def _read_words(arguments: str, _schemas: Json) -> str:
    """Guess the type of a value. Violates arguments: the string that the model wrote."""
    values = json.loads(arguments)
    read = {
        name: None if isinstance(value, str) and value.lower() in NOTHING else value for name, value in values.items()
    }
    return arguments if read == values else json.dumps(read, ensure_ascii=False)


def _quote_alternatives(arguments: str, schemas: Json) -> str:
    """Look for a type alone. Violates arguments: a value that matches one of the branches."""

    def is_quoted(name: str, value: Any) -> bool:
        schema = schemas.get(name)
        branches = isinstance(schema, dict) and "type" not in schema and any(key in schema for key in BRANCHES)
        return branches and not isinstance(value, str)

    values = json.loads(arguments)
    quoted = {name: json.dumps(value) if is_quoted(name, value) else value for name, value in values.items()}
    return arguments if quoted == values else json.dumps(quoted, ensure_ascii=False)


def _lacks_properties(sent: Json) -> bool:
    schemas = [function.get("parameters") for function in functions_of(sent)]
    return any(
        isinstance(schema, dict) and schema.get("type") == "object" and "properties" not in schema for schema in schemas
    )


def _states_parallel_calls(sent: Json) -> bool:
    return sent.get("parallel_tool_calls") is True


class ForgetfulEngine:
    """An engine that takes tools for known in later turns. Violates tools: those of the request."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._latest: tuple[list[bytes], bytes] = ([], b"")

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def encode_chat(
        self,
        messages: list[Json],
        tools: list[Json] | None = None,
        template_kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the prompt, without the tools if it continues the last conversation with the same tools."""
        turns = [repr(message).encode() for message in messages]
        named = orjson.dumps(tools) if tools else b""
        earlier, known = self._latest
        continues = bool(earlier) and len(turns) > len(earlier) and turns[: len(earlier)] == earlier
        self._latest = (turns, named)
        return self._engine.encode_chat(messages, None if continues and named == known else tools, template_kwargs)


words_like_null_become_null = arguments_fault(
    "words-like-null-become-null",
    "In plain answers, the strings null, none and nil as arguments of calls become null.",
    _read_words,
)
values_of_alternatives_in_quotes = arguments_fault(
    "values-of-alternatives-in-quotes",
    "In plain answers, arguments whose schema is an anyOf or oneOf without a type are strings.",
    _quote_alternatives,
)
# Violates function.parameters: a JSON schema, in which properties may be missing. OpenAI's own API refuses it.
objects_without_properties_refused = when(
    "objects-without-properties-refused",
    "A tool is refused if its parameters are an object without `properties`.",
    _lacks_properties,
    refusing("tools.function.parameters: object schema missing properties"),
    applies_to=allows(tools=[BARE_TOOL]),
)
# Violates parallel_tool_calls: true is the default.
stated_parallel_calls_refused = when(
    "stated-parallel-calls-refused",
    "A request whose parallel_tool_calls is true is refused.",
    _states_parallel_calls,
    refusing("parallel_tool_calls: unsupported parameter"),
    applies_to=allows(tools=[NO_TOOL], parallel_tool_calls=True),
)
tools_unchanged_in_later_turns_forgotten = Fault(
    "tools-unchanged-in-later-turns-forgotten",
    "If a request continues the conversation of the last one with the same tools, they do not reach the model.",
    has_parameters("tools"),
    lambda app, _contract: app,
    ForgetfulEngine,
    affects="requests",
)
