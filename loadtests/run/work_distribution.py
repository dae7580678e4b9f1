"""Send parts of the request numbers from the master to its workers, including those that join late.

In a closed loop Locust moves users to a worker that joins during a test, and another worker leaves it every second of
its unsent numbers. In an open loop such a worker waits for the next test, as the plan has been distributed. A lost
worker makes the measurement doubtful.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any, Final

from locust.runners import STATE_MISSING, MasterRunner, WorkerRunner

from loadtests.run.partition import Partition

if TYPE_CHECKING:
    from collections.abc import Callable

    from locust.env import Environment

    from loadtests.run.load_generator import LoadGenerator
    from loadtests.run.partition import Part

PART: Final = "chatproof_part"
REQUEST_PART: Final = "chatproof_request_part"
SPLIT: Final = "chatproof_split"
SPLIT_DONE: Final = "chatproof_split_done"


class WorkDistribution:
    """Distributes parts as the master, and receives one as a worker.

    start: called on a worker whose test has waited for its part. must_wait: a test has begun for which this worker
    has no part yet. passed_s: how long the test had run when this worker got its part. undrained: the workers with a
    part that have not reported that all of it is answered.
    """

    def __init__(self, environment: Environment, generator: LoadGenerator, start: Callable[[], None]) -> None:
        self.must_wait = False
        self.passed_s = 0.0
        self.undrained: set[str] = set()
        self._environment = environment
        self._generator = generator
        self._start = start
        self._partition = Partition()
        self._part: Part | None = None

    def register_messages(self) -> None:
        """Register the handlers of messages between master and workers."""
        runner: Any = self._environment.runner
        if isinstance(runner, WorkerRunner):
            runner.register_message(PART, self._handle_part)
            runner.register_message(SPLIT, self._handle_split)
        elif isinstance(runner, MasterRunner):
            runner.register_message(SPLIT_DONE, self._handle_split_done)
            runner.register_message(REQUEST_PART, self._handle_part_request)

    def request_missing_part(self) -> bool:
        """Ask the master for a part if this is a worker without one, and return whether the test has to wait for it.

        Such a worker joined during the test, or was not ready for messages when the parts were sent.
        """
        runner: Any = self._environment.runner
        self.must_wait = isinstance(runner, WorkerRunner) and self._part is None
        if self.must_wait:
            runner.send_message(REQUEST_PART)
        return self.must_wait

    def distribute(self) -> None:
        """Send a part of the numbers to each worker that is present."""
        present = self._present_workers()
        self.undrained = {*present}
        for worker, part in self._partition.assign(present):
            self._send_part(worker, part)

    def take_part(self) -> Part:
        """Return the part with which a test begins here: all numbers without a master."""
        part, self._part = self._part or (0, 1), None
        return part

    def reset(self) -> None:
        """Wait for no part and no worker, because the test has ended."""
        self.must_wait = False
        self.undrained.clear()

    def drop_lost_workers(self) -> set[str]:
        """Return the workers that were waited for and are lost; they are no longer waited for."""
        lost = self.undrained - {*self._present_workers()}
        self.undrained -= lost
        return lost

    def _present_workers(self) -> list[str]:
        runner: Any = self._environment.runner
        return [worker.id for worker in runner.clients.all if worker.state != STATE_MISSING]

    def _send_part(self, worker: str, part: Part | None, passed_s: float = 0.0) -> None:
        runner: Any = self._environment.runner
        message = {"part": part, "passed_s": passed_s, "csv_rows": self._generator.keeps_csv_rows}
        runner.send_message(PART, message, worker)

    def _send_late_part(self, worker: str, part: Part) -> None:
        generator = self._generator
        self.undrained.add(worker)
        passed_s = (time.monotonic_ns() - generator.began_ns) / 1e9 + generator.settings.warm_up_s
        self._send_part(worker, part, passed_s)

    def _handle_part(self, msg: Any, **_: Any) -> None:
        if msg.data["part"] is None:
            logging.getLogger(__name__).warning("this worker joined during a test: it takes part in the next one")
            return
        first, step = msg.data["part"]
        self._part, self.passed_s = (first, step), msg.data["passed_s"]
        self._generator.keeps_csv_rows = msg.data["csv_rows"]
        if self.must_wait:
            self._start()

    def _handle_part_request(self, msg: Any, **_: Any) -> None:
        """Find a part for a worker that has users but no numbers: Locust gives users at once to one that joins late."""
        runner: Any = self._environment.runner
        worker, generator = msg.node_id, self._generator
        if not generator.began_ns or generator.closing:
            return
        if (part := self._partition.get_part(worker)) is not None:
            self._send_late_part(worker, part)
        elif generator.settings.open_loop:
            self._send_part(worker, None)
        elif (chosen := self._partition.choose_worker_to_split(worker, self._present_workers())) is not None:
            runner.send_message(SPLIT, {"for": worker}, chosen)

    def _handle_split(self, msg: Any, **_: Any) -> None:
        runner: Any = self._environment.runner
        if self._part is not None:  # the users of this worker have not arrived yet
            first, step = self._part
            self._part, split = (first, 2 * step), (first + step, 2 * step)
        elif not self._generator.closing:
            split = self._generator.split_numbers()
        else:
            return
        runner.send_message(SPLIT_DONE, {"for": msg.data["for"], "part": split})

    def _handle_split_done(self, msg: Any, **_: Any) -> None:
        worker, (first, step) = msg.data["for"], msg.data["part"]
        if not self._generator.closing:
            self._partition.record_split(worker, step)
            self._send_late_part(worker, (first, step))
