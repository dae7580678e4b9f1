"""The counts of workers add up, and streams are counted while they run."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from loadtests.measure.live_progress import take_new
from loadtests.measure.objectives import make_goodput_check
from loadtests.measure.tally import Tally
from loadtests.tests.example_results import MANY, MS, make_answer

if TYPE_CHECKING:
    from loadtests.client.answer import Answer


def count_with_workers(*shares: list[Answer]) -> dict[str, Any]:
    """Return the counts of a master whose workers have each counted a share of the answers."""
    master = Tally()
    for share in shares:
        worker = Tally()
        for answer in share:
            worker.add(replace(answer), 0, make_goodput_check(()))
        master.merge(worker.take())
        assert 0 == worker.requests
    counts = master.take()
    for second in counts["seconds"].values():
        second["ttft_ms"].sort()
        second["gap_ms"].sort()
    return counts


def test_the_counts_of_workers_add_up_to_those_of_one_process() -> None:
    answers = [*MANY[:100], make_answer(5, 5, failure="cut-off")]
    one, two = count_with_workers(answers), count_with_workers(answers[::2], answers[1::2])
    longest = [[stream["longest_ms"] for stream in counts.pop("worst")] for counts in (one, two)]
    assert one == two
    assert longest[0] == longest[1]


def test_a_request_of_the_warm_up_is_not_in_the_latencies() -> None:
    tally = Tally()
    tally.add(replace(make_answer(0, 50)), 60 * MS, make_goodput_check(()))
    assert (0, 1) == (tally.requests, tally.seconds[0].answers)


def test_a_running_stream_is_counted_once_however_often_it_is_looked_at() -> None:
    whole, cut = make_answer(0, 50, gaps=200), make_answer(0, 50, gaps=200)
    tallies = Tally(), Tally()
    stamps, counts = cut.stamps_ns, cut.counts
    for seen, until in ((1, None), (2, None), (2, None), (90, 60), (90, 60), (90, None), (160, 150)):
        cut.stamps_ns, cut.counts = stamps[:seen], counts[:seen]
        if (new := take_new(cut, 0, until and stamps[until])) is not None:
            tallies[1].add_new_reads(new)
    assert (0, 150, 0) == (tallies[1].requests, tallies[1].reads, tallies[1].tokens)
    assert 149 == sum(count for second in tallies[1].seconds.values() for count in second.gap_ms.values())
    cut.stamps_ns, cut.counts = stamps, counts
    for tally, answer in zip(tallies, (whole, cut), strict=True):
        tally.add(answer, 0, make_goodput_check(()))
    assert tallies[0] == tallies[1]
    assert 201 == sum(second.tokens for second in tallies[0].seconds.values())


def test_a_stream_of_the_warm_up_counts_with_the_gaps_that_end_after_it() -> None:
    new = take_new(make_answer(0, 50, gaps=10), 151 * MS)
    assert new is not None
    assert (None, 5, {0: {20.0: 5}}) == (new.ttft_ms, new.reads, {at: dict(gaps) for at, gaps in new.gaps_ms.items()})
