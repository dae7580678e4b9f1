"""Test that every check reports its mutant, and reports nothing binding on a recorded run of a conforming server."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING
from zlib import crc32

import pytest

from conformance.judge.check_registry import gather_checks
from conformance.proof.editing.answers import add_tokens, edit_answer, edit_text, edit_usage
from conformance.proof.editing.responses import with_body, with_header, with_status
from conformance.proof.editing.streams import edit_chunks, edit_deltas, edit_frames
from conformance.proof.mutants import mutant
from conformance.run.calls import cut_stop
from conformance.tests.conftest import DIALECTS
from conformance.tests.proof.spacing import space_evenly
from openapi.contract.contract import Keyword, names

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conformance.exchange import Exchange
    from conformance.judge.judgement import Judgement
    from conformance.tests.conftest import Good

CHECKS = gather_checks()
MUTANTS = mutant.gather_mutants()
MOST_BYTES = 520_000
TURNS = 3
"""Which of the edits that change nothing is made to an exchange: each dialect has one of three turns."""
MOST_DIALECTS = len(DIALECTS) if os.environ.get("CHATPROOF_TEST_EVERY") == "1" else 2
"""In how many dialects each check is tested; each starts with another one."""
SAMPLE = 3
"""How many assertions of a check in a dialect are tested: the first, the middle and the last, out of 100,000."""


def problems_of(judgements: tuple[Judgement, ...]) -> list[str]:
    """Return the findings and errors of judgements in words."""
    problems = []
    for judgement in judgements:
        findings = [f"{finding.where}: {finding.got}" for finding in judgement.findings]
        if judgement.error or findings:
            problems.append(f"{judgement.assertion.id}: {judgement.error or findings}")
    return problems


def test_every_check_has_exactly_one_mutant() -> None:
    assert sorted(MUTANTS) == sorted(CHECKS)


def test_every_dialect_has_a_recorded_run(recorded: Path) -> None:
    assert sorted(set(names().values())) == sorted(path.name.removesuffix(".json.xz") for path in recorded.iterdir())


def test_recorded_runs_are_small(recorded: Path) -> None:
    assert not [path.name for path in recorded.iterdir() if path.stat().st_size > MOST_BYTES]


@pytest.mark.takes_turns
def test_a_recorded_run_has_no_binding_findings(good: Good) -> None:
    binding = [assertion for assertion in good.plan.assertions if assertion.requirement.keyword is not Keyword.MAY]
    assert not problems_of(good.judge({}, binding))


def test_a_recorded_run_has_every_request_of_the_plan(good: Good) -> None:
    missing = [
        f"{scenario.id}/{step.name}"
        for scenario in good.plan.scenarios
        for step in scenario.steps
        if step.round <= 1 and (scenario.id, step.name) not in good.exchanges
        if step.stop_from is None or cut_stop(scenario, step.stop_from, good.exchanges) is not None
    ]
    assert not missing, "record the runs again: pytest conformance/tests --re-record"


@pytest.mark.parametrize("identity", sorted(MUTANTS))
def test_every_check_reports_its_mutant_whatever_the_dialect(goods: list[Good], identity: str) -> None:
    mutant_ = MUTANTS[identity]
    applicable = {good.contract.name: good.of(identity, mutant_.scenario) for good in goods}
    if not any(applicable.values()):
        pytest.skip(f"no recorded run exercises {identity}")
    seen = 0
    first = crc32(identity.encode()) % len(goods)
    for good in (*goods[first:], *goods[:first]):
        if seen == MOST_DIALECTS:
            break
        judged = [
            (assertion, good.judge(good.broken(mutant_, assertion), [assertion])[0])
            for assertion in space_evenly(applicable[good.contract.name], SAMPLE)
        ]
        if judged and not any(judgement.applies for _, judgement in judged):
            continue  # this dialect's run does not exercise the requirement, changed or not
        seen += bool(judged)
        for at, (assertion, judgement) in enumerate(judged):
            reported = judgement.findings or (at and judgement.unobserved)
            assert reported, (
                f"{good.contract.name}: {assertion.id} does not report: {mutant_.defect} {judgement.error or ''}"
            )
    if not seen:
        pytest.skip(f"no recorded run exercises {identity}, not even changed")


UNCHANGED: dict[str, Callable[[Exchange], Exchange]] = {
    "answer": lambda exchange: edit_answer(exchange, lambda _: None),
    "usage": lambda exchange: edit_usage(exchange, lambda _: None),
    "text": lambda exchange: edit_text(exchange, lambda text: text),
    "frames": lambda exchange: edit_frames(exchange, lambda frames: frames),
    "chunks": lambda exchange: edit_chunks(exchange, lambda _: None),
    "deltas": lambda exchange: edit_deltas(exchange, lambda _: None),
    "tokens": lambda exchange: add_tokens(exchange, prompt=0),
    "status": lambda exchange: with_status(exchange, exchange.status or 0),
    "header": lambda exchange: with_header(exchange, "content-type", exchange.header("content-type")),
    "body": lambda exchange: with_body(exchange, exchange.body),
}


def _fits(name: str, exchange: Exchange) -> bool:
    """Return whether an edit of this name can leave the exchange as it is."""
    if exchange.response is None or exchange.failure is not None:
        return False
    match name:
        case "frames" | "chunks" | "deltas":
            return exchange.is_stream and exchange.succeeded
        case "usage" | "tokens":
            return exchange.usage is not None
        case "answer":
            return isinstance(exchange.json, dict)
        case "text":
            return bool(exchange.content())
        case "body":
            return not exchange.is_stream  # a stream that arrives at once is reported
        case _:
            return True


@pytest.mark.takes_turns
@pytest.mark.parametrize(("dialect", "turn"), [(dialect, turn % TURNS) for turn, dialect in enumerate(DIALECTS)])
def test_an_edit_that_changes_nothing_is_not_reported(
    read_good: Callable[[str], Good], dialect: str, turn: int
) -> None:
    good = read_good(dialect).part
    changed = {}
    for number, (key, exchange) in enumerate(good.exchanges.items()):
        fitting = [change for name, change in UNCHANGED.items() if _fits(name, exchange)]
        changed[key] = fitting[(number + turn) % len(fitting)](exchange) if fitting else exchange
    assert problems_of(good.judgements) == problems_of(good.judge(changed))


def test_reassembling_a_stream_keeps_its_bytes_and_times(good: Good) -> None:
    streams = [exchange for exchange in good.exchanges.values() if exchange.is_stream and exchange.complete]
    again = [edit_frames(exchange, lambda frames: frames) for exchange in streams]
    assert [stream.body for stream in streams] == [stream.body for stream in again]
    assert [stream.events for stream in streams] == [stream.events for stream in again]
