"""Send the requests of one process, in a closed loop or by a plan, and count the answers."""

from __future__ import annotations

import itertools
import time
from typing import TYPE_CHECKING, Any, Final

import gevent
from gevent.lock import BoundedSemaphore
from gevent.pool import Pool

from loadtests.client.clock import Clock
from loadtests.client.event_loop import EventLoop
from loadtests.client.transport import Caller
from loadtests.measure.live_progress import take_new
from loadtests.measure.locust_rows import log_answer, log_new_reads
from loadtests.measure.objectives import make_goodput_check
from loadtests.measure.requests_csv import format_row
from loadtests.measure.stream_checks import PAUSE_S, check_stream
from loadtests.measure.tally import Tally
from loadtests.shape.arrivals import generate_arrivals
from loadtests.shape.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from locust.env import Environment

    from loadtests.client.answer import Answer
    from loadtests.run.partition import Part
    from loadtests.run.settings import LoadSettings
    from loadtests.shape.workload import WorkloadRequest

REQUEST_NAME: Final = "chat completion"
COUNT_INTERVAL_NS: Final = 1_000_000_000
"""How often running streams are counted."""
MAX_CHECKING: Final = 32
"""The most streams that are kept to be checked; one that ends meanwhile is not checked."""
STREAMS_PER_SLICE: Final = 20
RECONNECT_S: Final = 1.0
"""How long a user waits after a request that did not reach the server, so that a dead server is not flooded."""


