"""Scenarios: the requests of a test, in one or more steps, and which kind of answer each step expects.

Scenarios are data. Written ones are in `plan/scenarios/*.yaml`, generated ones are made from the contract's parameters.
Both have the same type, so the other modules treat them the same.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from conformance.errors import HarnessError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from conformance.stop_string import StopFrom
    from openapi.contract.contract import Keyword

Expectation = Literal["answer", "refusal", "either"]
Alteration = Literal["other-end", "shorter", "longer"]
"""How a wrong API key is made from the right one: with another end, without its end, or with more characters."""
Credentials = Literal["given", "none", "wrong", "misplaced", "lower-case"] | Alteration
Form = Literal["plain", "spaced", "escaped", "reversed"]
"""How a body is serialized: as usual, with white space, in ASCII, or with the fields of objects in reverse order."""
UNLIMITED_TOKENS = 1024
"""Tokens that are counted for a request without a limit of its own."""


@dataclass(frozen=True, slots=True)
class Subject:
    """The one fact that a generated scenario tests.

    `requirement` is its row in the results, `value` what was sent, `expect` whether the value must be accepted.
    `roles` names the parts of the scenario that its check compares, by their role in the comparison.
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
    roles: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Step:
    """One request. The model is added to `body` when it is sent.

    Without `path` the endpoint of the contract is used; a path that begins with `chat` or `models` is relative to that
    endpoint or to the list of models. `raw` is sent unchanged in place of `body`. In a scenario with rounds, `part` is
    the name of the step without the number of its round, and `round` is 0 for a step that is sent once, before all
    rounds. In a scenario that tests several facts, steps have subjects of their own. `pruned` names the fields that
    were left out of the body because the server does not support them. Steps with `crowd` are sent at the same time,
    after the other steps of their scenario. `only_for` is the only check that a step is sent for. A step that is
    `thorough` is only sent at that depth. A step that
    `continues` an earlier one sends the messages of that step and the message of its answer in front of its own ones.
    `streams_as` names the step whose request this one repeats as a stream: it is judged as that step is.
    """

    name: str = "main"
    method: str = "POST"
    path: str | None = None
    body: Mapping[str, Any] | None = None
    raw: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    credentials: Credentials = "given"
    expect: Expectation = "answer"
    stop_from: StopFrom | None = None
    stop_after_events: int | None = None
    part: str = ""
    round: int = 0
    form: Form = "plain"
    subject: Subject | None = None
    pruned: frozenset[str] = frozenset()
    crowd: bool = False
    only_for: str | None = None
    continues: str | None = None
    thorough: bool = False
    streams_as: str | None = None

    @property
    def judged_as(self) -> str:
        """The name by which checks know the step."""
        return self.streams_as or self.name

    @property
    def source(self) -> str | None:
        """The name of the earlier step whose answer a part of this request is made from; None for most requests."""
        return self.stop_from.step if self.stop_from is not None else self.continues

    @property
    def streams(self) -> bool:
        """Whether the request asks for an event stream."""
        return bool(self.body and self.body.get("stream") is True)

    @property
    def targets_chat(self) -> bool:
        """Whether the request is a POST to the chat-completions endpoint."""
        return self.path is None and self.method == "POST"

    @property
    def tokens(self) -> int:
        """The most completion tokens that the request can cost, for the upper bound of a plan."""
        if not self.targets_chat or self.expect == "refusal" or self.body is None:
            return 0
        asked = [self.body.get(name) for name in ("max_tokens", "max_completion_tokens")]
        limits = [tokens for tokens in asked if type(tokens) is int and tokens > 0]
        limit = min(max(limits, default=UNLIMITED_TOKENS), UNLIMITED_TOKENS)  # of two limits the server picks one
        widths = (self.body.get(name) for name in ("n", "best_of"))
        return limit * max([1, *(width for width in widths if type(width) is int)])

    def payload(self, model: str, stop: str | list[str] | None = None) -> bytes:
        """Return the body as bytes. `stop` is the value that was cut according to `stop_from`."""
        if self.raw is not None:
            raw = self.raw
            for mark, name in ((MODEL, model), (CUT_MODEL, model[:-1]), (SWAPPED_MODEL, model.swapcase())):
                raw = raw.replace(mark, json.dumps(name, ensure_ascii=False)[1:-1].encode())
            return raw
        if self.body is None:
            return b""
        body = {"model": model, **self.body} if "model" not in self.body else dict(self.body)
        if body["model"] is OMITTED:
            del body["model"]
        if stop is not None:
            body["stop"] = stop
        return _serialize(body, self.form)


