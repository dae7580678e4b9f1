"""ToolUse: which tools an answer may call, and what comes of a call."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ToolParameter:
    """One argument of a tool. schema: as JSON text."""

    name: str
    schema: str
    required: bool


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool that may be called.

    quoted: the name as JSON text. schema: what the arguments must fit, as JSON text. keywords: the same argument by
    argument; None where the schema cannot be taken apart so. exact: calls must fit the schema, or cannot be; otherwise
    any object will do where the schema is beyond the grammar.
    """

    name: str
    quoted_name: str
    schema: str
    parameters: tuple[ToolParameter, ...] | None
    strict: bool = True


@dataclass(frozen=True, slots=True)
class ToolUse:
    """tools: those that may be called, none of them if it is empty. required: at least one must be. parallel: one
    answer may hold several calls."""

    tools: tuple[Tool, ...]
    required: bool = False
    parallel: bool = True


@dataclass(frozen=True, slots=True)
class CallPiece:
    """What a token added to one of an answer's calls.

    index: of the call, from 0. name: with the call's first piece, whole. arguments: a piece of their JSON text.
    """

    index: int
    name: str | None
    arguments: str
