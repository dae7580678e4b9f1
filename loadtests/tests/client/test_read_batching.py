"""Reads wait for one another only while there are many of them and nothing is lost by it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from loadtests.client import read_batching
from loadtests.client.read_batching import ReadBatching, choose_pause_ns

if TYPE_CHECKING:
    from collections.abc import Callable

GAP_NS = 20_000_000
MANY = read_batching.MIN_READS_PER_S * 2
SECOND = 1_000_000_000
STREAMS = 1000
EVEN_GAPS = [number * GAP_NS for number in range(1001)]


def pause_after(
    *, reads: int = MANY, ends: int = 1, gap_ns: int = GAP_NS, coalesced: int = 0, seconds: int = 1
) -> int:  # fmt: skip
    """Return how long a read may wait after some seconds.

    Each second has the given reads, ends of answers, gaps and reads with several events.
    """
    batching = ReadBatching()
    for second in range(seconds):
        batching.record_gaps([number * gap_ns for number in range(1001)], coalesced)
        for _ in range(ends):
            batching.record_end()
        batching.record_turn(reads, STREAMS, (second + 1) * SECOND)
    return batching.pause_ns


def max_ends(pause_ns: int) -> int:
    """Return how many answers may end in a second so that they last long enough for a pause."""
    return STREAMS * SECOND // (read_batching.PAUSES_PER_ANSWER * pause_ns)


def test_reads_wait_while_many_streams_bring_events_far_apart() -> None:
    assert pause_after()
    assert pause_after(seconds=9)


@pytest.mark.parametrize(
    "others",
    [
        {"reads": read_batching.MIN_READS_PER_S // 2},
        {"ends": max_ends(read_batching.PAUSES_NS[-1]) + 1},
        {"gap_ns": read_batching.CLOSE_NS[-1] - 1},
        {"coalesced": 3},
        {"gap_ns": 0},
    ],
    ids=["few-reads", "short-answers", "close-events", "events-in-one-read", "a-firehose"],
)
def test_no_read_waits_where_it_gains_nothing_or_would_hide_something(others: dict[str, int]) -> None:
    assert not pause_after(**others)


@pytest.mark.parametrize("index", range(len(read_batching.PAUSES_NS) - 1))
def test_the_pause_is_the_longest_that_gaps_and_ends_allow(index: int) -> None:
    pause_ns, shorter_ns = read_batching.PAUSES_NS[index : index + 2]
    far_ns = 2 * read_batching.PAUSES_NS[0]
    assert pause_ns == pause_after(gap_ns=read_batching.CLOSE_NS[index])
    assert shorter_ns == pause_after(gap_ns=read_batching.CLOSE_NS[index] - 1)
    assert pause_ns == pause_after(gap_ns=far_ns, ends=max_ends(pause_ns))
    assert shorter_ns == pause_after(gap_ns=far_ns, ends=max_ends(pause_ns) + 1)


@pytest.mark.parametrize(
    ("sparse_ns", "mean_answer_ns", "pause_ns"),
    [
        (16_000_000, None, 16_000_000),
        (16_000_000, 1.2e9, 12_000_000),
        (4_000_000, 1.2e9, 4_000_000),
        (16_000_000, 0.1e9, 0),
        (0, None, 0),
    ],
)
def test_the_pause_is_chosen_from_gaps_and_the_length_of_answers(
    sparse_ns: int, mean_answer_ns: float | None, pause_ns: int
) -> None:
    assert pause_ns == choose_pause_ns(sparse_ns, mean_answer_ns)


@pytest.mark.parametrize(("every", "waits"), [(22, True), (1, False)], ids=["long-answers", "short-answers"])
def test_reads_wait_while_long_answers_end_together_but_not_while_they_are_short(every: int, waits: bool) -> None:
    batching = ReadBatching()
    batching.record_gaps(EVEN_GAPS, 0)
    for window in range(1, 200):
        for _ in range(STREAMS if window % every == 0 else 0):
            batching.record_end()
        batching.record_turn(MANY // 10, STREAMS, window * read_batching.WINDOW_NS)
        assert waits == bool(batching.pause_ns)


def test_reads_wait_soon_after_answers_have_become_long() -> None:
    batching = ReadBatching()
    batching.record_gaps(EVEN_GAPS, 0)
    waits = []
    for window in range(1, 61):
        for _ in range(STREAMS if window <= 30 else 0):
            batching.record_end()
        batching.record_turn(MANY // 10, STREAMS, window * read_batching.WINDOW_NS)
        waits.append(bool(batching.pause_ns))
    assert [False] * 30 == waits[:30]
    assert [True] * 10 == waits[50:]


def test_reads_continue_to_wait_through_a_moment_in_which_little_comes() -> None:
    batching = ReadBatching()
    batching.record_gaps(EVEN_GAPS, 0)
    waits = []
    for window, reads in enumerate((MANY, 0, 0, MANY, *[0] * 11)):
        batching.record_turn(reads, STREAMS, SECOND + window * read_batching.WINDOW_NS)
        waits.append(bool(batching.pause_ns))
    assert [True] * 13 + [False] * 2 == waits


def test_no_read_waits_before_any_gaps_were_seen() -> None:
    batching = ReadBatching()
    batching.record_turn(MANY, STREAMS, SECOND)
    assert not batching.pause_ns


def test_close_events_end_the_waiting_at_once_and_silence_does_soon() -> None:
    spoils: list[Callable[[ReadBatching], None]] = [
        lambda batching: batching.record_gaps(range(200), 0),
        lambda batching: batching.record_turn(0, STREAMS, 2 * SECOND),
    ]
    for spoil in spoils:
        batching = ReadBatching()
        batching.record_gaps(EVEN_GAPS, 0)
        batching.record_turn(MANY, STREAMS, SECOND)
        assert batching.pause_ns
        spoil(batching)
        assert not batching.pause_ns
