"""The tally: what workers count adds up, and streams count while they run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from loadtests.measure.live_progress import fresh
from loadtests.measure.objectives import met_by
from loadtests.measure.tally import Tally
from loadtests.tests.built import MANY, MS, answer

if TYPE_CHECKING:
    from loadtests.client.answer import Answer


def counted(*shares: list[Answer]) -> dict[str, Any]:
    """What a master knows after its workers have counted their shares."""
    master = Tally()
    for share in shares:
        worker = Tally()
        for each in share:
            worker.add(replace(each), 0, met_by(()))
        master.merge(worker.take())
        assert 0 == worker.requests
    made = master.take()
    for second in made["seconds"].values():
        second["ttft_ms"].sort()
        second["gap_ms"].sort()
    return made


def test_what_workers_counted_adds_up_to_what_one_would_have_counted() -> None:
    answers = [*MANY[:100], answer(5, 5, failure="cut-off")]
    one, two = counted(answers), counted(answers[::2], answers[1::2])
    longest = [[each["longest_ms"] for each in made.pop("worst")] for made in (one, two)]
    assert one == two
    assert longest[0] == longest[1]


def test_what_was_sent_in_the_warm_up_is_in_no_latency() -> None:
    tally = Tally()
    tally.add(replace(answer(0, 50)), 60 * MS, met_by(()))
    assert (0, 1) == (tally.requests, tally.seconds[0].answers)


def test_a_running_stream_is_counted_as_it_is_seen_and_once_however_often_it_is_looked_at() -> None:
    whole, cut = answer(0, 50, gaps=200), answer(0, 50, gaps=200)
    tallies = Tally(), Tally()
    stamps, counts = cut.stamps_ns, cut.counts
    for seen, until in ((1, None), (2, None), (2, None), (90, 60), (90, 60), (90, None), (160, 150)):
        cut.stamps_ns, cut.counts = stamps[:seen], counts[:seen]
        if (new := fresh(cut, 0, until and stamps[until])) is not None:
            tallies[1].hear(new)
    assert (0, 150, 0) == (tallies[1].requests, tallies[1].reads, tallies[1].tokens)
    assert 149 == sum(count for second in tallies[1].seconds.values() for count in second.gap_ms.values())
    cut.stamps_ns, cut.counts = stamps, counts
    for tally, each in zip(tallies, (whole, cut), strict=True):
        tally.add(each, 0, met_by(()))
    assert tallies[0] == tallies[1]
    assert 201 == sum(second.tokens for second in tallies[0].seconds.values())


def test_a_stream_sent_in_the_warm_up_counts_with_the_gaps_that_end_after_it() -> None:
    new = fresh(answer(0, 50, gaps=10), 151 * MS)
    assert new is not None
    assert (None, 5, {0: {20.0: 5}}) == (new.ttft_ms, new.reads, {at: dict(each) for at, each in new.gaps_ms.items()})
