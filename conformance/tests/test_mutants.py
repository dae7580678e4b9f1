"""The proof of the suite: on a good run every check is silent, on its mutant it speaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance import check, mutants
from conformance.mutants import editing, mutant
from openapi.contract import load, names

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.exchange import Exchange
    from conformance.judgement import Judgement
    from conformance.tests.conftest import Good

CHECKS = check.gather()
MUTANTS = mutant.gather()
DIALECTS = tuple(sorted(set(names().values())))


def said(judgements: tuple[Judgement, ...]) -> list[str]:
    """What the judges said, for the message of a failed test."""
    return [
        f"{each.assertion.id}: {each.error or [f'{found.where}: {found.got}' for found in each.findings]}"
        for each in judgements
        if each.findings or each.error
    ]


def test_every_check_has_one_mutant_and_every_mutant_a_check() -> None:
    assert sorted(MUTANTS) == sorted(CHECKS)


def test_every_dialect_has_a_recorded_run(recorded: Path) -> None:
    assert sorted(set(names().values())) == sorted(path.name.removesuffix(".json.gz") for path in recorded.iterdir())


def test_a_good_run_gives_no_finding(good: Good) -> None:
    assert [] == said(good.judge({}))


def test_a_good_run_holds_every_request_of_the_plan(good: Good) -> None:
    missing = [
        f"{scenario.id}/{step.name}"
        for scenario in good.plan.scenarios
        for step in scenario.steps
        if (scenario.id, step.name) not in good.exchanges
    ]
    assert [] == missing, "record the runs anew: pytest conformance/tests --re-record"


@pytest.mark.parametrize("identity", sorted(MUTANTS))
def test_every_mutant_is_noticed_by_its_check(good: Good, identity: str) -> None:
    found = MUTANTS[identity]
    if identity not in good.contract.requirements:
        pytest.skip(f"{good.contract.name} does not ask for {identity}")
    assertions = good.of(identity, found.scenario)
    if not assertions:
        pytest.skip(f"no recorded exchange of {good.contract.name} shows what {identity} is about")
    judgements = good.judge(good.broken(found, assertions[0]), assertions[:1])
    assert judgements[0].findings, judgements[0]
