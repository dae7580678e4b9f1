"""One question with its answer, and the samples built from it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from random import Random
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
"""A message, a tool or a tool's arguments, as in the body of a chat request."""

THINK_OPEN, THINK_CLOSE = "<think>\n", "\n</think>\n\n"
END_OF_TURN, END_OF_TEXT = "<|im_end|>", "<|endoftext|>"


@dataclass(frozen=True, slots=True)
class Turn:
    """A question, the reasoning if it is requested, and the answer.

    `question` is a string or a list of content parts. `calls` are (tool name, arguments); if there are any, `answer` is
    empty.
    """

    question: str | list[Json]
    thought: str
    answer: str
    calls: tuple[tuple[str, Json], ...] = ()


Skill: TypeAlias = Callable[[Random], Turn]


@dataclass(frozen=True, slots=True)
class Dialogue:
    """A chat request (messages that end in a user or tool message, and tools) and the turn that answers it."""

    skill: str
    messages: tuple[Json, ...]
    tools: tuple[Json, ...]
    thinking: bool
    turn: Turn

    def answer(self) -> str:
        """Return the expected output after the template's generation prompt, including the end of turn."""
        thought = THINK_OPEN + self.turn.thought + THINK_CLOSE if self.thinking else ""
        return thought + visible_text(self.turn) + END_OF_TURN


@dataclass(frozen=True, slots=True)
class RawText:
    """A prompt without the chat template, and its continuation."""

    skill: str
    prompt: str
    continuation: str

    def answer(self) -> str:
        """Return the expected output after the prompt, including the end of text."""
        return self.continuation + END_OF_TEXT


Sample: TypeAlias = "Dialogue | RawText"


def visible_text(turn: Turn) -> str:
    """Return the visible text of a turn: its answer, or its calls in the format that the template documents."""
    if not turn.calls:
        return turn.answer
    lines = (json.dumps({"name": name, "arguments": args}, ensure_ascii=False) for name, args in turn.calls)
    return "\n".join(f"<tool_call>\n{line}\n</tool_call>" for line in lines)


def as_messages(turn: Turn) -> list[Json]:
    """Return the user and assistant messages of a turn, as a client sends them as history."""
    user: Json = {"role": "user", "content": turn.question}
    if not turn.calls:
        return [user, {"role": "assistant", "content": turn.answer}]
    calls = [
        {
            "id": f"call_{i}",
            "type": "function",
            "function": {"name": name, "arguments": json.dumps(args, ensure_ascii=False)},
        }
        for i, (name, args) in enumerate(turn.calls)
    ]
    return [user, {"role": "assistant", "content": None, "tool_calls": calls}]
