"""Accumulate the deltas of one choice of a stream, or read it from a plain answer, with the same result.

With MindIE's `fullTextEnabled`, every delta contains the whole text so far, the last delta repeats it, and `full_text`
is sent next to the `choices` of the last chunk of each choice. Joining such deltas would repeat the text. A stream of
"a", "ab" may still be an ordinary incremental one, so `AccumulatedChoice.content` treats deltas as cumulative only if
the stream also sends `full_text`.
Checks that know the mode of the server use `content_incremental` or the last of `deltas` instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, TypeGuard

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

INPUT_FIELDS: Final[Mapping[str, str]] = {"function": "arguments", "custom": "input"}
"""Field of the input of a call, by the kind of tool, which is also the name of the object with it."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One accumulated tool call. `ids`, `types` and `names` are all non-empty values in the order sent.

    `index` is the index that was sent, or the position in the list if none was. `kind` is that of the tool, "function"
    or "custom", by the object that the call has. `arguments` of a custom tool are its input.
    """

    index: int
    kind: str
    ids: tuple[str, ...]
    types: tuple[str, ...]
    names: tuple[str, ...]
    arguments: str

    @property
    def name(self) -> str:
        """The name of the tool as clients accumulate it: all parts joined."""
        return "".join(self.names)


@dataclass(frozen=True, slots=True)
class AccumulatedChoice:
    """The whole content of one choice. A plain message counts as event 0.

    roles: all non-empty roles in the order sent.
    finish_reason: the first non-empty one.
    deltas, delta_at: the non-empty texts, and the indices of their events.
    output_at: indices of the events with text, reasoning or a tool call; the first one determines TTFT.
    """

    content: str
    reasoning: str
    roles: tuple[str, ...]
    finish_reason: str | None
    deltas: tuple[str, ...]
    delta_at: tuple[int, ...]
    output_at: tuple[int, ...]
    tool_calls: tuple[ToolCall, ...]

    @property
    def content_incremental(self) -> str:
        """The joined deltas: the text, unless each delta repeats the whole text."""
        return "".join(self.deltas)

    @property
    def is_cumulative(self) -> bool:
        """Whether each delta starts with the previous one and at least one is longer (see the module docstring)."""
        return is_cumulative(self.deltas)


class ChoiceAccumulator:
    """Accumulates one choice: call `add` for each delta, then `result`."""

    def __init__(self) -> None:
        self.roles: list[str] = []
        self._content: list[tuple[int, str]] = []
        self._reasoning: list[str] = []
        self._output_at: list[int] = []
        self._finish_reason: str | None = None
        self._calls: dict[int, _CallAccumulator] = {}

    def add(self, at: int, delta: object, finish_reason: object) -> bool:
        """Add a delta or message; return whether it contains text, reasoning or a tool call.

        Fields of the wrong type are ignored; schema validation reports them.
        """
        fields = delta if isinstance(delta, dict) else {}
        content = nonempty(fields.get("content"))
        # Two names for the same field; a server that sends both sends the same text twice.
        reasoning = nonempty(fields.get("reasoning_content")) or nonempty(fields.get("reasoning"))
        calls = fields.get("tool_calls")
        calls = calls if isinstance(calls, list) else []
        if role := nonempty(fields.get("role")):
            self.roles.append(role)
        if content:
            self._content.append((at, content))
        if reasoning:
            self._reasoning.append(reasoning)
        for position, call in enumerate(calls):
            if isinstance(call, dict):
                index = call.get("index")
                self._calls.setdefault(index if is_index(index) else position, _CallAccumulator()).add(call)
        self._finish_reason = self._finish_reason or nonempty(finish_reason)
        has_output = bool(content or reasoning or calls)
        if has_output:
            self._output_at.append(at)
        return has_output

    def result(self, *, full_text: str | None = None, may_repeat: bool = False) -> AccumulatedChoice:
        """Return the accumulated choice.

        full_text: the `full_text` that was sent for this choice.
        may_repeat: whether the stream sent a `full_text` for any choice.
        """
        texts = tuple(text for _, text in self._content)
        # An answer of one token is sent twice: once as a delta, and once more by the last chunk.
        repeats = may_repeat and (is_cumulative(texts) or set(texts) == {full_text})
        return AccumulatedChoice(
            content=_join(texts, cumulative=repeats),
            reasoning=_join(self._reasoning, cumulative=repeats or (may_repeat and is_cumulative(self._reasoning))),
            roles=tuple(self.roles),
            finish_reason=self._finish_reason,
            deltas=texts,
            delta_at=tuple(at for at, _ in self._content),
            output_at=tuple(self._output_at),
            tool_calls=tuple(call.result(index) for index, call in sorted(self._calls.items())),
        )


class _CallAccumulator:
    def __init__(self) -> None:
        self._kind = "function"
        self._ids: list[str] = []
        self._types: list[str] = []
        self._names: list[str] = []
        self._arguments: list[str] = []

    def add(self, call: dict[str, Any]) -> None:
        self._kind = kind_of_call(call) or self._kind
        tool = call.get(self._kind)
        fields = tool if isinstance(tool, dict) else {}
        for values, value in (
            (self._ids, call.get("id")),
            (self._types, call.get("type")),
            (self._names, fields.get("name")),
            (self._arguments, fields.get(INPUT_FIELDS[self._kind])),
        ):
            if text := nonempty(value):
                values.append(text)

    def result(self, index: int) -> ToolCall:
        ids, types, names = tuple(self._ids), tuple(self._types), tuple(self._names)
        return ToolCall(index, self._kind, ids, types, names, "".join(self._arguments))


def kind_of_call(call: Mapping[str, Any]) -> str | None:
    """Return the kind of the tool that a call, or a piece of one, has an object for: "function" or "custom"."""
    return next((kind for kind in INPUT_FIELDS if isinstance(call.get(kind), dict)), None)


def accumulate_answer(answer: object) -> dict[int, AccumulatedChoice]:
    """Read the choices of a plain answer by index; a choice without a valid index is numbered by its position."""
    accumulators: dict[int, ChoiceAccumulator] = {}
    choices = answer.get("choices") if isinstance(answer, dict) else None
    for position, choice in enumerate(choices if isinstance(choices, list) else []):
        if isinstance(choice, dict):
            index = choice.get("index")
            accumulator = accumulators.setdefault(index if is_index(index) else position, ChoiceAccumulator())
            accumulator.add(0, choice.get("message"), choice.get("finish_reason"))
    return {index: accumulator.result() for index, accumulator in sorted(accumulators.items())}


def is_index(value: object) -> TypeGuard[int]:
    """Return whether a value is an integer of 0 or more; True and 1.0 are not."""
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def is_cumulative(texts: Sequence[str]) -> bool:
    """Return whether each text starts with the previous one and at least one is longer."""
    return all(b.startswith(a) for a, b in pairwise(texts)) and any(a != b for a, b in pairwise(texts))


def nonempty(value: object) -> str | None:
    """Return the value if it is a non-empty string, else None."""
    return value if isinstance(value, str) and value else None


def _join(texts: Sequence[str], *, cumulative: bool) -> str:
    return texts[-1] if texts and cumulative else "".join(texts)
