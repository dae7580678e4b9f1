"""Define checks: functions that compare recorded exchanges with one requirement and return findings.

A check reads what was recorded and has no side effects. `@check` makes one from a function over a single exchange,
`@relation` from a function over several steps of a scenario. Keyword and source of a requirement depend on the dialect,
so they are in the `requirements` of its contract, one row for each check id.
"""

from __future__ import annotations

from dataclasses import dataclass
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from conformance.errors import HarnessError

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from conformance.exchange import Exchange
    from conformance.scenario import Scenario, Step
    from conformance.statistics import SequentialTest
    from openapi.contract.contract import Contract
    from openapi.description.validation import Validator


View: TypeAlias = Literal["response", "type", "body", "assembled", "field"]
"""What a check reads of an exchange.

response: anything of the response. type: its content type. body: its body. assembled: what is put together from all
events of a stream, such as the text of a choice. field: what the field at the place of a finding contains.
"""


@dataclass(frozen=True, slots=True)
class Finding:
    """One way in which an exchange breaks a requirement.

    where: a JSON pointer into the body, or a part of the exchange such as `/status`.
    """

    where: str
    expected: str
    got: str


class NotObserved(Exception):
    """Raised by a check if the exchange does not show what the check is about. The message gives the reason."""


class NotExercised(NotObserved):
    """Raised by a check if the condition of its requirement does not hold, and does not have to.

    Examples: an optional field is absent, an answer arrived too fast to be timed, greedy answers do not repeat. The
    server did nothing wrong.
    """


@dataclass(frozen=True, slots=True)
class RepeatedAnswers:
    """How many greedy requests were answered more than once, and how many of those had the same answer each time.

    ties: how many repetitions diverge at a near tie, as log-probabilities show; jumps: how many at an unlikely token.
    """

    requests: int
    same: int
    ties: int = 0
    jumps: int = 0

    @property
    def always(self) -> bool:
        """Whether no greedy request had two answers."""
        return self.same == self.requests

    @property
    def mostly(self) -> bool:
        """Whether most greedy requests had the same answer each time, so that few differences may be near ties."""
        return self.requests >= 4 and self.same >= 0.7 * self.requests

    @property
    def tied(self) -> bool:
        """Whether near ties explain repetitions that differ: several diverge at one, none at an unlikely token."""
        return self.ties >= 4 and not self.jumps


@dataclass(frozen=True, slots=True)
class Context:
    """What a check receives besides the exchange.

    lost: the ids of the exchanges after which no good request was answered.
    garbled: returns whether the model generates invalid UTF-8.
    repetition: returns how many greedy requests had the same answer each time; None if nothing is known.
    answers: returns the `RunAnswers` of the whole run, which `run_answers.require_answers` reads; None if not known.
    """

    contract: Contract
    validator: Validator
    model: str
    scenario: Scenario
    step: Step
    lost: tuple[str, ...] = ()
    garbled: Callable[[], bool] = lambda: False
    repetition: Callable[[], RepeatedAnswers | None] = lambda: None
    answers: Callable[[], Any] = lambda: None


def no_precondition(_: Exchange) -> None:
    """Accept every exchange."""


def any_scenario(_id: str) -> bool:
    """Accept every scenario."""
    return True


@dataclass(frozen=True, slots=True)
class Applicability:
    """When a check applies.

    applies_to: decides from the plan whether the check judges a step.
    in_scenario: whether it can judge any step of a scenario with this id. It is asked once for each scenario, because
        most checks of a whole scenario belong to a single one.
    unmet: decides from the exchange; returns the precondition that it does not meet, or None if it meets all.
    """

    applies_to: Callable[[Scenario, Step, Contract], bool]
    unmet: Callable[[Exchange], str | None] = no_precondition
    in_scenario: Callable[[str], bool] = any_scenario


Round: TypeAlias = "Mapping[str, Exchange]"
"""The exchanges of one round by part, including the parts that are sent once for all rounds."""
RoundPredicate: TypeAlias = "Callable[[Round, Sequence[Round]], bool | None]"
"""Decides whether a round shows an effect, given the earlier rounds; None if the round shows nothing either way."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A predicate that is evaluated on one round after another until a sequential test is decided.

    parts: the steps of a round that the predicate needs; of a check by subject, their roles.
    """

    parts: tuple[str, ...]
    predicate: RoundPredicate
    test: SequentialTest

    def parts_of(self, step: Step) -> dict[str, str]:
        """Map the parts that the predicate names to those of the scenario in which a step is judged."""
        roles = {} if step.subject is None else step.subject.roles
        return {part: roles.get(part, part) for part in self.parts}


