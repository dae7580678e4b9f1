"""A session: one load test in one process, from its settings to its tally."""

from __future__ import annotations

import gc
import itertools
import logging
import time
from argparse import Namespace
from typing import TYPE_CHECKING, Any, Final

import gevent
from gevent.pool import Pool
from locust.runners import STATE_RUNNING, STATE_SPAWNING, MasterRunner, WorkerRunner

from loadtests import judging, rows
from loadtests.arrivals import arrivals
from loadtests.clock import Clock
from loadtests.errors import UsageError
from loadtests.inbox import Inbox
from loadtests.ledger import line
from loadtests.live import fresh
from loadtests.objectives import met_by
from loadtests.settings import settings as settings_of
from loadtests.tally import Tally
from loadtests.transport import Caller
from loadtests.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Iterator

    from locust.env import Environment

    from loadtests.answer import Answer
    from loadtests.settings import Settings
    from loadtests.workload import Request

REQUEST: Final = "chat completion"
SHARE: Final = "chatproof_share"
DRAINED: Final = "chatproof_drained"
ANEW: Final = "chatproof_anew"
DRAIN_S: Final = 30.0
"""How long answers are waited for when the time is up; what has not ended then has failed."""
LOOK_S: Final = 0.05
EVERY_S: Final = 1.0
"""How often running streams are counted."""
AT_ONCE: Final = 20
PAUSE_S: Final = 1.0
"""How long a user waits after a request that did not even reach the server, so that a dead one is not hammered."""


