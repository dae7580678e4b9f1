"""Tools that an answer may call, and pieces of its calls."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ToolParameter:
    """One parameter of a tool. schema: as JSON text."""

    name: str
    schema: str
    required: bool


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that may be called.

    quoted_name: the name as a JSON string.
    schema: JSON Schema of the arguments, as JSON text.
    parameters: the same schema, split by parameter; None if it cannot be split.
    strict: calls must match the schema, or the request is refused; otherwise any object is allowed if the schema cannot
        be compiled to a grammar.
    """

    name: str
    quoted_name: str
    schema: str
    parameters: tuple[ToolParameter, ...] | None
    strict: bool = True


@dataclass(frozen=True, slots=True)
class ToolUse:
    """The tools of a request.

    tools: tools that may be called; if empty, no calls are allowed.
    required: at least one tool must be called.
    parallel: one answer may contain several calls.
    """

    tools: tuple[Tool, ...]
    required: bool = False
    parallel: bool = True


@dataclass(frozen=True, slots=True)
class CallPiece:
    """The contribution of one token to one tool call.

    index: index of the call, from 0.
    name: the complete name, in the first piece of the call only.
    arguments: the next part of the arguments as JSON text.
    """

    index: int
    name: str | None
    arguments: str
