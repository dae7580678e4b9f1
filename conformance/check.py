"""Check: a judge with a name.

A judge is a pure function from what was recorded to findings. `@check` judges one exchange at a time, `@relation`
several steps of one scenario together. Keyword and source are not here: they differ by dialect and stand in the
contract's `requirements`, one row per check id.
"""

from __future__ import annotations

from dataclasses import dataclass
from inspect import cleandoc
from typing import TYPE_CHECKING, Any, TypeAlias

from conformance.errors import HarnessError

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence

    from conformance.exchange import Exchange
    from conformance.scenario import Scenario, Step
    from conformance.statistics import SequentialTest
    from openapi.contract.contract import Contract
    from openapi.description.validation import Validator


@dataclass(frozen=True, slots=True)
class Finding:
    """One way an exchange breaks a requirement. `where` is a JSON pointer or a part of the exchange (`/status`)."""

    where: str
    expected: str
    got: str


class NotObserved(Exception):
    """Raised by a judge when the exchange does not show what the check is about; the message says why."""


class NoOccasion(NotObserved):
    """Raised by a judge when the condition of its requirement does not hold and need not.

    A field that may be absent is absent, an answer came too fast to be timed, greedy answers do not repeat: nobody is
    to blame.
    """


@dataclass(frozen=True, slots=True)
class Context:
    """What a judge may know besides the exchange."""

    contract: Contract
    validator: Validator
    model: str
    scenario: Scenario
    step: Step


@dataclass(frozen=True, slots=True)
class Occasion:
    """When a check applies: `fits` decides from the plan, `lacks` from what came back (why not, or None)."""

    fits: Callable[[Scenario, Step, Contract], bool]
    lacks: Callable[[Exchange], str | None] = lambda _: None


Round: TypeAlias = "Mapping[str, Exchange]"
"""The exchanges of one round by part, those that are made once among them."""
Mark: TypeAlias = "Callable[[Round, Sequence[Round]], bool | None]"
"""What one round, with those before it, says of an effect."""


@dataclass(frozen=True, slots=True)
class Trial:
    """A question that is asked again until its answer is sure: parts of a round, what it shows, how sure."""

    parts: tuple[str, ...]
    mark: Mark
    test: SequentialTest


@dataclass(frozen=True, slots=True)
class Check:
    """A judge, its name, and its occasion. `over` names the steps a relation needs; empty for single exchanges."""

    id: str
    claim: str
    help: str
    on: Occasion
    judge: Callable[[Any, Context], Iterator[Finding]]
    over: tuple[str, ...] = ()
    by_subject: bool = False  # its requirement is the scenario's subject
    trial: Trial | None = None  # judges the rounds of a scenario

    def steps(self, scenario: Scenario, step: Step, made: Container[str]) -> tuple[str, ...]:
        """The steps it needs when it judges one; of the later rounds of a trial, those that were made."""
        if self.trial is None:
            return self.over or (step.name,)
        rounds = [each for each in scenario.steps if each.part in self.trial.parts]
        return tuple(each.name for each in rounds if each.round <= 1 or each.name in made)

    @property
    def topic(self) -> str:
        """The part of the id before the dot."""
        return self.id.partition(".")[0]


def check(
    identity: str, *, on: Occasion, by_subject: bool = False
) -> Callable[[Callable[[Exchange, Context], Iterator[Finding]]], Check]:
    """Makes a function over one exchange a check. Its docstring is the claim and, below, the help."""

    def make(judge: Callable[[Exchange, Context], Iterator[Finding]]) -> Check:
        claim, help_text = said(identity, judge)
        return Check(identity, claim, help_text, on, judge, by_subject=by_subject)

    return make


def relation(
    identity: str, *, over: tuple[str, ...], lacks: Callable[[Exchange], str | None]
) -> Callable[[Callable[[Mapping[str, Exchange], Context], Iterator[Finding]]], Check]:
    """Makes a function over several steps a check. It applies to every scenario that has all of these steps."""

    def make(judge: Callable[[Mapping[str, Exchange], Context], Iterator[Finding]]) -> Check:
        claim, help_text = said(identity, judge)

        def fits(scenario: Scenario, step: Step, _: Contract) -> bool:
            return step.name == over[-1] and {each.name for each in scenario.steps}.issuperset(over)

        return Check(identity, claim, help_text, Occasion(fits, lacks), judge, over=over)

    return make


def said(identity: str, judge: Callable[..., Any]) -> tuple[str, str]:
    """The claim of a judge, and its help. Raises HarnessError where it states none."""
    if not judge.__doc__:
        raise HarnessError(f"the check {identity} states no claim: its function needs a docstring")
    claim, _, rest = cleandoc(judge.__doc__).partition("\n\n")
    return " ".join(claim.split()), rest
