"""Second tries: what fails among others and is answered alone is a failure of the load, not of the request."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from conformance.judge.causes import find_causes
from conformance.judge.check_registry import gather_checks
from conformance.judge.evidence.load_failures import ALL_ANSWERED, LOAD_FAILURES, list_load_assertions
from conformance.judge.judgement import judge
from conformance.plan.plan import make_plan
from conformance.run.failures.second_tries import SAMPLE
from conformance.scenario import Step
from conformance.tests.runs import ScriptedClient, answered, execute, scenario
from openapi.contract.contract import load
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from conformance.client.call import Call
    from conformance.exchange import Exchange
    from conformance.record import Record

CONTRACT = load("mindie-2.3")
MANY = [scenario(f"s{number}") for number in range(40)]


class LimitedClient(ScriptedClient):
    """Fails with 500 if too many requests are open, and always for some scenarios."""

    def __init__(self, most: int, always: frozenset[str] = frozenset()) -> None:
        super().__init__(self._answer_call)
        self._most, self._always = most, always

    def _answer_call(self, call: Call) -> Exchange:
        too_many = self._open + 1 > self._most
        return answered(call, 500 if too_many or call.scenario in self._always else 200)


def failed_under_load(record: Record) -> list[Exchange]:
    """Return the exchanges that are recorded as failures of the load."""
    return [exchange for (name, _), exchange in record.exchanges.items() if name == LOAD_FAILURES]


def statuses(record: Record) -> set[int | None]:
    """Return the statuses of the exchanges of the plan."""
    return {exchange.status for (name, _), exchange in record.exchanges.items() if name != LOAD_FAILURES}


def test_what_fails_under_load_is_judged_by_its_answer_alone() -> None:
    record = execute(LimitedClient(most=2), *MANY, concurrency=4)
    failed = failed_under_load(record)
    assert {200} == statuses(record)
    assert failed
    assert {500} == {exchange.status for exchange in failed}
    assert len({exchange.id for exchange in record.exchanges.values()}) == len(record.exchanges)


def test_each_failure_under_load_is_judged_for_one_requirement() -> None:
    record = execute(LimitedClient(most=2), *MANY, concurrency=4)
    assertions = list(list_load_assertions(record.exchanges, CONTRACT, gather_checks()))
    assert {ALL_ANSWERED} == {assertion.requirement.id for assertion in assertions}
    assert [exchange.step for exchange in failed_under_load(record)] == [item.step.name for item in assertions]


def test_load_is_the_cause_of_what_else_fails_among_others() -> None:
    together = scenario("parallel-x", *(Step(f"s{number}", body={}) for number in range(4)), together=True)
    record = execute(LimitedClient(most=2), together, *MANY, concurrency=4)
    named = {name: CONTRACT.requirements[name] for name in (ALL_ANSWERED, "answer.accepted")}
    contract = replace(CONTRACT, requirements=named)
    plan = make_plan(contract, (together, *MANY), gather_checks())
    assertions = (*plan.assertions, *list_load_assertions(record.exchanges, contract, gather_checks()))
    validator = Validator(contract)
    judgements = judge(assertions, record.exchanges, contract, validator, "m", record.missing)
    assert {"answer.accepted": (ALL_ANSWERED,)} == find_causes(judgements, record.exchanges, contract, validator, "m")


def test_what_fails_alone_too_stays_where_it_was_sent() -> None:
    record = execute(LimitedClient(most=2, always=frozenset({"s7"})), *MANY, concurrency=4)
    assert [500] == [exchange.status for (name, _), exchange in record.exchanges.items() if name == "s7"]
    assert {"s7"} == {name for (name, _), exchange in record.exchanges.items() if exchange.status == 500} - {
        LOAD_FAILURES
    }


def test_a_server_that_fails_always_is_asked_a_few_times_again() -> None:
    client = LimitedClient(most=0)
    record = execute(client, *MANY, concurrency=4)
    assert len(MANY) + 2 * SAMPLE == len(client.calls)
    assert [] == failed_under_load(record)


def test_a_run_without_company_sends_nothing_again() -> None:
    client = LimitedClient(most=0)
    execute(client, *MANY, concurrency=1)
    assert len(MANY) == len(client.calls)


def test_the_rest_of_the_run_is_sent_one_by_one_if_load_is_the_reason() -> None:
    many = [scenario(f"s{number}") for number in range(300)]
    client = LimitedClient(most=1)
    record = execute(client, *many, concurrency=4)
    assert {200} == statuses(record)
    assert SAMPLE <= len(failed_under_load(record)) <= SAMPLE + 8
    assert len(many) + len(failed_under_load(record)) == len(client.calls)


def test_requests_about_load_are_judged_as_they_were_sent() -> None:
    together = scenario("parallel-x", *MANY[0].steps, together=True)
    record = execute(LimitedClient(most=0), together, *MANY[:3], concurrency=4)
    assert [] == failed_under_load(record)
