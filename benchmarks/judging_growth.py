"""Measure how the time of each check grows with the size of an answer, and name the checks that are not linear.

Each check judges answers of one shape (one long text, many events, many tool calls, ...) at `--base` bytes. What takes
long there is measured again at twice the size, and so on up to `--most` bytes, the greatest answer that a run admits.
Exit code 1 if a check grows faster than its input and would take more than `LIMIT_S` for the greatest answer.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from benchmarks.answer_shapes import list_shapes
from conformance.client.client import MAX_BODY_BYTES
from conformance.judge.judgement import judge
from conformance.judging_limit import JudgingLimit
from conformance.proof.editing.responses import with_body, with_header, with_status
from conformance.proof.recorded_run import RecordedRun, read_recorded_run
from conformance.report.writers.terminal_text import sanitize
from openapi.contract.contract import names

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange
    from conformance.plan.assertion import Assertion

LIMIT_S: Final = 2.0
"""The longest that a check may take for the greatest answer."""
NOTICEABLE_S: Final = 0.004
"""Checks that take less at the base size are not measured at larger ones."""
MEASURABLE_S: Final = 0.05
"""The growth of shorter times says nothing on a busy machine."""
NOISE: Final = 1.2
"""A growth of twice this is still taken for linear."""
VIEWS: Final = ("body", "text", "is_stream", "_reading", "decoded", "walk", "choices", "succeeded")


@dataclass(frozen=True, slots=True)
class Growth:
    """The times of one check on one shape, at sizes that double."""

    check: str
    shape: str
    seconds: tuple[float, ...]
    most: int
    base: int

    @property
    def factor(self) -> float:
        """The growth at the last doubling."""
        return self.seconds[-1] / max(self.seconds[-2], 1e-4) if len(self.seconds) > 1 else 1.0

    @property
    def expected_s(self) -> float:
        """The time for the greatest answer, at the growth of the last doubling."""
        size, seconds = self.base << (len(self.seconds) - 1), self.seconds[-1]
        while size < self.most:
            size, seconds = size * 2, seconds * (self.factor if self.factor > 2 * NOISE else 2.0)
        return seconds

    @property
    def is_too_slow(self) -> bool:
        """Whether the check is not linear, and too slow for the greatest answer."""
        return self.seconds[-1] > MEASURABLE_S and self.factor > 2 * NOISE and self.expected_s > LIMIT_S


class _Shaped:
    """The exchanges of a recorded run with all answers of one shape and size."""

    def __init__(self, run: RecordedRun, body: bytes, *, is_error: bool, streamed: bool) -> None:
        self._run = run
        self._body = body
        self._status = 400 if is_error else 200
        self._type = "text/event-stream" if streamed else "application/json"
        first = self._change(next(iter(exchange for exchange in run.exchanges.values() if exchange.response)))
        begun_s = time.process_time()
        self._views = {name: getattr(first, name) for name in VIEWS}
        self.views_s = time.process_time() - begun_s

    def _change(self, exchange: Exchange) -> Exchange:
        return with_header(with_status(with_body(exchange, self._body), self._status), "content-type", self._type)

    def time(self, assertion: Assertion, limit_s: float) -> float:
        """Return how long a check takes, without the views that all checks share."""
        exchanges = {}
        for step in assertion.scenario.steps:
            key = assertion.scenario.id, step.name
            if key in self._run.exchanges and self._run.exchanges[key].response is not None:
                changed = self._change(self._run.exchanges[key])
                changed.__dict__.update(self._views)
                exchanges[key] = changed
        run, begun_s = self._run, time.process_time()
        with JudgingLimit(time.monotonic() + limit_s, "the benchmark's limit") as limit:
            result = judge([assertion], exchanges, run.contract, run.validator, run.model, {}, limit)
        took_s = time.process_time() - begun_s
        for finding in result[0].findings:
            sanitize(f"{finding.where}: expected {finding.expected}, got {finding.got}", 2000)
        return took_s


def choose_assertions(only: str) -> Iterator[tuple[RecordedRun, list[Assertion]]]:
    """Yield for each dialect two assertions, plain and streamed, of each check that no earlier dialect has."""
    seen: set[tuple[str, bool]] = set()
    for dialect in sorted(set(names().values())):
        run, chosen = read_recorded_run(dialect), []
        for assertion in run.plan.assertions:
            key = assertion.check.id, assertion.step.streams
            if key not in seen and assertion.scenario.id in run.steps_by_scenario and only in assertion.check.id:
                steps = assertion.check.steps(assertion.scenario, assertion.step, ())
                if all((assertion.scenario.id, name) in run.exchanges for name in steps):
                    seen.add(key)
                    chosen.append(assertion)
        if chosen:
            yield run, chosen


def measure(arguments: argparse.Namespace) -> Iterator[Growth]:
    """Yield the growth of every check on every shape that is noticeable, and of the shared views."""
    for run, assertions in choose_assertions(arguments.only):
        shapes = [(name, make) for name, make in list_shapes() if arguments.shape in name]
        for number, (name, make) in enumerate(shapes, 1):
            print(
                f"\r{run.contract.name}: {len(assertions)} assertions, shape {number} of {len(shapes)}  ",
                end="",
                file=sys.stderr,
            )
            streamed = make(64).startswith((b"data:", b":", b"id:"))
            is_error = name.startswith("error")

            def shape(
                size: int,
                make: Any = make,
                streamed: bool = streamed,
                is_error: bool = is_error,
                run: RecordedRun = run,
            ) -> _Shaped:
                return _Shaped(run, make(size), is_error=is_error, streamed=streamed)

            sizes = [arguments.base]
            shaped = [shape(arguments.base)]
            while sizes[-1] * 2 <= arguments.most and shaped[-1].views_s < LIMIT_S and sizes[-1] < 4 * arguments.base:
                sizes.append(sizes[-1] * 2)
                shaped.append(shape(sizes[-1]))
            views = tuple(item.views_s for item in shaped)
            if views[-1] > NOTICEABLE_S:
                yield Growth("(views)", name, views, arguments.most, arguments.base)
            for assertion in assertions:
                seconds = [shaped[0].time(assertion, 10)]
                if seconds[0] < NOTICEABLE_S:
                    continue
                for larger in shaped[1:]:
                    seconds.append(larger.time(assertion, 20))
                    if seconds[-1] > LIMIT_S:
                        break
                growth = Growth(assertion.check.id, name, tuple(seconds), arguments.most, arguments.base)
                if growth.is_too_slow:
                    times = " ".join(f"{seconds * 1000:.0f}" for seconds in growth.seconds)
                    print(f"\n{growth.check} {name} {assertion.id}: {times} ms", file=sys.stderr, flush=True)
                yield growth
    print(file=sys.stderr)


def main() -> int:
    """Print the slowest growth of each check."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base", type=int, default=64 * 1024, help="bytes of the smallest answer")
    parser.add_argument("--most", type=int, default=MAX_BODY_BYTES, help="bytes of the greatest answer")
    parser.add_argument("--only", default="", help="only checks whose id contains this")
    parser.add_argument("--shape", default="", help="only shapes whose name contains this")
    arguments = parser.parse_args()
    worst: dict[str, Growth] = {}
    for growth in measure(arguments):
        if growth.check not in worst or growth.expected_s > worst[growth.check].expected_s:
            worst[growth.check] = growth
    ranked = sorted(worst.values(), key=lambda growth: -growth.expected_s)
    print(f"{'check':44} {'shape':24} {'growth':>7} {'expected':>9}  times in ms from {arguments.base} bytes on")
    for growth in ranked:
        times = " ".join(f"{seconds * 1000:.0f}" for seconds in growth.seconds)
        mark = " TOO SLOW" if growth.is_too_slow else ""
        print(f"{growth.check:44} {growth.shape:24} {growth.factor:7.2f} {growth.expected_s:8.2f}s  {times}{mark}")
    slow = [growth for growth in ranked if growth.is_too_slow]
    print(f"{len(slow)} of {len(ranked)} noticeable checks take more than {LIMIT_S:g} s for {arguments.most} bytes")
    return 1 if slow else 0


if __name__ == "__main__":
    sys.exit(main())
