"""Reads that wait for one another: only where nothing is lost by it, and only while there are many."""

from __future__ import annotations

import socket
import struct
import sys
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import gevent
import pytest
from gevent.event import Event

from loadtests.calibrate import calibration as calibrate
from loadtests.calibrate.schedule import Schedule
from loadtests.client import connection as wire
from loadtests.client import read_batching as pace
from loadtests.client.clock import Clock
from loadtests.client.event_loop import STAMPED, Inbox
from loadtests.client.read_batching import Pace
from loadtests.client.transport import SMALL_BYTES, Caller, Origin
from loadtests.tests.scripted import GOOD, chunked, content, saying, serving
from loadtests.tests.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Callable

GAP_NS = 20_000_000
MANY = pace.RATE * 2
SECOND = 1_000_000_000
STREAMS = 1000


def after_seconds(
    *, reads: int = MANY, ends: int = 1, gap_ns: int = GAP_NS, coalesced: int = 0, seconds: int = 1
) -> int:  # fmt: skip
    """How long a read may wait after some seconds of the given reads, ends of answers, gaps and reads with several
    events."""
    made = Pace()
    for at in range(seconds):
        made.saw([each * gap_ns for each in range(1001)], coalesced)
        for _ in range(ends):
            made.ended()
        made.turned(reads, STREAMS, (at + 1) * SECOND)
    return made.pause_ns


def most_ends(pause_ns: int) -> int:
    """How many answers may end in a second so that they last long enough."""
    return STREAMS * SECOND // (pace.PAUSES_PER_ANSWER * pause_ns)


def test_reads_wait_for_one_another_while_many_streams_bring_events_far_apart() -> None:
    assert after_seconds()
    assert after_seconds(seconds=9)


