"""Measure how the time of each check grows with the size of an answer, and name the checks that are not linear.

Each check judges answers of one shape (one long text, many events, many tool calls, ...) at `--base` bytes. What takes
long there is measured again at twice the size, and so on up to `--most` bytes, the greatest answer that a run admits.
Exit code 1 if a check grows faster than its input and would take more than `LIMIT_S` for the greatest answer.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from conformance.client.client import MAX_BODY_BYTES
from conformance.judge.judgement import judge
from conformance.judging_limit import JudgingLimit
from conformance.proof.editing.responses import with_body, with_header, with_status
from conformance.proof.recorded_run import RecordedRun, read_recorded_run
from conformance.report.writers.terminal_text import sanitize
from openapi.contract.contract import names

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

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

TEXTS: Final = {
    "letters": "a", "spaces": " ", "line-ends": "\n", "words": "ab ", "digits": "0", "braces": "{", "brackets": "[",
    "quotes": '"', "backslashes": "\\", "backticks": "`", "angles": "<", "thoughts": "<think>", "ends": "</think>",
    "specials": "<|im_start|>", "pipes": "<|", "calls": "<tool_call>", "replaced": "\ufffd", "surrogates": "\U0001f600",
    "combining": "e\u0301", "dashes": "a-", "dots": "a.", "ats": "a@", "nulls": "null,", "chinese": "你好，",
    "data": "data: ", "pairs": '"a": ', "tabs": "\t", "hex": "0xabcdef ", "counting": None,
}  # fmt: skip
"""Texts by the string that they repeat; None: no two words are equal."""
NESTED_TEXTS: Final = ("letters", "spaces", "braces", "quotes", "backslashes", "thoughts", "counting")
"""The texts that thoughts and arguments of tool calls have too."""


def repeat(piece: str | None, size: int) -> str:
    """Return a string of about `size` bytes."""
    if piece is None:
        return " ".join(map(str, range(size // 7)))
    return piece * (size // len(piece.encode()))


def answer(choices: object, **fields: Any) -> bytes:
    """Return a plain answer."""
    usage = {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}
    value = {"id": "a-1", "object": "chat.completion", "created": 1790000000, "model": "m", "choices": choices}
    return json.dumps({**value, "usage": usage, **fields}, ensure_ascii=False).encode()


def choice(index: int = 0, **fields: Any) -> dict[str, Any]:
    """Return a choice of a plain answer."""
    message = {"role": "assistant", "content": "Hello!", **fields.pop("message", {})}
    return {"index": index, "message": message, "finish_reason": "stop", **fields}


def call(index: int) -> dict[str, Any]:
    """Return a tool call."""
    return {"index": index, "id": f"c{index}", "type": "function", "function": {"name": "f", "arguments": "{}"}}


def entry(number: int, tops: int = 1) -> dict[str, Any]:
    """Return a log-probability entry."""
    own = {"token": "a", "logprob": -0.5, "bytes": [97]}
    return {**own, "top_logprobs": [{**own, "token": f"a{number + at}"} for at in range(tops)]}


def fill(make: Callable[[int], object], size: int) -> list[Any]:
    """Return as many items as have about `size` bytes together."""
    return [make(number) for number in range(size // len(json.dumps(make(1000))))]


def stream(deltas: Iterable[object], *, chunk: Callable[[object], dict[str, Any]] | None = None) -> bytes:
    """Return a stream with one chunk for each delta."""
    base = {"id": "a-1", "object": "chat.completion.chunk", "created": 1790000000, "model": "m"}
    make = chunk or (lambda delta: {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]})
    chunks = [
        {"choices": [{"index": 0, "delta": {"role": "assistant", "content": ""}, "finish_reason": None}]},
        *map(make, deltas),
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]},
        {"choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2, "total_tokens": 7}},
    ]
    events = [f"data: {json.dumps({**base, **item}, ensure_ascii=False)}\n\n" for item in chunks]
    return "".join([*events, "data: [DONE]\n\n"]).encode()


def list_text_shapes(name: str, piece: str | None) -> Iterator[tuple[str, Callable[[int], bytes]]]:
    """Yield the shapes that repeat a string."""
    yield f"text-{name}", lambda size: answer([choice(message={"content": repeat(piece, size)})])
    yield f"stream-{name}", lambda size: stream([{"content": repeat(piece, size)}])
    yield (
        f"error-{name}",
        lambda size: json.dumps({"error": {"message": repeat(piece, size)}}).encode(),
    )
    yield f"raw-{name}", lambda size: repeat(piece, size).encode()
    if name not in NESTED_TEXTS:
        return
    yield (
        f"thinking-{name}",
        lambda size: answer([choice(message={"reasoning_content": repeat(piece, size)})]),
    )
    yield (
        f"arguments-{name}",
        lambda size: answer(
            [choice(message={"tool_calls": [{**call(0), "function": {"name": "f", "arguments": repeat(piece, size)}}]})]
        ),
    )


def list_shapes() -> Iterator[tuple[str, Callable[[int], bytes]]]:
    """Yield the name of each shape, and what makes it of a size."""
    for name, piece in TEXTS.items():
        yield from list_text_shapes(name, piece)
    yield "id", lambda size: answer([choice()], id="a" * size)
    yield "finish-reason", lambda size: answer([choice(finish_reason="a" * size)])
    yield "number", lambda size: answer([choice()], created=1).replace(b'"created": 1', b'"created": 1' + b"0" * size)
    yield "choices", lambda size: answer(fill(choice, size))
    yield "same-choices", lambda size: answer(fill(lambda _: choice(0), size))
    yield "tool-calls", lambda size: answer([choice(message={"tool_calls": fill(call, size)})])
    yield "same-calls", lambda size: answer([choice(message={"tool_calls": fill(lambda _: call(0), size)})])
    yield "logprobs", lambda size: answer([choice(logprobs={"content": fill(entry, size)})])
    yield "top-logprobs", lambda size: answer([choice(logprobs={"content": [entry(0, size // 60)]})])
    yield (
        "prompt-logprobs",
        lambda size: answer([choice()], prompt_logprobs=fill(lambda n: {str(n): {"logprob": -1.0}}, size)),
    )
    yield (
        "token-ids",
        lambda size: answer([choice(token_ids=[*range(size // 7)])], prompt_token_ids=[*range(size // 7)]),
    )
    yield "fields", lambda size: answer([choice()], **{f"field_{at}": at for at in range(size // 20)})
    yield "fields-of-usage", lambda size: answer([choice()], usage={f"f{at}_tokens": at for at in range(size // 20)})
    yield (
        "nested",
        lambda size: answer([choice(message={"content": 1})]).replace(
            b": 1,", b": " + b"[" * size + b"]" * size + b","
        ),
    )
    yield "duplicates", lambda size: b"{" + b'"id": "a", ' * (size // 11) + b'"choices": []}'
    yield "surrogates", lambda size: b'{"id": "' + b"\\ud800" * (size // 6) + b'"}'
    yield (
        "models",
        lambda size: json.dumps(
            {
                "object": "list",
                "data": fill(lambda at: {"id": f"m{at}", "object": "model", "created": 1, "owned_by": "x"}, size),
            }
        ).encode(),
    )
    yield "errors", lambda size: json.dumps({"error": fill(lambda at: {"message": f"m{at}"}, size)}).encode()
    yield "invalid-utf-8", lambda size: b"\xff" * size
    yield "events", lambda size: stream([{"content": "a"}] * (size // 150))
    yield "distinct-events", lambda size: stream({"content": f" {at}"} for at in range(size // 150))
    yield "thoughts", lambda size: stream([{"reasoning_content": "a"}] * (size // 150))
    yield (
        "streamed-arguments",
        lambda size: stream([{"tool_calls": [{"index": 0, "function": {"arguments": "a"}}]}] * (size // 180)),
    )
    yield "streamed-calls", lambda size: stream({"tool_calls": [call(at)]} for at in range(size // 220))
    yield (
        "streamed-choices",
        lambda size: stream(
            range(size // 150),
            chunk=lambda at: {"choices": [{"index": at, "delta": {"content": "a"}, "finish_reason": "stop"}]},
        ),
    )
    yield (
        "choices-in-a-chunk",
        lambda size: stream(
            [0],
            chunk=lambda _: {
                "choices": fill(lambda at: {"index": at, "delta": {"content": "a"}, "finish_reason": None}, size)
            },
        ),
    )
    yield (
        "streamed-logprobs",
        lambda size: stream(
            range(size // 300),
            chunk=lambda _: {
                "choices": [
                    {"index": 0, "delta": {"content": "a"}, "finish_reason": None, "logprobs": {"content": [entry(0)]}}
                ]
            },
        ),
    )
    yield (
        "usages",
        lambda size: stream(
            range(size // 200),
            chunk=lambda at: {
                "choices": [],
                "usage": {"prompt_tokens": at, "completion_tokens": 1, "total_tokens": at},
            },
        ),
    )
    yield "streamed-errors", lambda size: stream(range(size // 100), chunk=lambda at: {"error": {"message": f"e{at}"}})
    yield "after-done", lambda size: stream([]) + b"data: {}\n\n" * (size // 10)
    yield "dones", lambda size: b"data: [DONE]\n\n" * (size // 14)
    yield "comments", lambda size: b": ping\n\n" * (size // 8) + stream([])
    yield "data-lines", lambda size: b"data:\n" * (size // 6) + b"\n" + stream([])
    yield "events-of-no-data", lambda size: b"data:\n\n" * (size // 7)
    yield "carriage-returns", lambda size: stream([{"content": "a"}] * (size // 150)).replace(b"\n", b"\r")
    yield "fields-of-sse", lambda size: b"id: 1\nretry: 2\nevent: x\n" * (size // 24) + b"\n" + stream([])
    yield "no-event-ends", lambda size: b'data: {"a": 1}\n' * (size // 15)
    yield "not-json-events", lambda size: b"data: {\n\n" * (size // 9)


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
