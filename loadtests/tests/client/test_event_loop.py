"""The event loop: reads keep the times of their bytes, wait only where they may, and lose neither bytes nor ends."""

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

from loadtests.calibrate import calibration
from loadtests.calibrate.schedule import Schedule
from loadtests.client import connection, read_batching
from loadtests.client.clock import Clock
from loadtests.client.event_loop import MIN_STAMPED, EventLoop
from loadtests.client.stream_reader import SMALL_READ_BYTES
from loadtests.client.transport import Caller, Endpoint
from loadtests.tests.always_batching import AlwaysBatching
from loadtests.tests.scripted_server import GOOD, chunked, content, saying, serving

if TYPE_CHECKING:
    from collections.abc import Callable

    from loadtests.client.read_batching import ReadBatching

GAP_NS = 20_000_000
MANY = read_batching.MIN_READS_PER_S * 2
SECOND = 1_000_000_000
STREAMS = 1000
PATIENCE_S = 5.0


class SocketReader:
    """Reads a socket once and notes that it did; the loop must not append to its buffer."""

    def __init__(self, peer: socket.socket) -> None:
        self.receive: Any = None
        self.read_size = 0
        self.reads: list[bytes] = []
        self.stamps_ns: list[int] = []
        self.max_reads = 1
        self.done = Event()
        self._peer = peer

    def read(self) -> None:
        if self._peer.recv(10):
            self.done.set()

    def flush(self) -> None: ...
    def delay_acks(self) -> None: ...
    def handle_read(self, data: bytes, at_ns: int) -> None: ...
    def handle_error(self, error: OSError) -> None: ...


