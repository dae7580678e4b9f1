"""A session: the life of load tests in one process, from their settings to their end."""

from __future__ import annotations

import logging
import time
from argparse import Namespace
from typing import TYPE_CHECKING, Any, Final

import gevent
from gevent.pool import Group
from locust.runners import STATE_RUNNING, STATE_SPAWNING, MasterRunner, WorkerRunner

from loadtests.errors import UsageError
from loadtests.measure.abort_limits import GivenUp
from loadtests.run import gc_tuning as garbage
from loadtests.run.load_generator import Sending
from loadtests.run.settings import settings as settings_of
from loadtests.run.work_distribution import Dealing

if TYPE_CHECKING:
    from locust.env import Environment

    from loadtests.measure.abort_limits import Limits
    from loadtests.run.settings import Settings

DRAINED: Final = "chatproof_drained"
ANEW: Final = "chatproof_anew"
DRAIN_S: Final = 30.0
"""How long answers are waited for when the time is up; what has not ended then has failed."""
LOOK_S: Final = 0.05


class Session:
    """Begins and ends tests, alone or as master or worker of several processes; `sending` does what lies between."""

    def __init__(self, environment: Environment, settings: Settings) -> None:
        self.environment = environment
        self.refused = ""
        """Why the last test that was asked for could not be started."""
        self._read = self._options()
        self.sending = Sending(environment, settings, lambda: gevent.spawn(self._drain))
        self._dealing = Dealing(environment, self.sending, self._begin)
        self.ended_ns = 0
        self.lost: set[str] = set()
        """Workers that were heard no more while the test ran."""
        self.given_up: GivenUp | None = None
        self._tasks = Group()
        """What goes on while a test does."""
        self._drained = False
        self._cpu_s, self._since_s = time.process_time(), time.monotonic()
        self._spent: float | None = None

    @property
    def settings(self) -> Settings:
        """Those of the test that runs or has run."""
        return self.sending.settings

    @property
    def began_ns(self) -> int:
        """The end of the warm-up, 0 while there is no test."""
        return self.sending.began_ns

    def _options(self) -> Namespace:
        """The options as they stand; Locust keeps the address apart."""
        options = vars(self.environment.parsed_options)
        return Namespace(**options | {"host": self.environment.host or options["host"]})

    def begin(self) -> None:
        """A test starts, by the options as they stand: the web page changes them from test to test."""
        options = self._options()
        self.refused = ""
        if options != self._read:
            try:
                self.sending.use(settings_of(options))
                self._read = options
            except UsageError as error:
                self._refuse(str(error))
                return
        self._begin()

    def _refuse(self, why: str) -> None:
        """Ends a test that cannot work before anything is sent."""
        self.refused = why
        logging.getLogger(__name__).error("not started: %s", why)
        self.sending.refuse()
        gevent.spawn(self._end_refused)

    def _end_refused(self) -> None:
        """Ends a test as soon as it counts as started: one that does not is not ended by Locust."""
        runner: Any = self.environment.runner
        while self.refused and runner.state not in (STATE_SPAWNING, STATE_RUNNING):
            gevent.sleep(LOOK_S)
        if self.refused and not isinstance(runner, WorkerRunner):  # the master ends its workers
            runner.stop()

    def _begin(self) -> None:
        """The test starts: numbers are dealt out, and seconds are counted from the end of the warm-up.

        The master deals: worker i of n sends requests i, i + n, ... of the one plan, so that n workers send what one
        would. Locust's messages come in order, so the share is there before the users are, but for a worker that comes
        late: it waits for one in a closed loop, and for the next test in an open one, whose plan has been dealt.
        """
        runner: Any = self.environment.runner
        garbage.leave()
        self.ended_ns = 0
        self._drained = False
        self._cpu_s, self._since_s, self._spent = time.process_time(), time.monotonic(), None
        self.lost.clear()
        self.given_up = None
        if self._dealing.awaits():
            self.sending.refuse()
            return
        self.sending.begin(self._dealing.passed_s)
        if isinstance(runner, MasterRunner):
            self._dealing.deal()
            self._tasks.spawn(self._mind_workers)
        else:
            self.sending.deal(self._dealing.take())
            if self.settings.open:
                self._tasks.spawn(self.sending.send_by_plan)
            self._tasks.spawn(self.sending.look_at_streams)
        self._tasks.spawn(self._end_in_time)
        if self.settings.give_up is not None and not isinstance(runner, WorkerRunner):
            self._tasks.spawn(self._give_up_in_time, self.settings.give_up)

    def _mind_workers(self) -> None:
        """Notes which workers are lost; the end does not wait for them."""
        while True:
            gevent.sleep(LOOK_S)
            self.lost |= self._dealing.mind()

    def _end_in_time(self) -> None:
        gevent.sleep(max(0.0, self.settings.warm_up_s + self.settings.seconds - self._dealing.passed_s))
        self._drain()

    def _give_up_in_time(self, limits: Limits) -> None:
        """Ends a hopeless test, and waits for no answers. Beside the requests, so that it costs them nothing; of what
        workers send it hears when they report."""
        while not self.sending.closing:
            tally = self.sending.tally
            if (limit := limits.passed(tally.requests, tally.failures)) is not None:
                at_s = max(0.0, (time.monotonic_ns() - self.began_ns) / 1e9)
                self.given_up = GivenUp(round(at_s, 3), limit, tally.requests, tally.failures)
                self._end()
                return
            gevent.sleep(LOOK_S)

    def _drain(self) -> None:
        """Nothing more is sent, and answers on their way are waited for: to cut them off would leave the slowest out
        of every figure."""
        sending = self.sending
        if sending.closing:
            return
        sending.closing = True
        deadline_ns = time.monotonic_ns() + round(DRAIN_S * 1e9)
        while (sending.busy or self._dealing.undrained) and time.monotonic_ns() < deadline_ns:
            gevent.sleep(LOOK_S)
        self._count_unfinished()
        runner: Any = self.environment.runner
        if isinstance(runner, WorkerRunner):
            runner.send_message(DRAINED)
        else:
            self._end()

    def _count_unfinished(self) -> None:
        self._drained = True
        left, tally = len(self.sending.in_flight), self.sending.tally
        if left:
            tally.requests += left
            tally.failures += left
            tally.kinds["unfinished"] += left
            tally.details.setdefault("unfinished", f"no end {DRAIN_S:g} s after the end of the test")

    def _end(self) -> None:
        """Ends the test; a run that was started from the web page leaves the page open."""
        runner: Any = self.environment.runner
        gevent.spawn(runner.stop if self.environment.web_ui else runner.quit)

    def stop(self) -> None:
        """The test ends: what is in flight is given up, after what has come of it is counted."""
        garbage.mind()
        self._dealing.end()
        self._spent = self.cpu()
        sending = self.sending
        for caller in sending.in_flight:
            sending.look_at(caller)
        if not self._drained:
            sending.tally.interrupted += len(sending.in_flight)
            sending.closing = True
        self._tasks.kill(block=False)  # not left to the next test, which it would end

    def listen(self) -> None:
        """Takes a share when the master deals one, and begins to count anew when the web page says so."""
        runner: Any = self.environment.runner
        self._dealing.listen()
        if isinstance(runner, WorkerRunner):
            runner.register_message(ANEW, self._count_anew)
        elif isinstance(runner, MasterRunner):
            runner.register_message(DRAINED, self._hear_drained)
        self.environment.events.reset_stats.add_listener(self._count_anew)

    def _count_anew(self, **_: Any) -> None:
        """What was sent until now counts as warm-up, as Locust's own figures are forgotten as well."""
        runner: Any = self.environment.runner
        if isinstance(runner, MasterRunner):
            runner.send_message(ANEW)
        self.sending.forget()
        self.sending.began_ns = time.monotonic_ns() if self.began_ns and not self.sending.closing else 0

    def _hear_drained(self, msg: Any, **_: Any) -> None:
        """A worker has nothing more to send, and all its answers. Where none is left, nor is the time waited for."""
        self._dealing.undrained.discard(msg.node_id)
        if not self._dealing.undrained:
            gevent.spawn(self._drain)

    def cpu(self) -> float:
        """The share of a core that this process has used from the start of the test, warm-up and all, to its end."""
        if self._spent is not None:
            return self._spent
        if not self.began_ns:
            return 0.0
        return (time.process_time() - self._cpu_s) / max(0.001, time.monotonic() - self._since_s)
