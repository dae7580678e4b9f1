"""The rows of the fault table that end the server, or all that it does; each has a process of its own."""

from __future__ import annotations

import json
import threading
import time
from typing import TYPE_CHECKING, Any, Final

import pytest

from openapi.contract.contract import load
from openapi.description.validation import Validator
from reference_server.http.server import GRACE_S
from tests.robustness.engine_attacks import wait_for
from tests.robustness.reference_process import MAIN, ReferenceProcess
from tests.robustness.rows import ROWS, Attacks, Row
from tests.robustness.wire import Answer, get

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ATTACKS: Final = Attacks("process")
HANG: Final = {"hang_s": 2.0, "stall_s": 1.0}
SHORT_GRACE_S: Final = 2.0
SLACK_S: Final = 20.0
"""How much longer something may take on a busy machine."""


class Streams:
    """Answers that are streamed in the background, one for each number of tokens."""

    def __init__(self, server: ReferenceProcess, *lengths: int) -> None:
        self.answers: dict[int, Answer] = {}
        self._threads = [threading.Thread(target=self._ask, args=(server, length)) for length in lengths]
        for thread in self._threads:
            thread.start()
        wait_for(lambda: server.command("counts")["sequences"] == len(lengths), SLACK_S)

    def _ask(self, server: ReferenceProcess, length: int) -> None:
        self.answers[length] = server.post(max_tokens=length, ignore_eos=True, stream=True)

    def ends(self) -> list[str]:
        """Wait until all have ended; return the data of the last event of each, by length."""
        for thread in self._threads:
            thread.join(SLACK_S)
        return [self.answers[length].body.decode().strip().split("data: ")[-1] for length in sorted(self.answers)]


def assert_error_event(data: str) -> None:
    """Assert that an event reports an error in the dialect's envelope, without a detail of the fault."""
    assert Validator(load(MAIN)).problems("ErrorEnvelope", json.loads(data)) == ()
    assert "0xdeadbeef" not in data


def health(server: ReferenceProcess) -> int:
    """Return the status of /health; 0 if the server does not answer."""
    try:
        return get(f"{server.addresses[MAIN]}/health").status
    except ConnectionError:
        return 0


@ATTACKS.row(33)
def failing_engine(row: Row) -> Iterator[Answer]:
    with ReferenceProcess(grace_s=GRACE_S, **HANG) as server:
        assert server.post().status == 200
        server.command("slow_down")
        streams = Streams(server, 3000)
        server.command("fail")
        (end,) = streams.ends()
        assert_error_event(end)
        assert health(server) == 503
        yield streams.answers[3000]
        wait_for(lambda: health(server) == 200, row.values["seconds"])
        assert server.post().status == 200
        server.command("slow_down")
        streams = Streams(server, 3000)
        server.command("hang")
        hung = time.monotonic()
        wait_for(lambda: health(server) == 503, HANG["stall_s"] + SLACK_S)
        (end,) = streams.ends()
        assert_error_event(end)
        assert server.process.wait(SLACK_S) == 1
        assert time.monotonic() - hung < HANG["hang_s"] + row.values["seconds"]
        yield streams.answers[3000]


@ATTACKS.row(34)
def terminated_server(_: Row) -> Iterator[Answer]:
    with ReferenceProcess(grace_s=SHORT_GRACE_S) as server:
        server.command("slow_down")
        streams = Streams(server, 20, 3000)
        server.terminate()
        wait_for(lambda: health(server) == 0, SLACK_S)
        short, long = streams.ends()
        assert short == "[DONE]"
        assert_error_event(long)
        assert server.process.wait(SLACK_S) == 0
        assert "Traceback" not in server.log()
        yield from streams.answers.values()


@pytest.mark.takes_turns
@pytest.mark.parametrize("row", ATTACKS.rows, ids=str)
def test_the_process_ends_or_recovers(row: Row, record_property: Callable[[str, Any], None]) -> None:
    measured: dict[str, Any] = {"row": row.number}
    record_property("robustness", measured)
    started = time.monotonic()
    assert list(ATTACKS[row.number](row))
    measured["seconds"] = time.monotonic() - started


def test_the_default_grace_period_is_that_of_the_table() -> None:
    assert [{"grace_s": GRACE_S}] == [row.configured for row in ATTACKS.rows if row.configured]


def test_every_row_belongs_to_a_test() -> None:
    assert sorted(ATTACKS) == [row.number for row in ROWS if row.part == "process"]