def allow_waiting(batching: ReadBatching, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the policy decide that reads may wait, and keep that decision."""
    now_ns = time.monotonic_ns()
    batching.record_gaps([number * GAP_NS for number in range(1001)], 0)
    batching.record_turn(0, STREAMS, now_ns - SECOND)
    batching.record_turn(MANY, STREAMS, now_ns)
    assert batching.pause_ns
    monkeypatch.setattr(read_batching, "WINDOW_NS", 1000 * SECOND)


@pytest.mark.skipif(sys.platform != "linux", reason="the calibration server needs a timerfd")
def test_a_read_that_waited_has_the_time_at_which_its_bytes_came() -> None:
    schedule, streams = Schedule(40, 20_000_000, GAP_NS), 60
    with calibration.run_schedule_server() as url, ExitStack() as stack:
        host, _, port = url.removeprefix("http://").rpartition(":")
        event_loop = EventLoop(Clock())
        endpoint = Endpoint(host, int(port), calibration.PATH)
        callers = [stack.enter_context(closing(Caller(endpoint, event_loop))) for _ in range(streams)]
        event_loop.batching = AlwaysBatching()
        bodies = [calibration._body(schedule, number) for number in range(streams)]
        calls = [gevent.spawn(caller.call, body, 0) for caller, body in zip(callers, bodies, strict=True)]
        answers = {str(number): call.get() for number, call in enumerate(calls)}
        truth = calibration.fetch_json(url, "/truth")
    assert [None] * streams == [answer.failure for answer in answers.values()]
    assert event_loop.batched_reads > event_loop.reads / 4
    sooner = total = 0
    for stream in truth:
        answer = answers[stream["user"]]
        if [1] * schedule.count == list(answer.counts):
            late_ns = [came - sent for came, sent in zip(answer.stamps_ns, stream["sent_ns"], strict=True)]
            sooner += sum(late < read_batching.PAUSES_NS[-1] / 4 for late in late_ns)
            total += schedule.count
    assert sooner >= total * 3 / 4, "the time of the read would be late by half a pause on average"


def test_the_loop_stops_waiting_when_no_connection_is_watched(monkeypatch: pytest.MonkeyPatch) -> None:
    event_loop = EventLoop(Clock())
    allow_waiting(event_loop.batching, monkeypatch)
    near, far = socket.socketpair()
    with near, far:
        assert not event_loop.is_batching
        reader = SocketReader(near)
        event_loop.watch(near.fileno(), reader)
        far.send(b"x")
        reader.done.wait()
        gevent.sleep(0)
        waited = event_loop.is_batching
        event_loop.unwatch(near.fileno())
        event_loop.unwatch(near.fileno())
        assert (sys.platform == "linux", False) == (waited, event_loop.is_batching)


def test_reads_without_the_kernels_time_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    event_loop = EventLoop(clock)
    allow_waiting(event_loop.batching, monkeypatch)
    monkeypatch.setattr(connection, "SO_TIMESTAMPNS", socket.SO_KEEPALIVE)  # reads then have no kernel time

    def in_two(peer: Any, _: bytes) -> None:
        peer.sendall(GOOD[:-20])
        time.sleep(0.05)  # otherwise both could come in one read, which proves nothing
        peer.sendall(GOOD[-20:])

    with serving(in_two) as port, closing(Caller(Endpoint("127.0.0.1", port, "/"), event_loop)) as caller:
        assert caller.call(b"", 0).failure is None
    assert clock.unstamped or sys.platform != "linux"
    assert not event_loop.batched_reads


@pytest.mark.skipif(sys.platform != "linux", reason="no read waits without an epoll")
@pytest.mark.parametrize(("reads", "waits"), [(MIN_STAMPED - 1, False), (MIN_STAMPED, True)])
def test_one_read_without_the_kernels_time_among_many_changes_nothing(
    reads: int, waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    event_loop = EventLoop(clock)
    allow_waiting(event_loop.batching, monkeypatch)
    clock.unstamped, event_loop.reads = 1, reads - 1
    near, far = socket.socketpair()
    with near, far:
        reader = SocketReader(near)
        event_loop.watch(near.fileno(), reader)
        far.send(b"x")
        reader.done.wait()
        gevent.sleep(0)
        assert waits == event_loop.is_batching
        event_loop.unwatch(near.fileno())


def test_without_an_epoll_each_connection_has_its_own_watcher(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "elsewhere")
    event_loop = EventLoop(Clock())
    with serving(saying(GOOD)) as port, closing(Caller(Endpoint("127.0.0.1", port, "/"), event_loop)) as caller:
        assert [None] * 3 == [caller.call(b"", 0).failure for _ in range(3)]
    assert not event_loop.is_batching


HEAD, FIRST, REST = GOOD.partition(chunked(content("a"))[len(chunked()) - 5 : -5])
EXACT = content("a" * (SMALL_READ_BYTES - 7 - len(content(""))))
ENDS: dict[str, tuple[bytes, bool, str | None]] = {
    "bytes-and-the-end-at-once": (REST, True, None),
    "cut-off-at-once": (REST[:-20], True, "cut-off"),
    "a-full-buffer-and-more": (b"%x\r\n%b\r\n" % (len(EXACT), EXACT) + REST, False, None),
    "the-end-alone": (b"", True, "cut-off"),
}


def failure_of(send_rest: Callable[[Any], object]) -> str | None:
    """Return the failure of a stream whose server sends the rest once reads of its connection are buffered."""
    event_loop = EventLoop(Clock())

    def script(peer: Any, _: bytes) -> None:
        peer.sendall(HEAD + FIRST)
        until_s = time.monotonic() + PATIENCE_S
        while not event_loop.buffering_readers():
            assert time.monotonic() < until_s, "no read is buffered"
            time.sleep(0.001)
        send_rest(peer)

    with (
        serving(script) as port,
        closing(Caller(Endpoint("127.0.0.1", port, "/"), event_loop, deadline_s=PATIENCE_S)) as caller,
    ):
        return caller.call(b"", 0).failure


@pytest.mark.skipif(sys.platform != "linux", reason="no read is buffered without an epoll")
@pytest.mark.parametrize("name", ENDS)
def test_buffering_loses_neither_bytes_nor_ends(name: str) -> None:
    data, closes, failure = ENDS[name]

    def send_rest(peer: Any) -> None:
        peer.sendall(data)
        if closes:
            peer.shutdown(socket.SHUT_WR)
            peer.recv(1)

    assert failure == failure_of(send_rest)


@pytest.mark.skipif(sys.platform != "linux", reason="no read is buffered without an epoll")
def test_a_connection_that_is_reset_ends_its_stream() -> None:
    def reset(peer: Any) -> None:
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        peer.close()

    assert "cut-off" == failure_of(reset)
