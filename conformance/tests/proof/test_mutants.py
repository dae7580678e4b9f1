"""The proof of the suite: on a good run every check is silent, on its mutant it speaks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.judge.check_registry import gather_checks
from conformance.proof.editing.answers import add_tokens, edit_answer, edit_text, edit_usage
from conformance.proof.editing.responses import with_body, with_header, with_status
from conformance.proof.editing.streams import edit_chunks, edit_deltas, edit_frames
from conformance.proof.mutants import mutant
from openapi.contract.contract import Keyword, names

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from conformance.exchange import Exchange
    from conformance.judge.judgement import Judgement
    from conformance.plan.plan import Assertion
    from conformance.tests.conftest import Good

CHECKS = gather_checks()
MUTANTS = mutant.gather_mutants()
MOST_BYTES = 300_000
SAMPLE = 6
"""Places of one check in one dialect that are broken: the first, the last and some between; all would be 100,000."""


def said(judgements: tuple[Judgement, ...]) -> list[str]:
    """What the judges said, for the message of a failed test."""
    return [
        f"{judgement.assertion.id}: {judgement.error or [f'{found.where}: {found.got}' for found in judgement.findings]}"
        for judgement in judgements
        if judgement.findings or judgement.error
    ]


def some(places: list[Assertion]) -> list[Assertion]:
    """Evenly spaced places, the first and the last among them."""
    if len(places) <= SAMPLE:
        return places
    return [places[round(at * (len(places) - 1) / (SAMPLE - 1))] for at in range(SAMPLE)]


def test_every_check_has_one_mutant_and_every_mutant_a_check() -> None:
    assert sorted(MUTANTS) == sorted(CHECKS)


def test_every_dialect_has_a_recorded_run(recorded: Path) -> None:
    assert sorted(set(names().values())) == sorted(path.name.removesuffix(".json.gz") for path in recorded.iterdir())


def test_recorded_runs_are_small(recorded: Path) -> None:
    assert not [path.name for path in recorded.iterdir() if path.stat().st_size > MOST_BYTES]


def test_a_good_run_breaks_nothing_that_binds(good: Good) -> None:
    binding = [assertion for assertion in good.plan.assertions if assertion.requirement.keyword is not Keyword.MAY]
    assert not said(good.judge({}, binding))


def test_a_good_run_holds_every_request_of_the_plan(good: Good) -> None:
    missing = [
        f"{scenario.id}/{step.name}"
        for scenario in good.plan.scenarios
        for step in scenario.steps
        if step.round <= 1 and (scenario.id, step.name) not in good.exchanges
    ]
    assert not missing, "record the runs anew: pytest conformance/tests --re-record"


@pytest.mark.parametrize("identity", sorted(MUTANTS))
def test_every_check_notices_its_mutant_in_every_dialect_where_it_judges(goods: list[Good], identity: str) -> None:
    found = MUTANTS[identity]
    shown = {good.contract.name: good.of(identity, found.scenario) for good in goods}
    if not any(shown.values()):
        pytest.skip(f"no recorded run shows what {identity} is about")
    seen = False
    for good in goods:
        judged = [(each, good.judge(good.broken(found, each), [each])[0]) for each in some(shown[good.contract.name])]
        if judged and not any(judgement.applies for _, judgement in judged):
            continue  # this dialect's run shows no occasion, broken or not
        seen = seen or bool(judged)
        for at, (assertion, judgement) in enumerate(judged):
            noticed = judgement.findings or (at and judgement.unobserved)
            assert noticed, f"{good.contract.name}: {assertion.id} does not notice: {found.sin} {judgement.error or ''}"
    if not seen:
        pytest.skip(f"no recorded run shows what {identity} is about, not even when it is broken")


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


@pytest.mark.parametrize("verb", UNCHANGED)
def test_a_mutant_that_changes_nothing_is_not_noticed(good: Good, verb: str) -> None:
    def change(exchange: Exchange) -> Exchange:
        if exchange.response is None or exchange.failure is not None:
            return exchange
        streams, answers = exchange.is_stream and exchange.succeeded, isinstance(exchange.json, dict)
        fits = {
            **dict.fromkeys(("frames", "chunks", "deltas"), streams),
            **dict.fromkeys(("usage", "tokens"), exchange.usage is not None),
            "answer": answers,
            "text": bool(exchange.content()),
            "body": not exchange.is_stream,  # a body that comes at once is a fault of a stream
        }
        return UNCHANGED[verb](exchange) if fits.get(verb, True) else exchange

    assert said(good.judgements) == said(good.judge(good.changed(change)))


def test_a_stream_put_together_again_has_the_same_bytes_at_the_same_times(good: Good) -> None:
    streams = [exchange for exchange in good.exchanges.values() if exchange.is_stream and exchange.complete]
    again = [edit_frames(exchange, lambda frames: frames) for exchange in streams]
    assert [stream.body for stream in streams] == [each.body for each in again]
    assert [stream.events for stream in streams] == [each.events for each in again]
