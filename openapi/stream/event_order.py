"""Check the order of events in a stream with two state machines: one for the stream, one for each choice.

Schemas describe a single event; this module describes their order. `walk` runs the data of all events through both
state machines and returns the accumulated choices and the breaches of the rules. Details on which dialects differ,
such as the place of usage or whether every delta repeats the role, are not rules: `Walk` records them, so that checks
can compare them with a dialect.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from openapi.stream.accumulated_choice import AccumulatedChoice, ChoiceAccumulator, is_index, nonempty
from openapi.stream.strict_json import JsonReader, quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

DONE: Final = "[DONE]"
MAX_PER_RULE: Final = 10
"""Breaches of each rule that are recorded; a hostile stream may have millions. All of them are counted."""

RULES: Final[Mapping[str, str]] = {
    "done-last": f"the stream ends with {DONE}",
    "done-once": f"{DONE} is sent once",
    "nothing-after-done": f"nothing else follows {DONE}",
    "events-are-json": f"every event but {DONE} is JSON",
    "events-are-objects": "every chunk is a JSON object",
    "choices-is-a-list": "every chunk has `choices`, an array of objects",
    "index-is-an-integer": "every choice has an integer `index`, 0 or more",
    "role-first": 'a role, if given, is "assistant" and comes no later than the first text',
    "one-finish-per-choice": "there is a choice, and every choice finishes exactly once",
    "nothing-after-finish": "a finished choice has no further output; only usage may be repeated",
    "usage-after-finish": "the usage-only chunk (no choices) comes after every choice has finished",
    "no-error-event": "no event reports an error",
}

StreamState = Literal["opening", "body", "usage", "done", "failed"]
Signal = Literal["output", "other", "usage", "error", "late", "done"]
# output: a chunk that advances a choice; usage: a usage-only chunk; late: any event after [DONE], which is not parsed;
# other: a chunk that advances no choice.
STREAM: Final[Mapping[StreamState, Mapping[Signal, StreamState]]] = {
    "opening": {"output": "body", "other": "opening", "usage": "usage", "error": "failed", "done": "done"},
    "body": {"output": "body", "other": "body", "usage": "usage", "error": "failed", "done": "done"},
    "usage": {"output": "body", "other": "usage", "usage": "usage", "error": "failed", "done": "done"},
    "done": {"late": "done", "done": "done"},
    "failed": {"output": "failed", "other": "failed", "usage": "failed", "error": "failed", "done": "failed"},
}
STREAM_BREACHES: Final[Mapping[tuple[StreamState, Signal], str]] = {
    ("opening", "error"): "no-error-event",
    ("body", "error"): "no-error-event",
    ("usage", "error"): "no-error-event",
    ("usage", "output"): "usage-after-finish",
    ("done", "late"): "nothing-after-done",
    ("done", "done"): "done-once",
}

ChoiceState = Literal["not started", "started", "finished"]
Sign = Literal["first role", "wrong role", "output", "finish", "usage only", "empty"]
# output: text, reasoning or a tool call; usage only: none of the others, in a chunk with usage; empty: none of them.
# In CHOICE, a pair of state and sign that is not listed leaves the state unchanged.
CHOICE: Final[Mapping[tuple[ChoiceState, Sign], ChoiceState]] = {
    ("not started", "output"): "started",
    ("not started", "finish"): "finished",
    ("started", "finish"): "finished",
}
CHOICE_BREACHES: Final[Mapping[tuple[ChoiceState, Sign], str]] = {
    ("not started", "wrong role"): "role-first",
    ("started", "wrong role"): "role-first",
    ("started", "first role"): "role-first",
    ("finished", "wrong role"): "nothing-after-finish",
    ("finished", "first role"): "nothing-after-finish",
    ("finished", "output"): "nothing-after-finish",
    ("finished", "empty"): "nothing-after-finish",
    ("finished", "finish"): "one-finish-per-choice",
}


@dataclass(frozen=True, slots=True)
class Breach:
    """One event that breaks a rule. `at` is its index, or the number of events if the end of the stream does."""

    rule: str
    at: int
    expected: str
    got: str


@dataclass(frozen=True, slots=True)
class Walk:
    """The content of a stream, and the rules that it breaks. All indices count events from 0.

    breaches: the first ones of each rule.
    breach_counts: the number of breaches of each rule.
    chunks: the JSON objects up to [DONE], including errors.
    oddities: oddities of their JSON (see `strict_json.JsonResult`).
    full_texts: the last `full_text` of each choice; a chunk sends it for its own choices, or for choice 0 without any.
    """

    breaches: tuple[Breach, ...]
    breach_counts: Mapping[str, int]
    chunks: tuple[tuple[int, dict[str, Any]], ...]
    choices: Mapping[int, AccumulatedChoice]
    usages: tuple[tuple[int, dict[str, Any]], ...]
    done_at: tuple[int, ...]
    errors: tuple[tuple[int, dict[str, Any]], ...]
    oddities: tuple[tuple[int, str], ...]
    full_texts: Mapping[int, str]


def walk(data: Sequence[str]) -> Walk:
    """Run the data of all events through the state machines. Never raises, whatever the data."""
    walker = _Walker()
    for at, text in enumerate(data):
        walker.read(at, text)
    return walker.end(len(data))


def reports_error(answer: object) -> bool:
    """Return whether a JSON value is an error in the form of any vendor, whatever its HTTP status.

    An error has a non-null `error`, or "error" as its `object`, or `code` and `message` but no `choices`, or an
    `err_msg` that is not empty, which may stand next to choices.
    """
    if not isinstance(answer, dict):
        return False
    if answer.get("error") is not None or answer.get("object") == "error" or answer.get("err_msg"):
        return True
    return "choices" not in answer and "code" in answer and "message" in answer


class _Walker:
    """The state of a stream and its choices while its events are read."""

    def __init__(self) -> None:
        self._state: StreamState = "opening"
        self._accumulators: dict[int, ChoiceAccumulator] = {}
        self._choice_states: dict[int, ChoiceState] = {}
        self._breaches: list[Breach] = []
        self._breach_counts: Counter[str] = Counter()
        self._chunks: list[tuple[int, dict[str, Any]]] = []
        self._usages: list[tuple[int, dict[str, Any]]] = []
        self._done_at: list[int] = []
        self._errors: list[tuple[int, dict[str, Any]]] = []
        self._oddities: list[tuple[int, str]] = []
        self._full_texts: dict[int, str] = {}
        self._last: str | None = None
        self._json = JsonReader()

    def read(self, at: int, text: str) -> None:
        """Read the data of one event."""
        self._last = text
        if text == DONE:
            self._done_at.append(at)
            self._step(at, "done")
            return
        if self._state == "done":
            self._step(at, "late")
            return
        result = self._json.read(text)
        self._oddities += [(at, oddity) for oddity in result.oddities]
        if result.error:
            self._report("events-are-json", at, f"{self._quoted()}: {result.error}")
        elif isinstance(result.value, dict):
            self._chunks.append((at, result.value))
            self._read_chunk(at, result.value)
        else:
            self._report("events-are-objects", at, self._quoted())

    def _read_chunk(self, at: int, chunk: dict[str, Any]) -> None:
        if reports_error(chunk):
            self._errors.append((at, chunk))
            self._step(at, "error")
            return
        usage = chunk.get("usage")
        has_usage = isinstance(usage, dict)
        if isinstance(usage, dict):
            self._usages.append((at, usage))
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            got = f"choices: {quote(choices)}" if "choices" in chunk else "`choices` is missing"
            self._report("choices-is-a-list", at, got)
            choices = []
        advanced = False
        for position, choice in enumerate(choices):
            if isinstance(choice, dict):
                advanced |= self._read_choice(at, position, choice, has_usage=has_usage)
            else:
                self._report("choices-is-a-list", at, f"choices[{position}]: {quote(choice)}")
        if full_text := nonempty(chunk.get("full_text")):
            sent = [choice.get("index") for choice in choices if isinstance(choice, dict)]
            self._full_texts |= dict.fromkeys([index for index in sent if is_index(index)] or [0], full_text)
        self._step(at, "output" if advanced else "usage" if has_usage and not choices else "other")

    def _read_choice(self, at: int, position: int, choice: dict[str, Any], *, has_usage: bool) -> bool:
        """Read one choice of a chunk; return whether it advances a choice that has not finished."""
        index = choice.get("index")
        if not is_index(index):
            got = quote(index) if "index" in choice else "`index` is missing"
            self._report("index-is-an-integer", at, f"choices[{position}]: {got}")
            index = position
        accumulator = self._accumulators.setdefault(index, ChoiceAccumulator())
        before = self._choice_states.get(index, "not started")
        state = before
        signs = list(_read_signs(accumulator, at, choice))
        advances = bool(signs) and before != "finished"
        if not signs:
            signs = ["usage only" if has_usage else "empty"]
        broken: list[str] = []
        for sign in signs:
            if rule := CHOICE_BREACHES.get((state, sign)):
                broken.append(rule)
            state = CHOICE.get((state, sign), state)
        self._choice_states[index] = state
        if broken:  # report only the first rule that an event breaks for a choice
            self._report(broken[0], at, f"choice {index}, {before}: {quote(choice)}")
        return advances

    def _step(self, at: int, signal: Signal) -> None:
        if rule := STREAM_BREACHES.get((self._state, signal)):
            self._report(rule, at, self._quoted())
        self._state = STREAM[self._state][signal]

    def _quoted(self) -> str:
        """Quote the last event for a report."""
        return "no event" if self._last is None else quote(self._last)

    def _report(self, rule: str, at: int, got: str) -> None:
        self._breach_counts[rule] += 1
        if self._breach_counts[rule] <= MAX_PER_RULE:
            self._breaches.append(Breach(rule, at, RULES[rule], got))

    def end(self, at: int) -> Walk:
        """Return the result. A stream that failed has no other breaches: the error is the breach."""
        if self._state != "failed":
            if not self._done_at:
                self._report("done-last", at, f"last: {self._quoted()}")
            if not self._accumulators:
                self._report("one-finish-per-choice", at, "no event has a choice")
            for index, state in sorted(self._choice_states.items()):
                if state != "finished":
                    self._report("one-finish-per-choice", at, f"choice {index} never finished")
        return Walk(
            breaches=tuple(self._breaches),
            breach_counts=dict(self._breach_counts),
            chunks=tuple(self._chunks),
            choices={
                index: accumulator.result(full_text=self._full_texts.get(index), may_repeat=bool(self._full_texts))
                for index, accumulator in sorted(self._accumulators.items())
            },
            usages=tuple(self._usages),
            done_at=tuple(self._done_at),
            errors=tuple(self._errors),
            oddities=tuple(self._oddities),
            full_texts=self._full_texts,
        )


def _read_signs(accumulator: ChoiceAccumulator, at: int, choice: dict[str, Any]) -> Iterator[Sign]:
    """Accumulate one choice of a chunk and yield its signs in the order in which a client reads them."""
    known = len(accumulator.roles)
    has_output = accumulator.add(at, choice.get("delta"), choice.get("finish_reason"))
    for role in accumulator.roles[known:]:
        if role != "assistant":
            yield "wrong role"
        elif not known:
            yield "first role"
    if has_output:
        yield "output"
    if nonempty(choice.get("finish_reason")):
        yield "finish"
