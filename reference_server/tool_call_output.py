"""Calls of tools as answers and chunks have them. Pure."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reference_server.engine import CallPiece, Delta

Json = dict[str, Any]
INPUT: Final = "input"
"""The one argument of the function that stands for a custom tool."""


@dataclass(frozen=True, slots=True)
class CallForm:
    """What calls of a request are written as.

    name: what their names begin with, and those of no other request. custom: names of the tools that take a text and no
    arguments. legacy: as function_call, of which there is one.
    """

    name: str = "call"
    custom: frozenset[str] = frozenset()
    legacy: bool = False

    def reason(self, finish_reason: str | None) -> str | None:
        """A finish reason as the request's form of calls has it."""
        return "function_call" if self.legacy and finish_reason == "tool_calls" else finish_reason


FUNCTIONS: Final = CallForm()


class CallWriter:
    """The calls of one choice. choice: its index."""

    def __init__(self, form: CallForm, choice: int) -> None:
        self._form = form
        self._name = f"{form.name}_{choice}"
        self._arguments: list[str] = []
        self._custom: dict[int, str] = {}  # those whose text is not known yet

    def whole(self, deltas: Iterable[Delta]) -> Json:
        """What the message of an answer has of them: no member where there is none."""
        names: list[str] = []
        for piece in _pieces(deltas):
            self._take(piece)
            names += [] if piece.name is None else [piece.name]
        if self._form.legacy and names:
            return {"function_call": {"name": names[0], "arguments": self._arguments[0]}}
        calls = [self._call(at, name) for at, name in enumerate(names)]
        return {"tool_calls": calls} if calls else {}

    def _call(self, at: int, name: str) -> Json:
        arguments = self._arguments[at]
        head = {"id": f"{self._name}_{at}"}
        if name in self._form.custom:
            text = _input(arguments)
            return {**head, "type": "custom", "custom": {"name": name, "input": "" if text is None else text}}
        return {**head, "type": "function", "function": {"name": name, "arguments": arguments}}

    def added(self, deltas: Iterable[Delta]) -> Json:
        """What the delta of a chunk has of them; an object for each call: its name once, its arguments in pieces."""
        changed: dict[int, Json] = {}
        for piece in _pieces(deltas):
            if piece.name is not None:
                changed[piece.index] = self._begun(piece.index, piece.name)
            self._take(piece)
            if piece.index in self._custom:
                self._add_input(changed, piece.index)
                continue
            call = changed.setdefault(piece.index, {"index": piece.index, "function": {"arguments": ""}})
            call["function"]["arguments"] += piece.arguments
        if not changed:
            return {}
        return {"function_call": changed[0]["function"]} if self._form.legacy else {"tool_calls": [*changed.values()]}

    def _begun(self, at: int, name: str) -> Json:
        head: Json = {"index": at, "id": f"{self._name}_{at}"}
        if name in self._form.custom:
            # OpenAI's chunks know no type but function: openai-api-2026#stream/choices/delta/tool_calls/type.
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
    """The text of a custom call, None before it is whole."""
    try:
        return str(json.loads(arguments)[INPUT])
    except ValueError:
        return None
