"""Prove a sentence: its counterexamples are reported by its home, and its witnesses by nothing.

A counterexample changes the recorded exchanges that the home of the sentence judges, until one of them is reported by
a requirement that is a MUST or a SHOULD. A witness changes a few exchanges, which must then be reported by nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import zip_longest
from typing import TYPE_CHECKING, Final

from conformance.errors import HarnessError
from conformance.proof.sentences.trial_rounds import extend_rounds
from openapi.contract.contract import Keyword

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from conformance.exchange import Exchange
    from conformance.plan.assertion import Assertion
    from conformance.proof.recorded_run import Exchanges, RecordedRun
    from conformance.proof.sentences.deviation import Deviation

WITNESSES: Final = 3
"""Scenarios that a witness changes, for each form of the answer."""
BINDING: Final = (Keyword.MUST, Keyword.SHOULD)


@dataclass(frozen=True, slots=True)
class DeviationTrial:
    """What became of one deviation.

    changed: how many exchanges it changed.
    reported: the requirements that reported it, and the first finding of each.
    """

    deviation: Deviation
    changed: int
    reported: tuple[tuple[str, str], ...]


def try_counterexample(deviation: Deviation, assertions: Iterable[Assertion], run: RecordedRun) -> DeviationTrial:
    """Return what the home of a sentence reports about a deviation; it stops at the first finding."""
    changer = _Changer(deviation, run)
    for assertion in _take_turns(item for item in assertions if item.requirement.keyword in BINDING):
        change = changer.change_scenario if assertion.check.trial is None else changer.change_rounds
        if (exchanges := change(assertion)) is None:
            continue
        if reported := _report(run, exchanges, [assertion]):
            return DeviationTrial(deviation, changer.count, reported)
    return DeviationTrial(deviation, changer.count, ())


class WitnessTrials:
    """Tries witnesses in the scenarios of a run. What a witness shows in one scenario serves all sentences."""

    def __init__(self, run: RecordedRun) -> None:
        self._run = run
        self._results: dict[tuple[int, str], DeviationTrial] = {}

    def try_witness(self, deviation: Deviation, assertions: Iterable[Assertion]) -> DeviationTrial:
        """Return what any requirement reports about a deviation in a few scenarios that the assertions judge."""
        changed = 0
        tried: set[str] = set()
        for assertion in assertions:
            scenario = assertion.scenario.id
            if scenario in tried:
                continue
            trial = self._try_scenario(deviation, assertion)
            changed += trial.changed
            if trial.reported:
                return trial
            tried.update([scenario] if trial.changed else [])
            if len(tried) >= WITNESSES:
                break
        return DeviationTrial(deviation, changed, ())

    def _try_scenario(self, deviation: Deviation, assertion: Assertion) -> DeviationTrial:
        key = (id(deviation), assertion.scenario.id)
        if key not in self._results:
            changer = _Changer(deviation, self._run)
            exchanges = changer.change_every_step(assertion)
            assertions = self._run.assertions_by_scenario[assertion.scenario.id]
            reported = _report(self._run, exchanges, assertions) if exchanges else ()
            self._results[key] = DeviationTrial(deviation, changer.count, reported)
        return self._results[key]


class _Changer:
    """Changes the exchanges of scenarios by one deviation, each only once."""

    def __init__(self, deviation: Deviation, run: RecordedRun) -> None:
        self._deviation = deviation
        self._run = run
        self._changed: dict[tuple[str, str], Exchange | None] = {}
        self.count = 0

    def change_scenario(self, assertion: Assertion) -> Exchanges | None:
        """Return the changed exchanges that an assertion judges; None if nothing has changed."""
        scenario = assertion.scenario
        return self._change_steps(assertion, assertion.check.steps(scenario, assertion.step, self._made(assertion)))

    def change_every_step(self, assertion: Assertion) -> Exchanges | None:
        """Return the changed exchanges of the whole scenario of an assertion; None if nothing has changed."""
        return self._change_steps(assertion, self._made(assertion))

    def _made(self, assertion: Assertion) -> tuple[str, ...]:
        return self._run.steps_by_scenario[assertion.scenario.id]

    def _change_steps(self, assertion: Assertion, steps: Iterable[str]) -> Exchanges | None:
        scenario, made = assertion.scenario, self._made(assertion)
        pattern = assertion.step.name if self._deviation.steps is None else self._deviation.steps
        names = (name for name in steps if name in made and fnmatchcase(name, pattern))
        changed = {(scenario.id, name): self._change((scenario.id, name)) for name in names}
        kept = {key: exchange for key, exchange in changed.items() if exchange is not None}
        return kept or None

    def change_rounds(self, assertion: Assertion) -> Exchanges | None:
        """Return the exchanges of all rounds of a trial, changed; None if nothing has changed."""
        before, count = extend_rounds(assertion, self._run), self.count
        after = {(assertion.scenario.id, name): self._change_round(exchange) for name, exchange in before.items()}
        return after if self.count > count else None

    def _change_round(self, exchange: Exchange) -> Exchange:
        changed = self._deviation.change(exchange, self._run)
        self.count += changed is not None
        return exchange if changed is None else changed

    def _change(self, key: tuple[str, str]) -> Exchange | None:
        if key not in self._changed:
            changed = self._deviation.change(self._run.exchanges[key], self._run)
            self._changed[key] = changed
            self.count += changed is not None
        return self._changed[key]


def _take_turns(assertions: Iterable[Assertion]) -> Iterator[Assertion]:
    """Yield one assertion of each requirement in turn: if only one of them reports a deviation, it is found early."""
    by_requirement: dict[str, list[Assertion]] = {}
    for assertion in assertions:
        by_requirement.setdefault(assertion.requirement.id, []).append(assertion)
    for turn in zip_longest(*by_requirement.values()):
        yield from (assertion for assertion in turn if assertion is not None)


def _report(run: RecordedRun, changed: Exchanges, assertions: Iterable[Assertion]) -> tuple[tuple[str, str], ...]:
    """Return the binding requirements that report the changed exchanges, with the first finding of each."""
    binding = [assertion for assertion in assertions if assertion.requirement.keyword in BINDING]
    reported: dict[str, str] = {}
    for judgement in run.judge(changed, binding):
        if judgement.error:
            raise HarnessError(judgement.error)
        for finding in judgement.findings[:1]:
            reported.setdefault(
                judgement.assertion.requirement.id,
                f"{finding.where}: expected {finding.expected}, got {finding.got}",
            )
    return tuple(reported.items())
