"""The canary: a good request after refused and failed ones shows whether the server still answers."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, cast

import pytest

from conformance.exchange import Failure
from conformance.judge.causes import attribute_lost, find_causes
from conformance.judge.check_registry import gather_checks
from conformance.judge.evidence.liveness import CANARY, JUDGED_BY, LOST, list_canary_assertions
from conformance.judge.judgement import judge
from conformance.plan.plan import make_plan
from conformance.record import BudgetLimits
from conformance.report.outcome import Outcome
from conformance.report.verdict import Verdict, build_report
from conformance.run.calls import ServerUnderTest
from conformance.run.failures import canary
from conformance.run.failures.canary import FREE_REQUESTS, GROUP_SIZE, SHARE, Canary
from conformance.run.run import Run
from conformance.scenario import Scenario, Step, Subject
from conformance.tests.runs import TARGET, ScriptedClient, answered
from openapi.contract.contract import Keyword, load
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from conformance.client.call import Call
    from conformance.client.client import Client
    from conformance.exchange import Exchange
    from conformance.record import Record
    from conformance.report.verdict import Report

JUDGED = ("answer.accepted", "parameters.invalid-refused", JUDGED_BY)
WHOLE = load("mindie-2.3")
CONTRACT = replace(WHOLE, requirements={name: WHOLE.requirements[name] for name in JUDGED})
HELLO = [{"role": "user", "content": "Hello!"}]


def refused(value: int) -> Scenario:
    """Return a scenario that expects the refusal of one value of `stop`, in a row of its own."""
    name = f"stop-{value}"
    subject = Subject(name, "parameters.invalid-refused", "stop", Keyword.MUST, "d#s", "", value, "reject")
    return Scenario(name, "", (Step(body={"messages": HELLO, "stop": value}, expect="refusal"),), subject)


def good(number: int) -> Scenario:
    """Return a scenario with a good request."""
    return Scenario(f"good-{number}", "", (Step(body={"messages": HELLO, "max_tokens": 2}),))


class Server(ScriptedClient):
    """Refuses what has a number as `stop`, and answers nothing else once its engine has died from `killer`."""

    def __init__(self, killer: int | None = None, failing: int = 0) -> None:
        super().__init__(self._answer_call)
        self._killer, self._failing, self._is_dead = killer, failing, False

    def _answer_call(self, call: Call) -> Exchange:
        exchange = replace(answered(call), started_at=datetime.now(UTC).isoformat())
        if b'"stop"' in call.body:
            self._is_dead = self._is_dead or call.scenario == f"stop-{self._killer}"
            response = replace(answered(call, 400).response, segments=())  # type: ignore[type-var]
            return replace(exchange, response=response)
        if self._is_dead or self._failing:
            self._failing = max(0, self._failing - 1)
            return replace(exchange, response=None, failure=Failure("reset", "connection reset"))
        return exchange


def judge_run(server: Server, *scenarios: Scenario, is_due_first: bool = False) -> tuple[Record, Report]:
    """Send the scenarios one after another, and judge the answers."""
    plan = replace(make_plan(CONTRACT, scenarios, gather_checks()), uncovered=())
    target = ServerUnderTest(cast("Client", server), TARGET, "m")
    bird = Canary(CONTRACT, is_due_first=is_due_first)
    record = asyncio.run(Run(plan, target, BudgetLimits(concurrency=1), canary=bird).execute())
    canaries = list_canary_assertions(record.exchanges, CONTRACT, gather_checks())
    validator = Validator(CONTRACT)
    judgements = judge((*plan.assertions, *canaries), record.exchanges, CONTRACT, validator, "m", record.missing)
    causes = find_causes(judgements, record.exchanges, CONTRACT, validator, "m")
    causes |= attribute_lost(judgements, record.exhausted)
    return record, build_report(plan, judgements, strict=False, exhausted=record.exhausted, causes=causes)


@pytest.fixture(autouse=True)
def _no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canary, "PAUSES_S", (0.0, 0.0))


def test_a_refusal_counts_only_if_a_good_request_after_it_is_answered() -> None:
    record, report = judge_run(Server(killer=2), refused(1), good(1), *map(refused, range(2, 7)))
    outcomes = {row.id: row.outcome for row in report.rows}
    assert [outcomes[f"stop-{value}"] for value in range(1, 7)] == [Outcome.PASS] + [Outcome.UNTESTABLE] * 5
    assert {str(record.missing[f"stop-{value}", "main"]) for value in range(2, 7)} == {LOST}
    assert report.verdict is Verdict.NONCONFORMANT


def test_the_death_of_a_server_is_one_finding_that_names_what_was_in_flight() -> None:
    record, report = judge_run(Server(killer=2), refused(1), good(1), *map(refused, range(2, 40)), good(2))
    failing = [row for row in report.rows if row.outcome in (Outcome.FAIL, Outcome.UNTESTABLE)]
    (death,) = [row for row in failing if not row.causes]
    assert (death.id, death.outcome, len(death.findings)) == (JUDGED_BY, Outcome.FAIL, 1)
    assert "after stop-2/main, stop-3/main" in death.findings[0].finding.got
    assert record.exhausted == "the server stopped answering"
    assert len(record.exchanges) < 40, "the run ends when the server is dead"


def test_a_server_that_fails_once_is_not_dead() -> None:
    record, report = judge_run(Server(failing=2), refused(1), good(1), good(2), refused(2))
    assert record.exhausted is None
    assert not any(str(reason) == LOST for reason in record.missing.values())
    assert {row.id: row.outcome for row in report.rows}["stop-2"] is Outcome.PASS


def test_a_healthy_run_sends_few_canaries() -> None:
    scenarios = [kind(number) for number in range(200) for kind in (refused, good)]
    record, _ = judge_run(Server(), *scenarios, *(refused(1000 + number) for number in range(4 * GROUP_SIZE)))
    sent = sum(scenario == CANARY for scenario, _ in record.exchanges)
    assert 1 <= sent <= FREE_REQUESTS + SHARE * record.requests
    assert sent <= 5


def test_a_server_that_has_failed_before_the_run_is_asked_first() -> None:
    record, report = judge_run(Server(failing=1_000), *map(good, range(50)), is_due_first=True)
    assert {CANARY} == {scenario for scenario, _ in record.exchanges}
    assert [JUDGED_BY] == [row.id for row in report.rows if row.outcome is Outcome.FAIL]
    assert report.verdict is Verdict.NONCONFORMANT


def test_a_server_that_recovers_before_the_run_is_judged() -> None:
    record, report = judge_run(Server(failing=1), *map(good, range(5)), is_due_first=True)
    assert 5 == sum(scenario != CANARY for scenario, _ in record.exchanges)
    assert record.exhausted is None
    assert report.verdict is not Verdict.INCONCLUSIVE
