"""Receipts are held back only from a server that was seen not to wait for them."""

from __future__ import annotations

import socket
import sys
import time
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import gevent
import pytest

from loadtests.client import delayed_ack as receipts
from loadtests.client.clock import Clock
from loadtests.client.connection import Wire
from loadtests.client.delayed_ack import SHORTEST_WAIT_NS, TRIALS, Receipts
from loadtests.client.event_loop import Inbox
from loadtests.client.transport import Caller, Origin
from loadtests.tests.scripted import DONE, chunked, content, serving
from loadtests.tests.waiting import Waiting

if TYPE_CHECKING:
    from collections.abc import Callable

PROMPT = [0, SHORTEST_WAIT_NS - 1, SHORTEST_WAIT_NS]
PAUSED = [0, SHORTEST_WAIT_NS]


def test_one_stream_at_a_time_is_the_trial_until_one_proves_the_server() -> None:
    made = Receipts()
    assert [True, False, False] == [made.may_begin() for _ in range(3)]
    made.gave_up()
    assert [True, False] == [made.may_begin() for _ in range(2)]
    assert not made.saw(PAUSED)
    assert [True, False] == [made.may_begin() for _ in range(2)]
    assert [True, False] == [made.saw(PROMPT) for _ in range(2)], "the proof is given once"
    assert [True] * 3 == [made.may_begin() for _ in range(3)]


def test_a_server_that_pauses_in_every_trial_is_not_tried_again() -> None:
    made = Receipts()
    for _ in range(TRIALS):
        assert made.may_begin()
        made.saw(PAUSED)
    assert not made.may_begin()


def test_a_proven_server_loses_its_proof_when_too_many_streams_pause() -> None:
    made = Receipts()
    prompt = 1000
    for _ in range(prompt):
        made.saw(PROMPT)
    for _ in range(round(prompt * receipts.PAUSED_SHARE)):
        made.saw(PAUSED)
    assert made.may_begin()
    made.saw(PAUSED)
    assert not made.may_begin()


FRAMED = chunked(content("a"))
HEAD = FRAMED[: FRAMED.index(b"\r\n\r\n") + 4]
EVENT, END = FRAMED[len(HEAD) : -5], chunked(DONE)[len(HEAD) :]
GAP_S = 0.010
TRIES = 5
"""On a busy machine a server may pause by itself, or the first reads have no stamp, and then none waits."""


def held_back(server: Callable[[Any], object], monkeypatch: pytest.MonkeyPatch) -> tuple[int, Receipts]:
    """Of how many streams receipts were held back, and what is known of their server then."""
    held: list[Wire] = []
    hold = Wire.hold_receipts

    def counted(wire: Wire) -> None:
        held.append(wire)
        hold(wire)

    monkeypatch.setattr(Wire, "hold_receipts", counted)

    def script(peer: Any, _: bytes) -> None:
        server(peer)
        for piece in (HEAD, *[EVENT] * 24, END):
            peer.sendall(piece)
            time.sleep(GAP_S)

    with serving(script) as port, ExitStack() as stack:
        inbox = Inbox(Clock())
        inbox.pace = Waiting()
        origin = Origin("127.0.0.1", port, "/")
        callers = [stack.enter_context(closing(Caller(origin, inbox))) for _ in range(4)]
        for _ in range(2):
            calls = [gevent.spawn(caller.call, b"", 0) for caller in callers]
            assert [(None, 24)] * 4 == [(each.failure, sum(each.counts)) for each in (call.get() for call in calls)]
        return len(held), inbox.receipts[origin.authority]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a client choose")
def test_a_server_that_waits_for_receipts_keeps_them(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(TRIES):
        held, known = held_back(lambda _: None, monkeypatch)  # Nagle's algorithm, as sockets have it
        if held:
            break
    assert 0 < held <= TRIALS
    assert known.saw(PROMPT), "nothing had proven it"


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux lets a client choose")
def test_a_server_that_does_not_wait_is_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(TRIES):
        held, known = held_back(lambda peer: peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1), monkeypatch)
        if held > TRIALS:
            break
    assert held > TRIALS
    assert not known.saw(PROMPT), "it was proven before"
