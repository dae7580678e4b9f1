"""Acknowledgements are delayed only for a server that was seen not to wait for them."""

from __future__ import annotations

import socket
import sys
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import gevent
import pytest

from loadtests.client.clock import Clock
from loadtests.client.connection import TimedConnection
from loadtests.client.delayed_ack import MAX_PAUSED_SHARE, MAX_TRIALS, MIN_WAIT_NS, DelayedAck
from loadtests.client.event_loop import EventLoop
from loadtests.client.transport import Caller, Endpoint
from loadtests.tests.always_batching import AlwaysBatching
from loadtests.tests.scripted_server import DONE, chunked, content, serving

if TYPE_CHECKING:
    from collections.abc import Callable

PROMPT = [0, MIN_WAIT_NS - 1, MIN_WAIT_NS]
PAUSED = [0, MIN_WAIT_NS]


def test_one_stream_at_a_time_is_the_trial_until_one_proves_the_server() -> None:
    policy = DelayedAck()
    assert [True, False, False] == [policy.may_delay() for _ in range(3)]
    policy.abandon_trial()
    assert [True, False] == [policy.may_delay() for _ in range(2)]
    assert not policy.record_stream(PAUSED)
    assert [True, False] == [policy.may_delay() for _ in range(2)]
    assert [True, False] == [policy.record_stream(PROMPT) for _ in range(2)], "only the first is the proof"
    assert [True] * 3 == [policy.may_delay() for _ in range(3)]


def test_a_server_that_pauses_in_every_trial_is_not_tried_again() -> None:
    policy = DelayedAck()
    for _ in range(MAX_TRIALS):
        assert policy.may_delay()
        policy.record_stream(PAUSED)
    assert not policy.may_delay()


def test_a_proven_server_loses_its_proof_when_too_many_streams_pause() -> None:
    policy = DelayedAck()
    prompt = 1000
    for _ in range(prompt):
        policy.record_stream(PROMPT)
    for _ in range(round(prompt * MAX_PAUSED_SHARE)):
        policy.record_stream(PAUSED)
    assert policy.may_delay()
    policy.record_stream(PAUSED)
    assert not policy.may_delay()


FRAMED = chunked(content("a"))
HEAD = FRAMED[: FRAMED.index(b"\r\n\r\n") + 4]
EVENT, END = FRAMED[len(HEAD) : -5], chunked(DONE)[len(HEAD) :]
GAP_S = 0.010
TRIES = 5
"""On a busy machine a server may pause by itself, or the first reads have no kernel time, and then no read waits."""


def run_streams(server: Callable[[Any], object], monkeypatch: pytest.MonkeyPatch) -> tuple[int, DelayedAck]:
    """Return how many streams delayed acknowledgements, and what is known about their server afterwards."""
    delayed: list[TimedConnection] = []
    delay_acks = TimedConnection.delay_acks

    def count(connection: TimedConnection) -> None:
        delayed.append(connection)
        delay_acks(connection)

    monkeypatch.setattr(TimedConnection, "delay_acks", count)

    def script(peer: Any, _: bytes) -> None:
        server(peer)
        for piece in (HEAD, *[EVENT] * 24, END):
            peer.sendall(piece)
            time.sleep(GAP_S)

    with serving(script) as port, ExitStack() as stack:
        event_loop = EventLoop(Clock())
        event_loop.batching = AlwaysBatching()
        endpoint = Endpoint("127.0.0.1", port, "/")
        callers = [stack.enter_context(closing(Caller(endpoint, event_loop))) for _ in range(4)]
        for _ in range(2):
            calls = [gevent.spawn(caller.call, b"", 0) for caller in callers]
            answers = [call.get() for call in calls]
            assert [(None, 24)] * 4 == [(answer.failure, sum(answer.counts)) for answer in answers]
        return len(delayed), event_loop.delayed_acks[endpoint.authority]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a client choose")
def test_a_server_that_waits_for_acknowledgements_gets_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(TRIES):
        delayed, policy = run_streams(lambda _: None, monkeypatch)  # Nagle's algorithm, the default of sockets
        if delayed:
            break
    assert 0 < delayed <= MAX_TRIALS
    assert policy.record_stream(PROMPT), "no stream had proven the server"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a client choose")
def test_a_server_that_does_not_wait_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    def set_nodelay(peer: Any) -> None:
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    for _ in range(TRIES):
        delayed, policy = run_streams(set_nodelay, monkeypatch)
        if delayed > MAX_TRIALS:
            break
    assert delayed > MAX_TRIALS
    assert not policy.record_stream(PROMPT), "a stream had proven the server before"