@pytest.mark.parametrize(
    "others",
    [
        {"reads": pace.RATE // 2},
        {"ends": most_ends(pace.PAUSES_NS[-1]) + 1},
        {"gap_ns": pace.CLOSE_NS[-1] - 1},
        {"coalesced": 3},
        {"gap_ns": 0},
    ],
    ids=["few-reads", "short-answers", "close-events", "events-in-one-read", "a-firehose"],
)
def test_none_waits_where_it_gains_nothing_or_would_hide_something(others: dict[str, int]) -> None:
    assert not after_seconds(**others)


@pytest.mark.parametrize("at", range(len(pace.PAUSES_NS) - 1))
def test_the_pause_is_the_longest_that_neither_gaps_nor_ends_forbid(at: int) -> None:
    shorter = pace.PAUSES_NS[at + 1]
    far = 2 * pace.PAUSES_NS[0]
    assert pace.PAUSES_NS[at] == after_seconds(gap_ns=pace.CLOSE_NS[at])
    assert shorter == after_seconds(gap_ns=pace.CLOSE_NS[at] - 1)
    assert pace.PAUSES_NS[at] == after_seconds(gap_ns=far, ends=most_ends(pace.PAUSES_NS[at]))
    assert shorter == after_seconds(gap_ns=far, ends=most_ends(pace.PAUSES_NS[at]) + 1)


@pytest.mark.parametrize(("every", "waits"), [(22, True), (1, False)], ids=["long-answers", "short-answers"])
def test_reads_wait_while_long_answers_end_together_but_not_while_they_are_short(every: int, waits: bool) -> None:
    made = Pace()
    made.saw([each * GAP_NS for each in range(1001)], 0)
    for window in range(1, 200):
        for _ in range(STREAMS if window % every == 0 else 0):
            made.ended()
        made.turned(MANY // 10, STREAMS, window * pace.WINDOW_NS)
        assert waits == bool(made.pause_ns)


def test_reads_wait_soon_after_answers_have_become_long() -> None:
    made = Pace()
    made.saw([each * GAP_NS for each in range(1001)], 0)
    waits = []
    for window in range(1, 61):
        for _ in range(STREAMS if window <= 30 else 0):
            made.ended()
        made.turned(MANY // 10, STREAMS, window * pace.WINDOW_NS)
        waits.append(bool(made.pause_ns))
    assert [False] * 30 == waits[:30]
    assert [True] * 10 == waits[50:]


def test_reads_wait_on_through_a_moment_in_which_little_comes() -> None:
    made = Pace()
    made.saw([each * GAP_NS for each in range(1001)], 0)
    waits = []
    for at, reads in enumerate((MANY, 0, 0, MANY, *[0] * 11)):
        made.turned(reads, STREAMS, SECOND + at * pace.WINDOW_NS)
        waits.append(bool(made.pause_ns))
    assert [True] * 13 + [False] * 2 == waits


def test_nothing_is_presumed_of_gaps_before_any_were_seen() -> None:
    made = Pace()
    made.turned(MANY, STREAMS, SECOND)
    assert not made.pause_ns


def test_close_events_end_the_waiting_at_once_and_silence_does_soon() -> None:
    spoils: list[Callable[[Pace], None]] = [
        lambda each: each.saw(range(200), 0),
        lambda each: each.turned(0, STREAMS, 2 * SECOND),
    ]
    for spoil in spoils:
        made = Pace()
        made.saw([each * GAP_NS for each in range(1001)], 0)
        made.turned(MANY, STREAMS, SECOND)
        assert made.pause_ns
        spoil(made)
        assert not made.pause_ns


@pytest.mark.skipif(sys.platform != "linux", reason="the calibration server needs a timerfd")
def test_a_read_that_waited_tells_the_time_at_which_its_bytes_came() -> None:
    schedule, streams = Schedule(40, 20_000_000, GAP_NS), 60
    with calibrate.schedule_server() as url, ExitStack() as stack:
        host, _, port = url.removeprefix("http://").rpartition(":")
        inbox = Inbox(Clock())
        origin = Origin(host, int(port), calibrate.PATH)
        callers = [stack.enter_context(closing(Caller(origin, inbox))) for _ in range(streams)]
        inbox.pace = Waiting()
        bodies = [calibrate._body(schedule, number) for number in range(streams)]
        calls = [gevent.spawn(caller.call, body, 0) for caller, body in zip(callers, bodies, strict=True)]
        answers = {str(number): call.get() for number, call in enumerate(calls)}
        truth = calibrate.ask(url, "/truth")
    assert [None] * streams == [answer.failure for answer in answers.values()]
    assert inbox.together_reads > inbox.reads / 4
    sooner = total = 0
    for each in truth:
        answer = answers[each["user"]]
        if [1] * schedule.count == list(answer.counts):
            late_ns = [came - sent for came, sent in zip(answer.stamps_ns, each["sent_ns"], strict=True)]
            sooner += sum(late < pace.PAUSES_NS[-1] / 4 for late in late_ns)
            total += schedule.count
    assert sooner >= total * 3 / 4, "a clock that told the time of the read would be late by half a pause, on average"


def hurry(made: Pace, monkeypatch: pytest.MonkeyPatch) -> None:
    """Brings about the verdict that reads may wait, for good."""
    now_ns = time.monotonic_ns()
    made.saw([each * GAP_NS for each in range(1001)], 0)
    made.turned(0, STREAMS, now_ns - SECOND)
    made.turned(MANY, STREAMS, now_ns)
    assert made.pause_ns
    monkeypatch.setattr(pace, "WINDOW_NS", 1000 * SECOND)


def test_nothing_is_waited_for_when_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    inbox = Inbox(Clock())
    hurry(inbox.pace, monkeypatch)
    read = Event()
    reader, writer = socket.socketpair()
    with reader, writer:
        assert not inbox.waits
        inbox.watch(reader.fileno(), lambda: read.set() if reader.recv(10) else None)
        writer.send(b"x")
        read.wait()
        gevent.sleep(0)
        waited = inbox.waits
        inbox.forget(reader.fileno())
        inbox.forget(reader.fileno())
        assert (sys.platform == "linux", False) == (waited, inbox.waits)


def test_reads_without_the_time_of_the_kernel_wait_for_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    inbox = Inbox(clock)
    hurry(inbox.pace, monkeypatch)
    monkeypatch.setattr(wire, "SO_TIMESTAMPNS", socket.SO_KEEPALIVE)  # no stamps, then

    def in_two(peer: Any, _: bytes) -> None:
        peer.sendall(GOOD[:-20])
        time.sleep(0.05)  # else both could come in one read, which proves nothing
        peer.sendall(GOOD[-20:])

    with serving(in_two) as port, closing(Caller(Origin("127.0.0.1", port, "/"), inbox)) as caller:
        assert caller.call(b"", 0).failure is None
    assert clock.unstamped or sys.platform != "linux"
    assert not inbox.together_reads


@pytest.mark.skipif(sys.platform != "linux", reason="nothing waits without an epoll")
@pytest.mark.parametrize(("reads", "waits"), [(STAMPED - 1, False), (STAMPED, True)])
def test_one_read_without_it_among_many_changes_nothing(
    reads: int, waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    inbox = Inbox(clock)
    hurry(inbox.pace, monkeypatch)
    clock.unstamped, inbox.reads = 1, reads - 1
    read = Event()
    reader, writer = socket.socketpair()
    with reader, writer:
        inbox.watch(reader.fileno(), lambda: read.set() if reader.recv(10) else None)
        writer.send(b"x")
        read.wait()
        gevent.sleep(0)
        assert waits == inbox.waits
        inbox.forget(reader.fileno())


def test_where_there_is_no_epoll_each_connection_is_watched_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "elsewhere")
    inbox = Inbox(Clock())
    with serving(saying(GOOD)) as port, closing(Caller(Origin("127.0.0.1", port, "/"), inbox)) as caller:
        assert [None] * 3 == [caller.call(b"", 0).failure for _ in range(3)]
    assert not inbox.waits


HEAD, FIRST, REST = GOOD.partition(chunked(content("a"))[len(chunked()) - 5 : -5])
EXACT = content("a" * (SMALL_BYTES - 7 - len(content(""))))
ENDS: dict[str, tuple[bytes, bool, str | None]] = {
    "bytes-and-the-end-at-once": (REST, True, None),
    "cut-off-at-once": (REST[:-20], True, "cut-off"),
    "a-full-buffer-and-more": (b"%x\r\n%b\r\n" % (len(EXACT), EXACT) + REST, False, None),
    "the-end-alone": (b"", True, "cut-off"),
}


PATIENCE_S = 5.0


def failure_of(rest: Callable[[Any], object]) -> str | None:
    """What becomes of a stream of which the server sends the rest when reads of its connection are put by."""
    inbox = Inbox(Clock())

    def script(peer: Any, _: bytes) -> None:
        peer.sendall(HEAD + FIRST)
        until_s = time.monotonic() + PATIENCE_S
        while not inbox._shelves:
            assert time.monotonic() < until_s, "no read is put by"
            time.sleep(0.001)
        rest(peer)

    with (
        serving(script) as port,
        closing(Caller(Origin("127.0.0.1", port, "/"), inbox, deadline_s=PATIENCE_S)) as caller,
    ):
        return caller.call(b"", 0).failure


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is put by without an epoll")
@pytest.mark.parametrize("name", ENDS)
def test_what_is_put_by_loses_neither_bytes_nor_ends(name: str) -> None:
    data, closes, failure = ENDS[name]

    def rest(peer: Any) -> None:
        peer.sendall(data)
        if closes:
            peer.shutdown(socket.SHUT_WR)
            peer.recv(1)

    assert failure == failure_of(rest)


@pytest.mark.skipif(sys.platform != "linux", reason="nothing is put by without an epoll")
def test_a_connection_that_is_reset_ends_its_stream() -> None:
    def rest(peer: Any) -> None:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()

    assert "cut-off" == failure_of(rest)