def _serialize(body: dict[str, Any], form: Form) -> bytes:
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
    """Return the value with the fields of every object in reverse order."""
    if isinstance(value, dict):
        return {name: _reversed(value[name]) for name in reversed(value)}
    return [_reversed(item) for item in value] if isinstance(value, list) else value


MODEL = b"{model}"
"""Replaced by the name of the model in raw bodies."""
CUT_MODEL = b"{model-cut}"
"""Replaced by the name of the model without its last character."""
SWAPPED_MODEL = b"{model-swapped}"
"""Replaced by the name of the model with upper and lower case swapped."""
OMITTED: Any = object()
"""In place of the model, or as the value of a subject: the field is left out."""


@dataclass(frozen=True, slots=True)
class Scenario:
    """One or more steps that belong together: sent one after another, or at the same time if `together`.

    one_connection: all steps share a connection as long as the server keeps it open.
    capabilities: all must be declared; parameters: all must be in the contract.
    case: the schemathesis case of a drawn scenario.
    rounds: how often the steps are repeated at most.
    alone: the steps are sent one after another, and no other request is sent meanwhile.
    spread: the rounds are spread over the run: the first is sent before every other scenario, the last after them.
    also: further facts that its only request shows if it is answered, because it sends their values, too.
    shared: whether the subject is one of these facts. If the request is refused, it shows nothing about it.
    unless_answered: the id of the scenario that shows the same, so that this one is sent only if that one is refused.

    Raises HarnessError if a step cuts its stop string from a step that is not answered before it.
    """

    id: str
    summary: str
    steps: tuple[Step, ...]
    subject: Subject | None = None
    together: bool = False
    one_connection: bool = False
    capabilities: frozenset[str] = frozenset()
    parameters: frozenset[str] = frozenset()
    case: Any = field(default=None, compare=False, repr=False)
    rounds: int = 0
    alone: bool = False
    spread: bool = False
    also: tuple[Subject, ...] = ()
    shared: bool = False
    unless_answered: str = ""

    def __post_init__(self) -> None:
        parallel = "in rounds" if self.rounds else "together" if self.together else None
        earlier: set[str] = set()
        for step in self.steps:
            if step.source is not None and (parallel or step.source not in earlier):
                reason = f"its steps are sent {parallel}" if parallel else "no earlier step has that name"
                raise HarnessError(
                    f"scenario {self.id}: step {step.name!r} needs the answer to {step.source!r}, but {reason}; use a "
                    "scenario whose steps are sent one after another"
                )
            earlier.add(step.name)

    @property
    def disconnects(self) -> bool:
        """Whether the client disconnects before one of the answers is complete."""
        return any(step.stop_after_events is not None for step in self.steps)

    def request_key(self, model: str) -> tuple[object, ...]:
        """Return a key that is equal for two scenarios that send the same, so that one of them is enough."""
        return (
            self.together,
            self.one_connection,
            self.alone,
            self.spread,
            *(
                (
                    step.method,
                    step.path,
                    step.payload(model),
                    tuple(step.headers.items()),
                    step.credentials,
                    step.stop_from,
                    step.continues,
                    step.stop_after_events,
                    step.crowd,
                )
                for step in self.steps
            ),
        )

    def subject_of(self, step: Step) -> Subject | None:
        """Return the fact that a step tests: its own, or that of the scenario."""
        return step.subject or self.subject

    def step(self, name: str) -> Step:
        """Return the step with that name."""
        return next(step for step in self.steps if step.name == name)