class Session:
    """Sends a worker's share of the load: of all requests, those whose number leaves its index over by the workers."""

    def __init__(self, environment: Environment, settings: Settings) -> None:
        self.environment = environment
        self.refused = ""
        """Why the last test that was asked for could not be started."""
        self._idle: list[Caller] = []
        self._read = self._options()
        self._take(settings)
        self.tally = Tally()
        self.began_ns = 0
        self.ended_ns = 0
        self.clock = Clock()
        self.cold: dict[str, str] = {}
        """What failed in the warm-up, by kind, with the first words about it: it is in no count."""
        self.inbox = Inbox(self.clock)
        self.lines: list[list[Any]] = []
        """Of requests.csv, not yet written or sent to the master."""
        self._steps = 0
        self._waited = 0
        self._numbers: Iterator[int] = iter(())
        self._share = (0, 1)
        self._in_flight: set[Caller] = set()
        self._judging = 0
        self._closing = False
        self._undrained: set[str] = set()
        self._pump: Any = None
        self._cpu_s = time.process_time()

    def _options(self) -> Namespace:
        """The options as they stand; Locust keeps the address apart."""
        options = vars(self.environment.parsed_options)
        return Namespace(**options | {"host": self.environment.host or options["host"]})

    def _take(self, settings: Settings) -> None:
        self.settings = settings
        self.workload = Workload(settings.contract, settings.scenario, settings.model, settings.seed)
        self._met = met_by(settings.objectives)
        self._keeps_lines = settings.out is not None
        while self._idle:  # connections to where it went before
            self._idle.pop().close()

    def begin(self) -> None:
        """A test starts, by the options as they stand: the web page changes them from test to test."""
        options = self._options()
        self.refused = ""
        if options != self._read:
            try:
                self._take(settings_of(options))
                self._read = options
            except UsageError as error:
                self._refuse(str(error))
                return
        self._begin()

    def _refuse(self, why: str) -> None:
        """Ends a test that cannot work before anything is sent."""
        self.refused = why
        logging.getLogger(__name__).error("not started: %s", why)
        self.tally.clear()
        self.began_ns = 0
        self._closing = True
        self._numbers = itertools.count()
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
        would. Locust's messages come in order, so the share is there before the users are.
        """
        runner: Any = self.environment.runner
        gc.collect()
        gc.freeze()  # what is there stays; to walk it again and again would stop every stream for some 50 ms
        self.tally.clear()
        self.lines.clear()
        self.cold.clear()
        self.ended_ns = 0
        self._cpu_s = time.process_time()
        self.began_ns = time.monotonic_ns() + round(self.settings.warm_up_s * 1e9)
        self._closing, self._undrained = False, set()
        if isinstance(runner, MasterRunner):
            workers = runner.clients.all
            self._undrained = {worker.id for worker in workers}
            for index, worker in enumerate(workers):
                runner.send_message(
                    SHARE, {"index": index, "count": len(workers), "lines": self._keeps_lines}, worker.id
                )
        else:
            self._numbers = itertools.count(self._share[0], self._share[1])
            if self.settings.open:
                self._pump = runner.greenlet.spawn(self._send_by_plan)
        if not isinstance(runner, MasterRunner):
            runner.greenlet.spawn(self._look_at_streams)
        runner.greenlet.spawn(self._end_in_time)

    def _look_at_streams(self) -> None:
        """Counts what has come of running streams, a few at a time."""
        while True:
            gevent.sleep(EVERY_S)
            self.tally.clock_steps += self.clock.steps - self._steps
            self._steps = self.clock.steps
            self.tally.waited_reads += self.inbox.together_reads - self._waited
            self._waited = self.inbox.together_reads
            for number, caller in enumerate(list(self._in_flight), 1):
                self._look_at(caller)
                if number % AT_ONCE == 0:
                    gevent.sleep(0)

    def _look_at(self, caller: Caller) -> None:
        answer = caller.answer
        if answer is not None and (new := fresh(answer, self.began_ns)) is not None:
            self.tally.hear(new)
            rows.log_fresh(self.environment, new)

    def _end_in_time(self) -> None:
        gevent.sleep(self.settings.warm_up_s + self.settings.seconds)
        self._drain()

    def _drain(self) -> None:
        """Nothing more is sent, and answers on their way are waited for: to cut them off would leave the slowest out
        of every figure."""
        if self._closing:
            return
        self._closing = True
        deadline_ns = time.monotonic_ns() + round(DRAIN_S * 1e9)
        while (self._in_flight or self._judging or self._undrained) and time.monotonic_ns() < deadline_ns:
            gevent.sleep(LOOK_S)
        self._count_unfinished()
        runner: Any = self.environment.runner
        if isinstance(runner, WorkerRunner):
            runner.send_message(DRAINED)
        else:
            self._end()

    def _count_unfinished(self) -> None:
        left = len(self._in_flight)
        if left:
            self.tally.requests += left
            self.tally.failures += left
            self.tally.kinds["unfinished"] += left
            self.tally.details.setdefault("unfinished", f"no end {DRAIN_S:g} s after the end of the test")

    def _end(self) -> None:
        """Ends the test; a run that was started from the web page leaves the page open."""
        runner: Any = self.environment.runner
        gevent.spawn(runner.stop if self.environment.web_ui else runner.quit)

    def stop(self) -> None:
        """The test ends: what is in flight is given up, after what has come of it is counted."""
        for caller in self._in_flight:
            self._look_at(caller)
        if not self._closing:
            self.tally.interrupted = len(self._in_flight)
            self._closing = True
        if self._pump is not None:
            self._pump.kill(block=False)
            self._pump = None

    def listen(self) -> None:
        """Takes a share when the master deals one, and begins to count anew when the web page says so."""
        runner: Any = self.environment.runner
        if isinstance(runner, WorkerRunner):
            runner.register_message(SHARE, self._take_share)
            runner.register_message(ANEW, self._count_anew)
        elif isinstance(runner, MasterRunner):
            runner.register_message(DRAINED, self._hear_drained)
        self.environment.events.reset_stats.add_listener(self._count_anew)

    def _count_anew(self, **_: Any) -> None:
        """What was sent until now counts as warm-up, as Locust's own figures are forgotten as well."""
        runner: Any = self.environment.runner
        if isinstance(runner, MasterRunner):
            runner.send_message(ANEW)
        self.tally.clear()
        self.lines.clear()
        self.began_ns = time.monotonic_ns() if self.began_ns and not self._closing else 0

    def _hear_drained(self, msg: Any, **_: Any) -> None:
        self._undrained.discard(msg.node_id)

    def _take_share(self, msg: Any, **_: Any) -> None:
        self._share = (msg.data["index"], msg.data["count"])
        self._keeps_lines = msg.data["lines"]

    def caller(self) -> Caller:
        """A connection of its own."""
        settings = self.settings
        return Caller(settings.origin, self.inbox, key=settings.key, deadline_s=settings.deadline_s)

    def next_request(self, caller: Caller) -> None:
        """Closed loop: one request of a user, as soon as the last one is answered."""
        number = next(self._numbers)
        if self._closing or number >= self.settings.max_requests:
            self._over()
        answer = self._send(caller, number, time.monotonic_ns())
        if answer.retry_after_s is not None:
            gevent.sleep(answer.retry_after_s)
        elif answer.failure in ("connect", "tls"):
            gevent.sleep(PAUSE_S)
        elif self.settings.think_s:
            gevent.sleep(self.settings.think_s)

    def _send_by_plan(self) -> None:
        """Open loop: requests leave at their times, whatever has been answered."""
        started_ns = self.began_ns - round(self.settings.warm_up_s * 1e9)
        pool = Pool(self.settings.max_in_flight)
        index, count = self._share
        plan = itertools.islice(enumerate(self._plan()), index, self.settings.max_requests, count)
        try:
            for number, (at_s, lengths) in plan:
                if at_s > self.settings.warm_up_s + self.settings.seconds:
                    break
                intended_ns = started_ns + round(at_s * 1e9)
                pause_s = (intended_ns - time.monotonic_ns()) / 1e9
                if pause_s > 0:
                    gevent.sleep(pause_s)
                if pool.full():
                    self.tally.dropped += 1
                else:
                    pool.spawn(self._send_apart, number, intended_ns, lengths)
            pool.join()
        finally:
            pool.kill(block=False)
        self._over()

    def _plan(self) -> Iterator[tuple[float, tuple[int, int] | None]]:
        settings = self.settings
        if settings.trace:
            return ((each.at_s, (each.prompt_tokens, each.completion_tokens)) for each in settings.trace)
        times = arrivals(settings.profile, settings.process, settings.seed, settings.burstiness)
        return ((at_s, None) for at_s in times)

    def _send_apart(self, number: int, intended_ns: int, lengths: tuple[int, int] | None) -> None:
        caller = self._idle.pop() if self._idle else self.caller()
        try:
            self._send(caller, number, intended_ns, lengths)
        except BaseException:
            caller.close()
            raise
        self._idle.append(caller)

    def _send(
        self, caller: Caller, number: int, intended_ns: int, lengths: tuple[int, int] | None = None
    ) -> Answer:  # fmt: skip
        words, tokens = lengths or (None, None)
        request = self.workload.request(number, prompt_words=words, max_tokens=tokens)
        sampled = bool(self.settings.sample) and request.streamed and number % self.settings.sample == 0
        self._in_flight.add(caller)
        try:
            answer = caller.call(request.body, intended_ns, streamed=request.streamed, sampled=sampled)
        finally:
            self._in_flight.discard(caller)
        self._note(answer, request, number)
        if sampled and answer.succeeded and answer.segments and answer.sent_ns >= self.began_ns:
            self._judge(answer, request)
        return answer

    def _note(self, answer: Answer, request: Request, number: int) -> None:
        if (new := fresh(answer, self.began_ns)) is not None:
            self.tally.hear(new)
            rows.log_fresh(self.environment, new)
        if answer.sent_ns < self.began_ns:  # warm-up
            if answer.failure is not None:
                self.cold.setdefault(answer.failure, answer.detail)
            if answer.ended_ns >= self.began_ns:
                self.tally.add(answer, self.began_ns, self._met)
            return
        self.tally.add(answer, self.began_ns, self._met)
        rows.log(self.environment, answer)
        if self._keeps_lines:
            self.lines.append(
                line(number, answer, self.began_ns, streamed=request.streamed, judged=bool(answer.segments))
            )
        failed = None if answer.failure is None else Failed(answer.failure)
        self.environment.events.request.fire(
            request_type="POST",
            name=REQUEST,
            response_time=(answer.ended_ns - answer.sent_ns) / 1e6,
            response_length=answer.size_bytes,
            exception=failed,
            context={},
        )

    def _judge(self, answer: Answer, request: Request) -> None:
        """Judges a sampled stream in slices; between two the loop has a turn, for which a pause of 0 is not enough."""
        self._judging += 1
        try:
            for rule, detail in judging.findings(answer, request, rest=lambda: gevent.sleep(judging.REST_S)):
                self.tally.findings[rule] += 1
                self.tally.finding_details.setdefault(rule, detail)
            self.tally.sampled += 1
        finally:
            self._judging -= 1

    def cpu(self) -> float:
        """The share of a core that this process has used since the start of the test."""
        spent_s = time.process_time() - self._cpu_s
        return spent_s / max(0.001, (time.monotonic_ns() - self.began_ns) / 1e9)

    def _over(self) -> None:
        """Nothing is left to send; whoever calls waits for the end."""
        if not self._closing:
            gevent.spawn(self._drain)
        while True:
            gevent.sleep(PAUSE_S)


class Failed(Exception):
    """A failure under its stable name, as Locust lists errors by their text."""

    def __repr__(self) -> str:
        return str(self)
