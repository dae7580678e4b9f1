"""Judge answers while a run is going on, so that failures are seen before its end.

Only checks that read a single answer run here, and answers with 5xx or without a response are left to the end, because
such requests are sent again alone. The verdict is always made from all answers after the run: it can withdraw a failure
that other answers explain, and it adds those that several answers show.
"""

from __future__ import annotations

import asyncio
import signal
import threading
import time
from collections import deque
from itertools import islice
from typing import TYPE_CHECKING, Final

from conformance.judge.judgement import judge
from conformance.judging_limit import JudgingStopped
from conformance.record import FAIL_FAST
from conformance.report.outcome import Outcome, row_fails
from conformance.report.writers.progress_bar import LiveFailure
from openapi.contract.contract import Keyword
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from conformance.exchange import Exchange
    from conformance.plan.assertion import Assertion
    from conformance.plan.plan import Plan
    from conformance.record import Record

SLICE_S: Final = 0.002
"""How long judging may delay the reading of answers."""
LONGEST_S: Final = 0.5
"""Processor time of one check. After a slower one, judging is left to the end of the run, which has a time limit."""
SERVER_ERROR: Final = 500


class LiveJudging:
    """Judges the answers of one plan between the requests.

    on_failure: called once for each requirement that fails. fail_fast: whether the first failure ends the run.
    accepted: the requirements whose failure a waiver accepts.
    """

    def __init__(
        self,
        plan: Plan,
        model: str,
        on_failure: Callable[[LiveFailure], object],
        *,
        strict: bool = False,
        fail_fast: bool = False,
        accepted: Collection[str] = (),
    ) -> None:
        self.failing: set[str] = set()
        self._contract, self._model = plan.contract, model
        self._validator = Validator(plan.contract)
        self._on_failure = on_failure
        self._fail_fast = fail_fast
        self._assertions: dict[tuple[str, str], list[Assertion]] = {}
        for assertion in plan.assertions:
            fails = row_fails(_outcome(assertion.requirement.keyword), assertion.requirement.keyword, strict=strict)
            if fails and not assertion.check.is_relation and assertion.requirement.id not in accepted:
                self._assertions.setdefault((assertion.scenario.id, assertion.step.name), []).append(assertion)
        self._waiting: deque[tuple[tuple[str, str], Exchange]] = deque()
        self._record: Record | None = None
        self._seen = 0
        self._has_work = asyncio.Event()

    @property
    def is_busy(self) -> bool:
        """Whether answers are queued."""
        return bool(self._waiting)

    def note(self, record: Record) -> None:
        """Queue the answers that the record has gained. Records of further plans are ignored."""
        self._record = self._record or record
        if record is not self._record:
            return
        for key, exchange in islice(record.exchanges.items(), self._seen, None):
            if exchange.status is not None and exchange.status < SERVER_ERROR:
                self._waiting.append((key, exchange))
        self._seen = len(record.exchanges)
        self._has_work.set()

    async def run(self) -> None:
        """Judge queued answers until cancelled, in slices that do not delay the reading of answers.

        A check that does not end is stopped by a timer of the processor's time. Where this is missing, and outside the
        main thread, which alone handles signals, nothing is judged before the end of the run.
        """
        if threading.current_thread() is not threading.main_thread() or not hasattr(signal, "setitimer"):
            self._assertions.clear()
            return
        before = signal.signal(signal.SIGVTALRM, _stop)
        try:
            await self._judge_queued()
        finally:
            signal.signal(signal.SIGVTALRM, before)

    async def _judge_queued(self) -> None:
        began_s = time.perf_counter()
        while True:
            while self._waiting:
                key, exchange = self._waiting.popleft()
                for assertion in self._assertions.get(key, ()):
                    self._judge(assertion, key, exchange)
                    if time.perf_counter() - began_s > SLICE_S:
                        await asyncio.sleep(0)
                        began_s = time.perf_counter()
            self._has_work.clear()
            await self._has_work.wait()
            began_s = time.perf_counter()

    def _judge(self, assertion: Assertion, key: tuple[str, str], exchange: Exchange) -> None:
        requirement = assertion.requirement
        if requirement.id in self.failing:
            return
        try:
            signal.setitimer(signal.ITIMER_VIRTUAL, LONGEST_S)
            (judgement,) = judge((assertion,), {key: exchange}, self._contract, self._validator, self._model, {})
            left_s, _ = signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        except JudgingStopped:
            left_s = 0.0
        if not left_s:
            self._assertions.clear()
            self._waiting.clear()
            return
        if not judgement.findings:
            return
        self.failing.add(requirement.id)
        finding = judgement.findings[0]
        self._on_failure(LiveFailure(requirement.id, requirement.keyword.value, exchange.id, finding))
        if self._fail_fast and self._record is not None and self._record.exhausted is None:
            self._record.exhausted = f"{FAIL_FAST}: {requirement.id} failed"


def _outcome(keyword: Keyword) -> Outcome:
    """Return the outcome of a requirement with a finding."""
    return {Keyword.MUST: Outcome.FAIL, Keyword.SHOULD: Outcome.WARN}.get(keyword, Outcome.OBSERVED)


def _stop(*_: object) -> None:
    raise JudgingStopped