class LoadGenerator:
    """Sends this process's part of the requests.

    on_finished: called when there is nothing left to send. began_ns: the end of the warm-up, 0 between tests.
    closing: nothing more is sent. part: the numbers of this process. warm_up_failures: the first detail of each kind of
    failure in the warm-up, which is not counted. csv_rows: rows of requests.csv that are not yet written or sent to the
    master.
    """

    def __init__(self, environment: Environment, settings: LoadSettings, on_finished: Callable[[], object]) -> None:
        self._environment = environment
        self._on_finished = on_finished
        self._idle: list[Caller] = []
        self.apply_settings(settings)
        self.tally = Tally()
        self.began_ns = 0
        self.clock = Clock()
        self.event_loop = EventLoop(self.clock)
        self.warm_up_failures: dict[str, str] = {}
        self.csv_rows: list[list[Any]] = []
        self.part: Part = (0, 1)
        self.in_flight: set[Caller] = set()
        self.closing = False
        self._steps = 0
        self._batched = 0
        self._numbers: Iterator[int] = iter(())
        self._checking = 0
        self._check_turn = BoundedSemaphore(1)

    def apply_settings(self, settings: LoadSettings) -> None:
        """Use these settings from now on."""
        self.settings = settings
        self._workload = Workload(settings.contract, settings.scenario, settings.model, settings.seed)
        self._is_good = make_goodput_check(settings.objectives)
        self.keeps_csv_rows = settings.out is not None
        while self._idle:  # connections to the previous server
            self._idle.pop().close()

    def start(self, passed_s: float = 0.0) -> None:
        """Reset the counts; the warm-up begins, or began `passed_s` seconds ago."""
        self.reset_counts()
        self.warm_up_failures.clear()
        self.began_ns = time.monotonic_ns() + round((self.settings.warm_up_s - passed_s) * 1e9)
        self.closing = False

    def take_numbers(self, part: Part = (0, 1)) -> None:
        """Number the next requests by a part."""
        self.part = part
        self._numbers = itertools.count(*part)

    def split_numbers(self) -> Part:
        """Return every second of the unsent numbers of a closed loop, for another worker."""
        first, step = next(self._numbers), 2 * self.part[1]
        self.take_numbers((first, step))
        return first + step // 2, step

    def suspend(self) -> None:
        """Send nothing, because no test is running, or not yet: users that ask for the next request wait."""
        self.tally.clear()
        self.began_ns = 0
        self.closing = True
        self._numbers = itertools.count()

    def reset_counts(self) -> None:
        """Reset all counts."""
        self.tally.clear()
        self.csv_rows.clear()

    @property
    def busy(self) -> bool:
        """Whether answers are in flight or streams are being checked."""
        return bool(self.in_flight or self._checking)

    def count_running_streams(self) -> None:
        """Count the new reads of running streams at the end of each second, until killed.

        The streams are counted a few at a time, with pauses in which the event loop reads.
        """
        while True:
            until_ns = time.monotonic_ns()
            until_ns += COUNT_INTERVAL_NS - (until_ns - self.began_ns) % COUNT_INTERVAL_NS
            gevent.sleep(max(0.0, (until_ns - time.monotonic_ns()) / 1e9))
            self.tally.clock_steps += self.clock.steps - self._steps
            self._steps = self.clock.steps
            self.tally.waited_reads += self.event_loop.batched_reads - self._batched
            self._batched = self.event_loop.batched_reads
            for number, caller in enumerate(list(self.in_flight), 1):
                self.count_new_reads(caller, until_ns)
                if number % STREAMS_PER_SLICE == 0:
                    gevent.sleep(PAUSE_S)

    def count_new_reads(self, caller: Caller, until_ns: int | None = None) -> None:
        """Count the new reads of a running stream, up to `until_ns` if given."""
        if (answer := caller.answer) is not None:
            self._count_answer_reads(answer, until_ns)

    def _count_answer_reads(self, answer: Answer, until_ns: int | None = None) -> None:
        if (new := take_new(answer, self.began_ns, until_ns)) is not None:
            self.tally.add_new_reads(new)
            log_new_reads(self._environment, new)

    def count_interrupted(self, caller: Caller) -> None:
        """Count what has arrived of an answer that is abandoned during the test because its user ends."""
        if caller in self.in_flight and not self.closing:
            self.count_new_reads(caller)
            self.tally.interrupted += 1

    def create_caller(self) -> Caller:
        """Return a caller with its own connection."""
        settings = self.settings
        return Caller(settings.endpoint, self.event_loop, headers=settings.headers, deadline_s=settings.deadline_s)

    def send_next(self, caller: Caller) -> None:
        """Send the next request of a user in a closed loop, wait for its answer and let the user think."""
        number = next(self._numbers)
        if self.closing or number >= self.settings.max_requests:
            self._finish()
            return
        answer = self._send(caller, number, time.monotonic_ns())
        if answer.retry_after_s is not None:
            gevent.sleep(answer.retry_after_s)
        elif answer.failure in ("connect", "tls"):
            gevent.sleep(RECONNECT_S)
        elif self.settings.think_s:
            gevent.sleep(self.settings.think_s)

    def send_planned(self) -> None:
        """Send the requests of an open loop at their planned times, whatever has been answered."""
        started_ns = self.began_ns - round(self.settings.warm_up_s * 1e9)
        pool = Pool(self.settings.max_in_flight)
        first, step = self.part
        plan = itertools.islice(enumerate(self._plan()), first, self.settings.max_requests, step)
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
                    pool.spawn(self._send_with_idle_caller, number, intended_ns, lengths)
            pool.join()
        finally:
            pool.kill(block=False)
        self._finish()

    def _plan(self) -> Iterator[tuple[float, tuple[int, int] | None]]:
        settings = self.settings
        if settings.trace:
            return ((request.at_s, (request.prompt_tokens, request.completion_tokens)) for request in settings.trace)
        times = generate_arrivals(settings.profile, settings.process, settings.seed, settings.burstiness)
        return ((at_s, None) for at_s in times)

    def _send_with_idle_caller(self, number: int, intended_ns: int, lengths: tuple[int, int] | None) -> None:
        caller = self._idle.pop() if self._idle else self.create_caller()
        try:
            self._send(caller, number, intended_ns, lengths)
        except BaseException:
            caller.close()
            raise
        self._idle.append(caller)

    def _send(self, caller: Caller, number: int, intended_ns: int, lengths: tuple[int, int] | None = None) -> Answer:
        words, tokens = lengths or (None, None)
        request = self._workload.build_request(number, prompt_words=words, max_tokens=tokens)
        sampled = bool(self.settings.sample) and request.streamed and number % self.settings.sample == 0
        self.in_flight.add(caller)
        try:
            answer = caller.call(request.body, intended_ns, streamed=request.streamed, sampled=sampled)
        finally:
            self.in_flight.discard(caller)
        self._count_answer(answer, request, number)
        is_measured = answer.succeeded and answer.sent_ns >= self.began_ns
        if sampled and is_measured and answer.segments and self._checking < MAX_CHECKING:
            self._check_stream(answer, request)
        return answer

    def _count_answer(self, answer: Answer, request: WorkloadRequest, number: int) -> None:
        self._count_answer_reads(answer)
        if answer.sent_ns < self.began_ns:  # warm-up
            if answer.failure is not None:
                self.warm_up_failures.setdefault(answer.failure, answer.detail)
            if answer.ended_ns >= self.began_ns:
                self.tally.add(answer, self.began_ns, self._is_good)
            return
        self.tally.add(answer, self.began_ns, self._is_good)
        log_answer(self._environment, answer)
        if self.keeps_csv_rows:
            judged = bool(answer.segments)
            self.csv_rows.append(
                format_row(number, answer, self.began_ns, streamed=request.streamed, judged=judged)
            )  # fmt: skip
        self._environment.events.request.fire(
            request_type="POST",
            name=REQUEST_NAME,
            response_time=(answer.ended_ns - answer.sent_ns) / 1e6,
            response_length=answer.size_bytes,
            exception=None if answer.failure is None else RequestFailure(answer.failure),
            context={},
        )

    def _check_stream(self, answer: Answer, request: WorkloadRequest) -> None:
        """Check a sampled stream in slices, with pauses in which the event loop reads."""
        self._checking += 1
        try:
            with self._check_turn:  # one at a time: what is decoded takes many times the memory of its bytes
                for rule, detail in check_stream(answer, request, pause=lambda: gevent.sleep(PAUSE_S)):
                    self.tally.findings[rule] += 1
                    self.tally.finding_details.setdefault(rule, detail)
            self.tally.sampled += 1
        finally:
            self._checking -= 1

    def _finish(self) -> None:
        """Report that nothing is left to send, and make the caller wait for the end or for numbers."""
        if not self.closing:
            self._on_finished()
        gevent.sleep(RECONNECT_S)


class RequestFailure(Exception):
    """A failure under its stable name; Locust groups errors by their `repr`."""

    def __repr__(self) -> str:
        return str(self)
