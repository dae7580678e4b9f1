"""Scenario: what is sent, in one or more steps, and what the contract says must come back.

Scenarios are data. Written ones live in `scenarios/*.yaml`, generated ones are made from the contract's parameters;
both are the same type, and nothing below this module cares where one came from.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from conformance.client.secret import Alteration
from conformance.errors import HarnessError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from openapi.contract.contract import Keyword

Expectation = Literal["answer", "refusal", "either"]
Credentials = Literal["given", "none", "wrong", "misplaced", "lower-case"] | Alteration
Form = Literal["plain", "spaced", "escaped", "reversed"]
"""How a body is written as JSON: the same value, with white space, in ASCII, its members the other way round."""

NEVER_SAID = "\ue000\ue001"  # characters of private use: no model says them
GENEROUS = 1024  # tokens counted for a request that leaves its length to the server


@dataclass(frozen=True, slots=True)
class Subject:
    """The one fact that a generated scenario is about.

    `requirement` is its row in the results, `value` what was sent, `expect` whether it must be accepted.
    """

    requirement: str
    check: str
    parameter: str
    keyword: Keyword
    source: str
    summary: str
    value: Any
    expect: Literal["accept", "reject"]
    interpretation: str | None = None


@dataclass(frozen=True, slots=True)
class StopFrom:
    """A stop text that is cut out of an earlier step's answer: `length` characters, from its middle, start or end.

    `form`: the text itself; `listed`, in a list of its own; `beside`, the last of four, behind a text that comes
    later in the answer and two that it does not hold; `unfinished`, with characters behind it that the answer does not
    hold, so that it is never met whole; `other-case`, small letters for capitals and the other way round, as the answer
    does not hold them. From the end it is always `unfinished`: a text with which the answer ends would end it where it
    ends anyway.
    """

    step: str
    length: int
    place: Literal["middle", "start", "end"] = "middle"
    form: Literal["text", "listed", "beside", "unfinished", "other-case"] = "text"

    def cut(self, text: str) -> str | list[str] | None:
        """What `stop` becomes, cut out of a text; None where the text has no such piece."""
        if self.place == "end":  # where the same stands before it, it is held back there, too
            return text[-self.length :] + NEVER_SAID if text[-self.length :].strip() else None
        starts = [0] if self.place == "start" else range(len(text) // 2, len(text) - self.length)
        pieces = (text[start : start + self.length] for start in starts if self._is_first(text, start))
        if self.form == "other-case":
            turned = (piece.swapcase() for piece in pieces if piece.isascii())
            return next((piece for piece in turned if piece not in text), None)
        piece = next(pieces, None)
        if piece is None or self.form == "text":
            return piece
        if self.form == "unfinished":
            return piece + NEVER_SAID
        later = text[text.find(piece) + self.length :][-self.length :]
        if self.form == "listed":
            return [piece]
        return [later, NEVER_SAID, piece + NEVER_SAID, piece] if len(later) == self.length else None

    def _is_first(self, text: str, start: int) -> bool:
        piece = text[start : start + self.length]
        return len(piece) == self.length and bool(piece.strip()) and text.find(piece) == start


@dataclass(frozen=True, slots=True)
class Step:
    """One request. `body` is completed with the model (and, unless `bare`, nothing else) when it is sent."""

    name: str = "main"
    method: str = "POST"
    path: str | None = None  # None: the contract's endpoint; "chat...", "models...": below it or the list of models
    body: Mapping[str, Any] | None = None
    raw: bytes | None = None  # sent as it is, in place of `body`
    headers: Mapping[str, str] = field(default_factory=dict)
    credentials: Credentials = "given"
    expect: Expectation = "answer"
    stop_from: StopFrom | None = None
    stop_after_events: int | None = None
    part: str = ""  # of a round: what the step's name begins with
    round: int = 0  # 0: made once, before all rounds
    form: Form = "plain"

    @property
    def streams(self) -> bool:
        """Whether the request asks for an event stream."""
        return bool(self.body and self.body.get("stream") is True)

    @property
    def chats(self) -> bool:
        """Whether the request goes to the chat-completions endpoint by its own method."""
        return self.path is None and self.method == "POST"

    @property
    def tokens(self) -> int:
        """Most completion tokens that the request can cost, for the ceiling of a plan."""
        if not self.chats or self.expect == "refusal" or self.body is None:
            return 0
        asked = [self.body.get(name) for name in ("max_tokens", "max_completion_tokens")]
        limits = [each for each in asked if type(each) is int and each > 0]
        limit = min(max(limits, default=GENEROUS), GENEROUS)  # which of two holds is the server's choice
        widths = (self.body.get(name) for name in ("n", "best_of"))
        return limit * max([1, *(width for width in widths if type(width) is int)])

    def payload(self, model: str, stop: str | list[str] | None = None) -> bytes:
        """The bytes of the body. `stop` is what `stop_from` asked for."""
        if self.raw is not None:
            return self.raw.replace(MODEL, json.dumps(model, ensure_ascii=False)[1:-1].encode())
        if self.body is None:
            return b""
        body = {"model": model, **self.body} if "model" not in self.body else dict(self.body)
        if body["model"] is OMITTED:
            del body["model"]
        if stop is not None:
            body["stop"] = stop
        return _write(body, self.form)


def _write(body: dict[str, Any], form: Form) -> bytes:
    match form:
        case "spaced":
            return json.dumps(body, ensure_ascii=False, indent=2, separators=(" , ", " : ")).encode()
        case "escaped":
            return json.dumps(body).encode()
        case "reversed":
            return json.dumps(_reversed(body), ensure_ascii=False).encode()
        case "plain":
            return json.dumps(body, ensure_ascii=False).encode()


def _reversed(value: Any) -> Any:
    """The members of every object the other way round."""
    if isinstance(value, dict):
        return {name: _reversed(value[name]) for name in reversed(value)}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


MODEL = b"{model}"  # in raw bodies: the name of the model
OMITTED: Any = object()  # in place of the model, or as what a scenario is about: the member is left out


@dataclass(frozen=True, slots=True)
class Scenario:
    """One or more steps that belong together: one after the other, or `together` at the same time.

    Raises HarnessError for a step whose stop text comes from one that was not answered before it went out.
    """

    id: str
    summary: str
    steps: tuple[Step, ...]
    subject: Subject | None = None
    together: bool = False
    one_connection: bool = False  # all steps, as far as the server keeps it open
    capabilities: frozenset[str] = frozenset()  # all must be declared
    parameters: frozenset[str] = frozenset()  # all must be in the contract
    case: Any = field(default=None, compare=False, repr=False)  # what schemathesis knows of a drawn scenario
    rounds: int = 0  # of a trial: how often at most its steps are sent
    alone: bool = False  # one step after the other, and nothing else meanwhile

    def __post_init__(self) -> None:
        side_by_side = "of rounds" if self.rounds else "together" if self.together else None
        earlier: set[str] = set()
        for step in self.steps:
            if step.stop_from is not None and (side_by_side or step.stop_from.step not in earlier):
                beside = f"its steps are {side_by_side}, sent side by side"
                why = beside if side_by_side else "no step before it has that name"
                raise HarnessError(
                    f"scenario {self.id}: step {step.name!r} takes its stop text from the answer to "
                    f"{step.stop_from.step!r}, but {why}; put both into a scenario of steps one after the other"
                )
            earlier.add(step.name)

    @property
    def leaves(self) -> bool:
        """Whether a client of it leaves before its answer is whole."""
        return any(step.stop_after_events is not None for step in self.steps)

    def sends(self, model: str) -> tuple[object, ...]:
        """What goes over the wire: two scenarios that send the same need to be sent once."""
        return (
            self.together,
            self.one_connection,
            self.alone,
            *(
                (
                    step.method,
                    step.path,
                    step.payload(model),
                    tuple(step.headers.items()),
                    step.credentials,
                    step.stop_from,
                    step.stop_after_events,
                )
                for step in self.steps
            ),
        )

    def step(self, name: str) -> Step:
        """The step of that name."""
        return next(step for step in self.steps if step.name == name)
