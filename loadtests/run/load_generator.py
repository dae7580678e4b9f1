"""Sending: the requests of one process, in a closed loop or by a plan, and the counting of what comes back."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any, Final

import gevent
from gevent.pool import Pool

from loadtests.client.clock import Clock
from loadtests.client.event_loop import Inbox
from loadtests.client.transport import Caller
from loadtests.measure import locust_rows as rows
from loadtests.measure import stream_checks as judging
from loadtests.measure.live_progress import fresh
from loadtests.measure.objectives import met_by
from loadtests.measure.requests_csv import line
from loadtests.measure.tally import Tally
from loadtests.shape.arrivals import arrivals
from loadtests.shape.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from locust.env import Environment

    from loadtests.client.answer import Answer
    from loadtests.run.settings import Settings
    from loadtests.shape.workload import Request

REQUEST: Final = "chat completion"
EVERY_NS: Final = 1_000_000_000
"""How often running streams are counted."""
AT_ONCE: Final = 20
PAUSE_S: Final = 1.0
"""How long a user waits after a request that did not even reach the server, so that a dead one is not hammered."""


class Sending:
    """Sends a worker's share of the load: of all requests, those whose number leaves its index over by the workers.

    `over` is called when nothing is left to send. `began_ns` is the end of the warm-up, 0 while there is no test;
    once `closing`, nothing more is sent.
    """

    def __init__(self, environment: Environment, settings: Settings, over: Callable[[], object]) -> None:
        self._environment = environment
        self._nothing_left = over
        self._idle: list[Caller] = []
        self.use(settings)
        self.tally = Tally()
        self.began_ns = 0
        self.clock = Clock()
        self.inbox = Inbox(self.clock)
        self.cold: dict[str, str] = {}
        """What failed in the warm-up, by kind, with the first words about it: it is in no count."""
        self.lines: list[list[Any]] = []
        """Of requests.csv, not yet written or sent to the master."""
        self.share = (0, 1)
        """Our first number, and the step from each to the next: our index, and of how many workers."""
        self.in_flight: set[Caller] = set()
        self.closing = False
        self._steps = 0
        self._waited = 0
        self._numbers: Iterator[int] = iter(())
        self._judging = 0

    def use(self, settings: Settings) -> None:
        """Sends by these settings from now on."""
        self.settings = settings
        self._workload = Workload(settings.contract, settings.scenario, settings.model, settings.seed)
        self._met = met_by(settings.objectives)
        self.keeps_lines = settings.out is not None
        while self._idle:  # connections to where it went before
            self._idle.pop().close()

    def begin(self, passed_s: float = 0.0) -> None:
        """Forgets what was counted; the warm-up begins, or began so many seconds ago."""
        self.forget()
        self.cold.clear()
        self.began_ns = time.monotonic_ns() + round((self.settings.warm_up_s - passed_s) * 1e9)
        self.closing = False

    def deal(self, share: tuple[int, int] = (0, 1)) -> None:
        """Numbers requests anew, from the first number of a share on and by its step."""
        self.share = share
        self._numbers = itertools.count(*share)

    def give_half(self) -> tuple[int, int]:
        """Gives every second number of a closed loop that is not yet sent to another worker: its share."""
        first, step = next(self._numbers), 2 * self.share[1]
        self.deal((first, step))
        return first + step // 2, step

    def refuse(self) -> None:
        """No test, or none yet: whoever asks for the next request waits."""
        self.tally.clear()
        self.began_ns = 0
        self.closing = True
        self._numbers = itertools.count()

    def forget(self) -> None:
        """Forgets what was counted."""
        self.tally.clear()
        self.lines.clear()

    @property
    def busy(self) -> bool:
        """Whether answers are on their way, or still judged."""
        return bool(self.in_flight or self._judging)

    def look_at_streams(self) -> None:
        """Counts what has come of running streams by the end of each second, a few at a time: between them the loop
        reads, as in `_judge`."""
        while True:
            until_ns = time.monotonic_ns()
            until_ns += EVERY_NS - (until_ns - self.began_ns) % EVERY_NS
            gevent.sleep(max(0.0, (until_ns - time.monotonic_ns()) / 1e9))
            self.tally.clock_steps += self.clock.steps - self._steps
            self._steps = self.clock.steps
            self.tally.waited_reads += self.inbox.together_reads - self._waited
            self._waited = self.inbox.together_reads
            for number, caller in enumerate(list(self.in_flight), 1):
                self.look_at(caller, until_ns)
                if number % AT_ONCE == 0:
                    gevent.sleep(judging.REST_S)

    def look_at(self, caller: Caller, until_ns: int | None = None) -> None:
        """Counts what has come of a running stream, by `until_ns` if given."""
        if (answer := caller.answer) is not None:
            self._hear(answer, until_ns)

    def _hear(self, answer: Answer, until_ns: int | None = None) -> None:
        if (new := fresh(answer, self.began_ns, until_ns)) is not None:
            self.tally.hear(new)
            rows.log_fresh(self._environment, new)

    def let_go(self, caller: Caller) -> None:
        """Counts what has come of an answer that is given up while the test goes on: its user ends."""
        if caller in self.in_flight and not self.closing:
            self.look_at(caller)
            self.tally.interrupted += 1

    def caller(self) -> Caller:
        """A connection of its own."""
        settings = self.settings
        return Caller(settings.origin, self.inbox, headers=settings.headers, deadline_s=settings.deadline_s)

    def next_request(self, caller: Caller) -> None:
        """Closed loop: one request of a user, as soon as the last one is answered."""
        number = next(self._numbers)
        if self.closing or number >= self.settings.max_requests:
            self._over()
            return
        answer = self._send(caller, number, time.monotonic_ns())
        if answer.retry_after_s is not None:
            gevent.sleep(answer.retry_after_s)
        elif answer.failure in ("connect", "tls"):
            gevent.sleep(PAUSE_S)
        elif self.settings.think_s:
            gevent.sleep(self.settings.think_s)

    def send_by_plan(self) -> None:
        """Open loop: requests leave at their times, whatever has been answered."""
        started_ns = self.began_ns - round(self.settings.warm_up_s * 1e9)
        pool = Pool(self.settings.max_in_flight)
        index, count = self.share
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
        request = self._workload.request(number, prompt_words=words, max_tokens=tokens)
        sampled = bool(self.settings.sample) and request.streamed and number % self.settings.sample == 0
        self.in_flight.add(caller)
        try:
            answer = caller.call(request.body, intended_ns, streamed=request.streamed, sampled=sampled)
        finally:
            self.in_flight.discard(caller)
        self._note(answer, request, number)
        if sampled and answer.succeeded and answer.segments and answer.sent_ns >= self.began_ns:
            self._judge(answer, request)
        return answer

    def _note(self, answer: Answer, request: Request, number: int) -> None:
        self._hear(answer)
        if answer.sent_ns < self.began_ns:  # warm-up
            if answer.failure is not None:
                self.cold.setdefault(answer.failure, answer.detail)
            if answer.ended_ns >= self.began_ns:
                self.tally.add(answer, self.began_ns, self._met)
            return
        self.tally.add(answer, self.began_ns, self._met)
        rows.log(self._environment, answer)
        if self.keeps_lines:
            self.lines.append(
                line(number, answer, self.began_ns, streamed=request.streamed, judged=bool(answer.segments))
            )
        failed = None if answer.failure is None else Failed(answer.failure)
        self._environment.events.request.fire(
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

    def _over(self) -> None:
        """Nothing is left to send, or not yet: whoever calls waits for the end, or for a share."""
        if not self.closing:
            self._nothing_left()
        gevent.sleep(PAUSE_S)


class Failed(Exception):
    """A failure under its stable name, as Locust lists errors by their text."""

    def __repr__(self) -> str:
        return str(self)
