"""Dealing: how shares of the numbers come from the master to its workers, those that come late among them."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Final

from locust.runners import STATE_MISSING, MasterRunner, WorkerRunner

from loadtests.run.partition import Shares

if TYPE_CHECKING:
    from collections.abc import Callable

    from locust.env import Environment

    from loadtests.run.load_generator import Sending

SHARE: Final = "chatproof_share"
ASK: Final = "chatproof_ask"
HALVE: Final = "chatproof_halve"
HALF: Final = "chatproof_half"


class Dealing:
    """Deals as the master, and takes as a worker. `begin` is called on a worker whose test has waited for its share."""

    def __init__(self, environment: Environment, sending: Sending, begin: Callable[[], None]) -> None:
        self._environment = environment
        self._sending = sending
        self._begin = begin
        self._shares = Shares()
        self._share: tuple[int, int] | None = None
        self.waits = False
        """Whether a test has begun that this worker has no share of yet."""
        self.passed_s = 0.0
        """How long the test had run when this worker got its share."""
        self.undrained: set[str] = set()
        """Workers that have a share and have not said that all of it is answered."""

    def listen(self) -> None:
        """Hears what the other side says of shares."""
        runner: Any = self._environment.runner
        if isinstance(runner, WorkerRunner):
            runner.register_message(SHARE, self._take)
            runner.register_message(HALVE, self._halve)
        elif isinstance(runner, MasterRunner):
            runner.register_message(HALF, self._pass_on)
            runner.register_message(ASK, self._answer)

    def awaits(self) -> bool:
        """Whether a test that begins here has to wait, as this is a worker to which nothing has been dealt. Then it
        asks: it came when the test had begun, or was not yet listening."""
        runner: Any = self._environment.runner
        self.waits = isinstance(runner, WorkerRunner) and self._share is None
        if self.waits:
            runner.send_message(ASK)
        return self.waits

    def deal(self) -> None:
        """The master deals a test's numbers out to the workers that are there."""
        there = self._there()
        self.undrained = {*there}
        for worker, share in self._shares.deal(there):
            self._send(worker, share)

    def take(self) -> tuple[int, int]:
        """The share that a test here begins with: everything, where there is no master."""
        share, self._share = self._share or (0, 1), None
        return share

    def end(self) -> None:
        """The test has ended: nobody is awaited, and nothing waited for."""
        self.waits = False
        self.undrained.clear()

    def _there(self) -> list[str]:
        runner: Any = self._environment.runner
        return [worker.id for worker in runner.clients.all if worker.state != STATE_MISSING]

    def mind(self) -> set[str]:
        """Workers of those awaited that are lost; they are awaited no more."""
        lost = self.undrained - {*self._there()}
        self.undrained -= lost
        return lost

    def _send(self, worker: str, share: tuple[int, int] | None, passed_s: float = 0.0) -> None:
        runner: Any = self._environment.runner
        runner.send_message(SHARE, {"share": share, "passed_s": passed_s, "lines": self._sending.keeps_lines}, worker)

    def _send_late(self, worker: str, share: tuple[int, int]) -> None:
        sending = self._sending
        self.undrained.add(worker)
        self._send(worker, share, (time.monotonic_ns() - sending.began_ns) / 1e9 + sending.settings.warm_up_s)

    def _take(self, msg: Any, **_: Any) -> None:
        if msg.data["share"] is None:
            words = "the test had begun before this worker came: the next one is its first"
            logging.getLogger(__name__).warning(words)
            return
        first, step = msg.data["share"]
        self._share, self.passed_s = (first, step), msg.data["passed_s"]
        self._sending.keeps_lines = msg.data["lines"]
        if self.waits:
            self._begin()

    def _answer(self, msg: Any, **_: Any) -> None:
        """A worker has users and no numbers: Locust gives users at once to one that comes late."""
        runner: Any = self._environment.runner
        worker, sending = msg.node_id, self._sending
        if not sending.began_ns or sending.closing:
            return
        if (share := self._shares.dealt(worker)) is not None:
            self._send_late(worker, share)
        elif sending.settings.open:
            self._send(worker, None)
        elif (donor := self._shares.donor(worker, self._there())) is not None:
            runner.send_message(HALVE, {"for": worker}, donor)

    def _halve(self, msg: Any, **_: Any) -> None:
        runner: Any = self._environment.runner
        if self._share is not None:  # our users are on their way
            first, step = self._share
            self._share, given = (first, 2 * step), (first + step, 2 * step)
        elif not self._sending.closing:
            given = self._sending.give_half()
        else:
            return
        runner.send_message(HALF, {"for": msg.data["for"], "share": given})

    def _pass_on(self, msg: Any, **_: Any) -> None:
        worker, (first, step) = msg.data["for"], msg.data["share"]
        if not self._sending.closing:
            self._shares.given(worker, step)
            self._send_late(worker, (first, step))
