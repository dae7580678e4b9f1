"""Control the life cycle of load tests in one process: start, abort, drain and end."""

from __future__ import annotations

import logging
import time
from argparse import Namespace
from typing import TYPE_CHECKING, Any, Final

import gevent
from gevent.pool import Group
from locust.runners import STATE_RUNNING, STATE_SPAWNING, MasterRunner, WorkerRunner

from loadtests.errors import UsageError
from loadtests.measure.abort_limits import Aborted
from loadtests.run.gc_tuning import reduce_collections, restore_collections
from loadtests.run.load_generator import LoadGenerator
from loadtests.run.settings import build_settings
from loadtests.run.work_distribution import WorkDistribution

if TYPE_CHECKING:
    from locust.env import Environment

    from loadtests.measure.abort_limits import AbortLimits
    from loadtests.run.settings import LoadSettings

DRAINED: Final = "chatproof_drained"
RESET: Final = "chatproof_reset"
DRAIN_S: Final = 30.0
"""How long answers in flight are waited for when the time is up; those that have not ended by then have failed."""
POLL_S: Final = 0.05


class Session:
    """Starts and ends tests, alone or as master or worker of several processes; `generator` sends the requests.

    refusal: why the last requested test could not be started. lost_workers: workers that were lost during the test.
    aborted: set if the test was aborted because of its failures.
    """

    def __init__(self, environment: Environment, settings: LoadSettings) -> None:
        self.environment = environment
        self.refusal = ""
        self._applied_options = self._current_options()
        self.generator = LoadGenerator(environment, settings, lambda: gevent.spawn(self._drain))
        self._distribution = WorkDistribution(environment, self.generator, self._start)
        self.ended_ns = 0
        self.lost_workers: set[str] = set()
        self.aborted: Aborted | None = None
        self._tasks = Group()  # of the test that is running
        self._drained = False
        self._start_cpu_s, self._start_s = time.process_time(), time.monotonic()
        self._final_cpu: float | None = None

    @property
    def settings(self) -> LoadSettings:
        """The settings of the test that is running or has run."""
        return self.generator.settings

    @property
    def began_ns(self) -> int:
        """The end of the warm-up, 0 between tests."""
        return self.generator.began_ns

    def _current_options(self) -> Namespace:
        """Return the current options; Locust keeps the host separately."""
        options = vars(self.environment.parsed_options)
        return Namespace(**options | {"host": self.environment.host or options["host"]})

    def start(self) -> None:
        """Start a test with the current options, which the web page changes between tests."""
        options = self._current_options()
        self.refusal = ""
        if options != self._applied_options:
            try:
                self.generator.apply_settings(build_settings(options))
                self._applied_options = options
            except UsageError as error:
                self._refuse(str(error))
                return
        self._start()

    def _refuse(self, reason: str) -> None:
        """End a test with invalid options before anything is sent."""
        self.refusal = reason
        logging.getLogger(__name__).error("not started: %s", reason)
        self.generator.suspend()
        gevent.spawn(self._end_refused)

    def _end_refused(self) -> None:
        """End a test as soon as Locust regards it as started; before that Locust does not end it."""
        runner: Any = self.environment.runner
        while self.refusal and runner.state not in (STATE_SPAWNING, STATE_RUNNING):
            gevent.sleep(POLL_S)
        if self.refusal and not isinstance(runner, WorkerRunner):  # the master ends its workers
            runner.stop()

    def _start(self) -> None:
        """Start the test: distribute the numbers, and count seconds from the end of the warm-up.

        The master distributes: worker i of n sends requests i, i + n, and so on of the one plan, so that n workers
        send the same requests as one process. Locust's messages arrive in order, so a worker has its part before it
        has users. A worker that joins late waits: for a part in a closed loop, for the next test in an open loop,
        whose plan has been distributed.
        """
        runner: Any = self.environment.runner
        reduce_collections()
        self.ended_ns = 0
        self._drained = False
        self._start_cpu_s, self._start_s, self._final_cpu = time.process_time(), time.monotonic(), None
        self.lost_workers.clear()
        self.aborted = None
        if self._distribution.request_missing_part():
            self.generator.suspend()
            return
        self.generator.start(self._distribution.passed_s)
        if isinstance(runner, MasterRunner):
            self._distribution.distribute()
            self._tasks.spawn(self._watch_workers)
        else:
            self.generator.take_numbers(self._distribution.take_part())
            if self.settings.open_loop:
                self._tasks.spawn(self.generator.send_planned)
            self._tasks.spawn(self.generator.count_running_streams)
        self._tasks.spawn(self._end_in_time)
        if self.settings.abort_limits is not None and not isinstance(runner, WorkerRunner):
            self._tasks.spawn(self._abort_if_exceeded, self.settings.abort_limits)

    def _watch_workers(self) -> None:
        """Record which workers are lost; the end of the test does not wait for them."""
        while True:
            gevent.sleep(POLL_S)
            self.lost_workers |= self._distribution.drop_lost_workers()

    def _end_in_time(self) -> None:
        gevent.sleep(max(0.0, self.settings.warm_up_s + self.settings.seconds - self._distribution.passed_s))
        self._drain()

    def _abort_if_exceeded(self, limits: AbortLimits) -> None:
        """Abort the test when its failures exceed a limit, without waiting for answers.

        This polls in its own greenlet, so that it costs requests nothing; the counts of workers arrive every 3 s.
        """
        while not self.generator.closing:
            tally = self.generator.tally
            if (limit := limits.exceeded(tally.requests, tally.failures)) is not None:
                at_s = max(0.0, (time.monotonic_ns() - self.began_ns) / 1e9)
                self.aborted = Aborted(round(at_s, 3), limit, tally.requests, tally.failures)
                self._end()
                return
            gevent.sleep(POLL_S)

    def _drain(self) -> None:
        """Send nothing more and wait for the answers in flight.

        Without them, the slowest answers would be missing from all figures.
        """
        generator = self.generator
        if generator.closing:
            return
        generator.closing = True
        deadline_ns = time.monotonic_ns() + round(DRAIN_S * 1e9)
        while (generator.busy or self._distribution.undrained) and time.monotonic_ns() < deadline_ns:
            gevent.sleep(POLL_S)
        self._count_unfinished()
        runner: Any = self.environment.runner
        if isinstance(runner, WorkerRunner):
            runner.send_message(DRAINED)
        else:
            self._end()

    def _count_unfinished(self) -> None:
        self._drained = True
        left, tally = len(self.generator.in_flight), self.generator.tally
        if left:
            tally.requests += left
            tally.failures += left
            tally.kinds["unfinished"] += left
            tally.details.setdefault("unfinished", f"no end of the answer {DRAIN_S:g} s after the end of the test")

    def _end(self) -> None:
        """End the test; if it was started from the web page, the page stays open."""
        runner: Any = self.environment.runner
        gevent.spawn(runner.stop if self.environment.web_ui else runner.quit)

    def stop(self) -> None:
        """Handle the end of the test: count what has arrived of the answers in flight, and abandon them."""
        restore_collections()
        self._distribution.reset()
        self._final_cpu = self.cpu_share()
        generator = self.generator
        for caller in generator.in_flight:
            generator.count_new_reads(caller)
        if not self._drained:
            generator.tally.interrupted += len(generator.in_flight)
            generator.closing = True
        self._tasks.kill(block=False)  # otherwise they would end the next test

    def register_handlers(self) -> None:
        """Register the handlers of messages between master and workers, and of a reset on the web page."""
        runner: Any = self.environment.runner
        self._distribution.register_messages()
        if isinstance(runner, WorkerRunner):
            runner.register_message(RESET, self._handle_reset)
        elif isinstance(runner, MasterRunner):
            runner.register_message(DRAINED, self._handle_drained)
        self.environment.events.reset_stats.add_listener(self._handle_reset)

    def _handle_reset(self, **_: Any) -> None:
        """Treat all requests until now as warm-up, as Locust resets its own statistics too."""
        runner: Any = self.environment.runner
        if isinstance(runner, MasterRunner):
            runner.send_message(RESET)
        self.generator.reset_counts()
        self.generator.began_ns = time.monotonic_ns() if self.began_ns and not self.generator.closing else 0

    def _handle_drained(self, msg: Any, **_: Any) -> None:
        """Record that a worker has sent all its requests and has all answers; after the last one the test ends."""
        self._distribution.undrained.discard(msg.node_id)
        if not self._distribution.undrained:
            gevent.spawn(self._drain)

    def cpu_share(self) -> float:
        """Return the share of a core that this process has used from the start of the test, warm-up included."""
        if self._final_cpu is not None:
            return self._final_cpu
        if not self.began_ns:
            return 0.0
        return (time.process_time() - self._start_cpu_s) / max(0.001, time.monotonic() - self._start_s)