@dataclass(frozen=True, slots=True)
class Check:
    """A function that judges exchanges, with its id, its claim and its applicability.

    claim: the requirement as a true statement about a conforming server.
    over: the steps that a relation needs; empty for a check of single exchanges.
    by_subject: the requirement is that of the subject of the step or its scenario.
    trial: set if the check judges the rounds of a scenario.
    whole: the check judges all steps of a scenario that were sent.
    origin: the file outside this package that defines the check.
    invalidates: views of an exchange that show nothing else about the server once the check has a finding on it, so
        that findings of other checks that read them are consequences.
    """

    id: str
    claim: str
    help: str
    on: Applicability
    judge: Callable[[Any, Context], Iterator[Finding]]
    over: tuple[str, ...] = ()
    by_subject: bool = False
    trial: Trial | None = None
    invalidates: frozenset[View] = frozenset()
    whole: bool = False
    origin: str = ""

    @property
    def is_relation(self) -> bool:
        """Whether the check judges several exchanges together."""
        return bool(self.over) or self.trial is not None or self.whole

    def steps(self, scenario: Scenario, step: Step, made: Container[str]) -> tuple[str, ...]:
        """Return the names of the steps that the check needs to judge a step.

        made: the steps that were sent. Of the later rounds of a trial only those steps are needed.
        """
        if self.whole:
            return tuple(step.name for step in scenario.steps if step.name in made)
        if self.trial is None:
            return tuple(step.name if name == step.streams_as else name for name in self.over) or (step.name,)
        parts = set(self.trial.parts_of(step).values())
        plain = {step.name for step in scenario.steps if step.part in parts}
        candidates = [step for step in scenario.steps if step.part in parts or step.streams_as in plain]
        return tuple(step.name for step in candidates if step.round <= 1 or step.name in made)

    @property
    def topic(self) -> str:
        """The part of the id in front of the dot."""
        return self.id.partition(".")[0]


def check(
    identity: str, *, on: Applicability, by_subject: bool = False, invalidates: tuple[View, ...] = ()
) -> Callable[[Callable[[Exchange, Context], Iterator[Finding]]], Check]:
    """Make a check from a function over one exchange.

    The first paragraph of the function's docstring is the claim of the check, the rest is its help.
    """

    def make(judge: Callable[[Exchange, Context], Iterator[Finding]]) -> Check:
        claim, help_text = parse_claim(identity, judge)
        return Check(identity, claim, help_text, on, judge, by_subject=by_subject, invalidates=frozenset(invalidates))

    return make


def relation(
    identity: str, *, over: tuple[str, ...], unmet: Callable[[Exchange], str | None] = no_precondition
) -> Callable[[Callable[[Mapping[str, Exchange], Context], Iterator[Finding]]], Check]:
    """Make a check from a function over several steps. It applies to every scenario that has all of these steps.

    A step that is also streamed is judged in both forms.
    """

    def make(judge: Callable[[Mapping[str, Exchange], Context], Iterator[Finding]]) -> Check:
        claim, help_text = parse_claim(identity, judge)

        def applies_to(scenario: Scenario, step: Step, _: Contract) -> bool:
            is_judged_here = step.name == over[-1] or step.streams_as in over
            return is_judged_here and {step.name for step in scenario.steps}.issuperset(over)

        return Check(identity, claim, help_text, Applicability(applies_to, unmet), judge, over=over)

    return make


def series(
    identity: str, *, scenario: str
) -> Callable[[Callable[[Mapping[str, Exchange], Context], Iterator[Finding]]], Check]:
    """Make a check from a function over all steps of a scenario that were sent, whatever their answers are."""

    def make(judge: Callable[[Mapping[str, Exchange], Context], Iterator[Finding]]) -> Check:
        claim, help_text = parse_claim(identity, judge)

        def applies_to(candidate: Scenario, step: Step, _: Contract) -> bool:
            return candidate.id == scenario and step is candidate.steps[0]

        on = Applicability(applies_to, in_scenario=lambda identity: identity == scenario)
        return Check(identity, claim, help_text, on, judge, whole=True)

    return make


def parse_claim(identity: str, function: Callable[..., Any]) -> tuple[str, str]:
    """Split the docstring of a check into its claim and its help. Raises HarnessError if the docstring is missing."""
    if not function.__doc__:
        raise HarnessError(f"missing claim of check {identity}: its function needs a docstring")
    claim, _, help_text = cleandoc(function.__doc__).partition("\n\n")
    return " ".join(claim.split()), help_text
