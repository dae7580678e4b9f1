"""Answers are judged while a run goes on: what fails then fails in the end, and a good run shows no failure."""

from __future__ import annotations

import asyncio
import signal
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from conformance.judge import judgement
from conformance.proof.editing.responses import refuse
from conformance.record import Record
from conformance.run import live_judging
from conformance.run.live_judging import LiveJudging

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from conformance.exchange import Exchange
    from conformance.report.writers.progress_bar import LiveFailure
    from conformance.tests.conftest import Good

    Exchanges = Mapping[tuple[str, str], Exchange]

GOODS = ["mindie-2.3", "openai"]


def judge_live(good: Good, exchanges: Exchanges, *, fail_fast: bool = False) -> tuple[list[LiveFailure], Record]:
    """Return the failures that are shown if these exchanges arrive one after another."""
    shown: list[LiveFailure] = []
    record = Record()

    async def main() -> None:
        live = LiveJudging(good.plan, good.model, shown.append, fail_fast=fail_fast)
        judging = asyncio.create_task(live.run())
        for key, exchange in exchanges.items():
            record.exchanges[key] = exchange
            live.note(record)
            live.note(Record({key: exchange}))  # of a further plan
        while live.is_busy:
            await asyncio.sleep(0)
        judging.cancel()
        with suppress(asyncio.CancelledError):
            await judging

    asyncio.run(main())
    return shown, record


@pytest.mark.takes_turns
def test_a_good_run_shows_no_failure(good: Good) -> None:
    assert [] == judge_live(good, good.exchanges)[0]


def test_what_fails_while_the_run_goes_on_fails_in_the_end_and_is_shown_once(
    read_good: Callable[[str], Good],
) -> None:
    good = read_good("mindie-2.3")
    changed = {**good.exchanges, **good.changed(lambda item: refuse(item) if item.scenario == "conversation" else item)}
    shown = [failure.requirement for failure in judge_live(good, changed)[0]]
    failing = {row["id"] for row in good.outcome(changed).results["requirements"] if row["fails"]}
    assert shown
    assert len(shown) == len(set(shown))
    assert set() == set(shown) - failing


def test_an_answer_with_5xx_is_left_to_the_end(read_good: Callable[[str], Good]) -> None:
    good = read_good("mindie-2.3")
    key, exchange = next(item for item in good.exchanges.items() if item[1].status == 200)
    assert exchange.response is not None
    failed = replace(exchange, response=replace(exchange.response, status=500))
    assert [] == judge_live(good, {key: failed})[0]


def test_the_first_failure_ends_a_run_if_asked(read_good: Callable[[str], Good]) -> None:
    good = read_good("mindie-2.3")
    changed = good.changed(lambda item: refuse(item) if item.scenario == "conversation" else item)
    shown, record = judge_live(good, changed, fail_fast=True)
    assert f"--fail-fast: {shown[0].requirement} failed" == record.exhausted
    assert judge_live(good, changed)[1].exhausted is None


def test_a_check_that_does_not_end_leaves_judging_to_the_end(
    read_good: Callable[[str], Good], monkeypatch: pytest.MonkeyPatch
) -> None:
    def spin(*_: object) -> None:
        while True:
            pass

    good = read_good("mindie-2.3")
    monkeypatch.setattr(live_judging, "LONGEST_S", 0.05)
    monkeypatch.setattr(judgement, "_run", spin)
    before = signal.getsignal(signal.SIGVTALRM)
    assert [] == judge_live(good, good.exchanges)[0]
    assert before == signal.getsignal(signal.SIGVTALRM)
