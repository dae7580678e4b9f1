"""The legal order of a stream, as two tables: one for the stream, one for each choice.

Schemas describe one event; the order of events is stated here. `walk` takes the data of every event, follows
both tables and returns what the stream said (`Folded`, per choice) and where it left the tables (`Breach`). What
the dialects disagree on is no rule: where usage sits, whether every delta repeats the role. `Walk` keeps such
facts for a judge to compare with a dialect; `folded.py` tells the trap of cumulative text.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from openapi.stream.accumulated_choice import Fold, Folded, is_index, nonempty
from openapi.stream.strict_json import JsonReader, quote

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

DONE: Final = "[DONE]"
KEPT_PER_RULE: Final = 10
"""Breaches kept of each rule; a hostile stream repeats itself millions of times. All of them are counted."""

RULES: Final[Mapping[str, str]] = {
    "done-last": f"the stream ends with {DONE}",
    "done-once": f"{DONE} is sent once",
    "nothing-after-done": f"nothing else follows {DONE}",
    "events-are-json": f"every event but {DONE} is JSON",
    "events-are-objects": "every chunk is a JSON object",
    "choices-is-a-list": "every chunk has `choices`, a list of objects",
    "index-is-an-integer": "every choice has an integer `index`, 0 or more",
    "role-first": 'a role, if given, is "assistant" and comes no later than the first text',
    "one-finish-per-choice": "there is a choice, and every choice finishes exactly once",
    "nothing-after-finish": "a finished choice says nothing more; only usage may be repeated",
    "usage-after-finish": "the usage-only chunk (no choices) comes after every choice has finished",
    "no-error-event": "no event reports an error",
}

StreamState = Literal["opening", "body", "usage", "done", "failed"]
Signal = Literal["speech", "note", "usage", "error", "more", "done"]
# speech: a choice went on; note: a chunk that moves no choice; usage: a usage-only chunk; more: any event after
# [DONE], which is read no further.
STREAM: Final[Mapping[StreamState, Mapping[Signal, StreamState]]] = {
    "opening": {"speech": "body", "note": "opening", "usage": "usage", "error": "failed", "done": "done"},
    "body": {"speech": "body", "note": "body", "usage": "usage", "error": "failed", "done": "done"},
    "usage": {"speech": "body", "note": "usage", "usage": "usage", "error": "failed", "done": "done"},
    "done": {"more": "done", "done": "done"},
    "failed": {"speech": "failed", "note": "failed", "usage": "failed", "error": "failed", "done": "failed"},
}
STREAM_BREACHES: Final[Mapping[tuple[StreamState, Signal], str]] = {
    ("opening", "error"): "no-error-event",
    ("body", "error"): "no-error-event",
    ("usage", "error"): "no-error-event",
    ("usage", "speech"): "usage-after-finish",
    ("done", "more"): "nothing-after-done",
    ("done", "done"): "done-once",
}

ChoiceState = Literal["waiting", "speaking", "finished"]
Sign = Literal["first role", "wrong role", "piece", "finish", "repeat", "quiet"]
# piece: text, reasoning or a tool call; repeat: none of the others, in a chunk with usage; quiet: none at all.
# Only these signs move a choice; every other leaves it where it is.
CHOICE: Final[Mapping[tuple[ChoiceState, Sign], ChoiceState]] = {
    ("waiting", "piece"): "speaking",
    ("waiting", "finish"): "finished",
    ("speaking", "finish"): "finished",
}
CHOICE_BREACHES: Final[Mapping[tuple[ChoiceState, Sign], str]] = {
    ("waiting", "wrong role"): "role-first",
    ("speaking", "wrong role"): "role-first",
    ("speaking", "first role"): "role-first",
    ("finished", "wrong role"): "nothing-after-finish",
    ("finished", "first role"): "nothing-after-finish",
    ("finished", "piece"): "nothing-after-finish",
    ("finished", "quiet"): "nothing-after-finish",
    ("finished", "finish"): "one-finish-per-choice",
}


@dataclass(frozen=True, slots=True)
class Breach:
    """One event that breaks a rule. `at` is its index, or the number of events if the end breaks it."""

    rule: str
    at: int
    expected: str
    got: str


@dataclass(frozen=True, slots=True)
class Walk:
    """What a stream said, and the rules it broke. All indices count events from 0.

    `breaches` holds the first of each rule and `breach_counts` how many there were. `chunks` are the objects read
    before [DONE], errors among them; `oddities` are strange things in their JSON (see `strict_json.Reading`).
    `full_text` is the last one sent.
    """

    breaches: tuple[Breach, ...]
    breach_counts: Mapping[str, int]
    chunks: tuple[tuple[int, dict[str, Any]], ...]
    choices: Mapping[int, Folded]
    usages: tuple[tuple[int, dict[str, Any]], ...]
    done_at: tuple[int, ...]
    errors: tuple[tuple[int, dict[str, Any]], ...]
    oddities: tuple[tuple[int, str], ...]
    full_text: str | None


def walk(data: Sequence[str]) -> Walk:
    """Follows a stream, given the data of its events. Never raises, whatever JSON they hold."""
    walker = _Walker()
    for at, text in enumerate(data):
        walker.read(at, text)
    return walker.end(len(data))


def reports_error(answer: object) -> bool:
    """Whether a JSON value is an error in one of the vendors' shapes, however it was delivered.

    A non-null `error`, an `object` that is "error", or a `code` with a `message` where `choices` should be.
    """
    if not isinstance(answer, dict):
        return False
    if answer.get("error") is not None or answer.get("object") == "error":
        return True
    return "choices" not in answer and "code" in answer and "message" in answer


class _Walker:
    """A stream while it is being read."""

    def __init__(self) -> None:
        self._state: StreamState = "opening"
        self._folds: dict[int, Fold] = {}
        self._choice_states: dict[int, ChoiceState] = {}
        self._breaches: list[Breach] = []
        self._breach_counts: Counter[str] = Counter()
        self._chunks: list[tuple[int, dict[str, Any]]] = []
        self._usages: list[tuple[int, dict[str, Any]]] = []
        self._done_at: list[int] = []
        self._errors: list[tuple[int, dict[str, Any]]] = []
        self._oddities: list[tuple[int, str]] = []
        self._full_text: str | None = None
        self._last: str | None = None
        self._json = JsonReader()

    def read(self, at: int, text: str) -> None:
        """Takes one event's data."""
        self._last = text
        if text == DONE:
            self._done_at.append(at)
            self._step(at, "done")
            return
        if self._state == "done":
            self._step(at, "more")
            return
        reading = self._json.read(text)
        self._oddities += [(at, oddity) for oddity in reading.oddities]
        if reading.error:
            self._note("events-are-json", at, f"{self._quoted()}: {reading.error}")
        elif isinstance(reading.value, dict):
            self._chunks.append((at, reading.value))
            self._read_chunk(at, reading.value)
        else:
            self._note("events-are-objects", at, self._quoted())

    def _read_chunk(self, at: int, chunk: dict[str, Any]) -> None:
        if reports_error(chunk):
            self._errors.append((at, chunk))
            self._step(at, "error")
            return
        usage = chunk.get("usage")
        has_usage = isinstance(usage, dict)
        if isinstance(usage, dict):
            self._usages.append((at, usage))
        self._full_text = nonempty(chunk.get("full_text")) or self._full_text
        choices = chunk.get("choices")
        if not isinstance(choices, list):
            got = f"choices: {quote(choices)}" if "choices" in chunk else "no `choices`"
            self._note("choices-is-a-list", at, got)
            choices = []
        moved = False
        for position, choice in enumerate(choices):
            if isinstance(choice, dict):
                moved |= self._read_choice(at, position, choice, has_usage=has_usage)
            else:
                self._note("choices-is-a-list", at, f"choices[{position}]: {quote(choice)}")
        self._step(at, "speech" if moved else "usage" if has_usage and not choices else "note")

    def _read_choice(self, at: int, position: int, choice: dict[str, Any], *, has_usage: bool) -> bool:
        """Whether a choice that had not finished went on."""
        index = choice.get("index")
        if not is_index(index):
            got = quote(index) if "index" in choice else "no `index`"
            self._note("index-is-an-integer", at, f"choices[{position}]: {got}")
            index = position
        fold = self._folds.setdefault(index, Fold())
        before = self._choice_states.get(index, "waiting")
        state = before
        signs = list(_read_signs(fold, at, choice))
        moved = bool(signs) and before != "finished"
        if not signs:
            signs = ["repeat" if has_usage else "quiet"]
        broken: list[str] = []
        for sign in signs:
            if rule := CHOICE_BREACHES.get((state, sign)):
                broken.append(rule)
            state = CHOICE.get((state, sign), state)
        self._choice_states[index] = state
        if broken:  # one event breaks one rule of a choice: the first
            self._note(broken[0], at, f"choice {index}, {before}: {quote(choice)}")
        return moved

    def _step(self, at: int, signal: Signal) -> None:
        if rule := STREAM_BREACHES.get((self._state, signal)):
            self._note(rule, at, self._quoted())
        self._state = STREAM[self._state][signal]

    def _quoted(self) -> str:
        """The last event, for a report."""
        return "no event" if self._last is None else quote(self._last)

    def _note(self, rule: str, at: int, got: str) -> None:
        self._breach_counts[rule] += 1
        if self._breach_counts[rule] <= KEPT_PER_RULE:
            self._breaches.append(Breach(rule, at, RULES[rule], got))

    def end(self, at: int) -> Walk:
        """The whole walk. A failed stream owes nobody its end: the error is the breach."""
        if self._state != "failed":
            if not self._done_at:
                self._note("done-last", at, f"last: {self._quoted()}")
            if not self._folds:
                self._note("one-finish-per-choice", at, "no choice in any event")
            for index, state in sorted(self._choice_states.items()):
                if state != "finished":
                    self._note("one-finish-per-choice", at, f"choice {index} never finished")
        full_text = self._full_text is not None
        return Walk(
            breaches=tuple(self._breaches),
            breach_counts=dict(self._breach_counts),
            chunks=tuple(self._chunks),
            choices={index: fold.folded(full_text=full_text) for index, fold in sorted(self._folds.items())},
            usages=tuple(self._usages),
            done_at=tuple(self._done_at),
            errors=tuple(self._errors),
            oddities=tuple(self._oddities),
            full_text=self._full_text,
        )


def _read_signs(fold: Fold, at: int, choice: dict[str, Any]) -> Iterator[Sign]:
    """Folds one choice of a chunk and yields its signs in the order in which a client reads them."""
    known = len(fold.roles)
    spoke = fold.add(at, choice.get("delta"), choice.get("finish_reason"))
    for role in fold.roles[known:]:
        if role != "assistant":
            yield "wrong role"
        elif not known:
            yield "first role"
    if spoke:
        yield "piece"
    if nonempty(choice.get("finish_reason")):
        yield "finish"
