"""Tool calls as responses and stream chunks represent them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reference_server.engine import CallPiece, Delta

Json = dict[str, Any]
INPUT: Final = "input"
"""The only argument of the function that represents a custom tool."""


@dataclass(frozen=True, slots=True)
class ToolCallFormat:
    """How the tool calls of one request are written.

    id_prefix: prefix of the call ids, unique to the request.
    custom: names of the custom tools, which take a string instead of arguments.
    legacy: write a call as `function_call`, of which a message has at most one.
    """

    id_prefix: str = "call"
    custom: frozenset[str] = frozenset()
    legacy: bool = False

    def finish_reason(self, reason: str | None) -> str | None:
        """Return the finish reason in this format."""
        return "function_call" if self.legacy and reason == "tool_calls" else reason


DEFAULT_FORMAT: Final = ToolCallFormat()


class ToolCallWriter:
    """Writes the tool calls of one choice. choice: index of the choice."""

    def __init__(self, call_format: ToolCallFormat, choice: int) -> None:
        self._format = call_format
        self._id_prefix = f"{call_format.id_prefix}_{choice}"
        self._arguments: list[str] = []
        self._custom: dict[int, str] = {}  # calls of custom tools, whose input is complete only at the end

    def message_fields(self, deltas: Iterable[Delta]) -> Json:
        """Return the fields that the message of a whole response has for its calls, if it has any."""
        names: list[str] = []
        for piece in _pieces(deltas):
            self._take(piece)
            names += [] if piece.name is None else [piece.name]
        if self._format.legacy and names:
            return {"function_call": {"name": names[0], "arguments": self._arguments[0]}}
        calls = [self._call(at, name) for at, name in enumerate(names)]
        return {"tool_calls": calls} if calls else {}

    def _call(self, at: int, name: str) -> Json:
        arguments = self._arguments[at]
        head = {"id": f"{self._id_prefix}_{at}"}
        if name in self._format.custom:
            text = _input(arguments)
            return {**head, "type": "custom", "custom": {"name": name, "input": "" if text is None else text}}
        return {**head, "type": "function", "function": {"name": name, "arguments": arguments}}

    def delta_fields(self, deltas: Iterable[Delta]) -> Json:
        """Return the fields that the delta of a chunk has for its calls.

        There is one object for each call that changed. It names the call once and carries the arguments in pieces.
        """
        changed: dict[int, Json] = {}
        for piece in _pieces(deltas):
            if piece.name is not None:
                changed[piece.index] = self._begin(piece.index, piece.name)
            self._take(piece)
            if piece.index in self._custom:
                self._add_input(changed, piece.index)
                continue
            call = changed.setdefault(piece.index, {"index": piece.index, "function": {"arguments": ""}})
            call["function"]["arguments"] += piece.arguments
        if not changed:
            return {}
        return {"function_call": changed[0]["function"]} if self._format.legacy else {"tool_calls": [*changed.values()]}

    def _begin(self, at: int, name: str) -> Json:
        head: Json = {"index": at, "id": f"{self._id_prefix}_{at}"}
        if name in self._format.custom:
            # OpenAI's chunks have no other type than function: openai-api-2026#stream/choices/delta/tool_calls/type.
            self._custom[at] = name
            return {**head, "custom": {"name": name, "input": ""}}
        return {**head, "type": "function", "function": {"name": name, "arguments": ""}}

    def _add_input(self, changed: dict[int, Json], at: int) -> None:
        text = _input(self._arguments[at])
        if text:
            call = changed.setdefault(at, {"index": at, "custom": {"input": ""}})
            call["custom"]["input"] = text

    def _take(self, piece: CallPiece) -> None:
        if piece.name is not None:
            self._arguments.append("")
        self._arguments[piece.index] += piece.arguments


def _pieces(deltas: Iterable[Delta]) -> Iterable[CallPiece]:
    return (piece for delta in deltas for piece in delta.calls)


def _input(arguments: str) -> str | None:
    """Return the input of a custom call, or None while the arguments are incomplete."""
    try:
        return str(json.loads(arguments)[INPUT])
    except ValueError:
        return None
