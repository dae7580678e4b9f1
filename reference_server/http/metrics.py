"""GET /metrics: what the server does, in the format of Prometheus, under vLLM's names where vLLM has the same metric.

Names and labels are those of vLLM 0.32 (vllm/v1/metrics/loggers.py), and the bounds of its buckets are among ours, so
that dashboards for vLLM show this server, too. Metrics that vLLM does not have begin with `chatproof:`.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Final

from starlette.responses import Response

from openapi.metrics.exposition import PROMETHEUS_TYPE, HistogramCounts, MetricFamily, write_metrics

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from starlette.requests import Request

    from reference_server.engine import Delta, Engine, Generation

TTFT_S: Final = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0),
    *(20.0, 40.0, 80.0, 160.0, 640.0, 2560.0),
)
ITL_S: Final = (
    *(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0),
    *(2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0),
)
E2E_S: Final = (
    *(0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0),
    *(120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0),
)
"""vLLM's bounds in seconds, and three smaller ones each for ITL and E2E of small models."""
QUEUE_FULL: Final = "overloaded"
"""The kind of error with which a full queue refuses a request."""


class ServerMetrics:
    """Counts the work of one server. All methods are called on its event loop."""

    def __init__(self, model: str, engine: Engine) -> None:
        self._labels = {"model_name": model, "engine": "0"}
        self._engine = engine
        self._ttft = HistogramCounts(TTFT_S)
        self._itl = HistogramCounts(ITL_S)
        self._e2e = HistogramCounts(E2E_S)
        self._prompt_tokens = self._cached_tokens = self._generated_tokens = 0
        self._finished: Counter[str] = Counter()
        self._refused: Counter[str] = Counter()
        self._open: set[MeasuredGeneration] = set()

    def measure(self, generation: Generation) -> Generation:
        """Return the generation, which is counted while it is read."""
        return MeasuredGeneration(self, generation)

    def count_refusal(self, kind: str) -> None:
        """Count a request that is refused with an error of this kind."""
        self._refused[kind] += 1

    async def handle(self, _request: Request) -> Response:
        """Respond with the metrics."""
        return Response(write_metrics(self.families()).encode(), headers={"Content-Type": PROMETHEUS_TYPE})

    def begin(self, generation: MeasuredGeneration) -> None:
        """Count a request as waiting until its first token."""
        self._open.add(generation)

    def count_delta(self, delta: Delta, seconds: float, *, is_first: bool) -> None:
        """Count the tokens of a delta, and its time since the request (the first one) or since the delta before."""
        (self._ttft if is_first else self._itl).observe(seconds)
        self._generated_tokens += delta.tokens
        if delta.cached_tokens:
            self._cached_tokens += delta.cached_tokens
        if delta.finish_reason is not None:
            self._finished[delta.finish_reason] += 1

    def end(self, generation: MeasuredGeneration, seconds: float) -> None:
        """Count a request that has ended or was given up."""
        if generation in self._open:
            self._open.remove(generation)
            self._prompt_tokens += generation.prompt_tokens or 0
            self._e2e.observe(seconds)

    def families(self) -> Iterator[MetricFamily]:
        """Yield all metrics."""
        labels, load = self._labels, self._engine.current_load
        begun = sum(generation.has_begun for generation in self._open)
        running = begun if load is None else load.running
        waiting = len(self._open) - begun if load is None else load.waiting

        def gauge(name: str, text: str, value: float) -> MetricFamily:
            return MetricFamily(name, "gauge", text, [(labels, value)])

        def counter(name: str, text: str, value: float) -> MetricFamily:
            return MetricFamily(name, "counter", text, [(labels, value)])

        def histogram(name: str, text: str, value: HistogramCounts) -> MetricFamily:
            return MetricFamily(name, "histogram", text, [(labels, value)])

        yield gauge("vllm:num_requests_running", "Sequences that are being generated.", running)
        yield gauge("vllm:num_requests_waiting", "Sequences that wait for a slot.", waiting)
        if load is not None:
            yield gauge("vllm:kv_cache_usage_perc", "Share of the key-value cache in use, 0 to 1.", load.cache_usage)
        yield counter("vllm:prompt_tokens", "Tokens of the prompts.", self._prompt_tokens)
        yield counter(
            "vllm:prompt_tokens_cached", "Tokens of prompts that were not computed again.", self._cached_tokens
        )
        yield counter("vllm:generation_tokens", "Generated tokens.", self._generated_tokens)
        yield MetricFamily(
            "vllm:request_success",
            "counter",
            "Choices that were completed, by the reason of their end.",
            [({**labels, "finished_reason": name}, count) for name, count in sorted(self._finished.items())],
        )
        yield MetricFamily(
            "vllm:admission_rejections",
            "counter",
            "Requests that a full queue refused.",
            [({"model_name": labels["model_name"], "reason": QUEUE_FULL}, self._refused[QUEUE_FULL])],
        )
        yield MetricFamily(
            "chatproof:request_refusals",
            "counter",
            "Requests that were refused or failed, by the kind of the error in the contract.",
            [({**labels, "reason": kind}, count) for kind, count in sorted(self._refused.items())],
        )
        yield histogram("vllm:time_to_first_token_seconds", "From the request to its first token.", self._ttft)
        yield histogram("vllm:inter_token_latency_seconds", "Between two tokens of a choice.", self._itl)
        yield histogram("vllm:e2e_request_latency_seconds", "From the request to its last token.", self._e2e)


class MeasuredGeneration:
    """A generation that is counted while it is read."""

    def __init__(self, metrics: ServerMetrics, generation: Generation) -> None:
        self._metrics = metrics
        self._generation = generation
        self._deltas: AsyncIterator[Delta] = generation
        self._began_s = time.perf_counter()
        self._last_s: dict[int, float] = {}  # by choice
        metrics.begin(self)

    @property
    def prompt_tokens(self) -> int | None:
        """Number of tokens of the prompt, as far as it is known."""
        return self._generation.prompt_tokens

    @prompt_tokens.setter
    def prompt_tokens(self, value: int | None) -> None:
        self._generation.prompt_tokens = value

    @property
    def has_begun(self) -> bool:
        """Whether there has been a token."""
        return bool(self._last_s)

    def __aiter__(self) -> MeasuredGeneration:
        self._deltas = aiter(self._generation)
        return self

    async def __anext__(self) -> Delta:
        """Return the next delta. The end of the generation is that of the request."""
        try:
            delta = await anext(self._deltas)
        except BaseException:
            self._end()
            raise
        now_s = time.perf_counter()
        is_first = delta.index not in self._last_s
        self._metrics.count_delta(delta, now_s - self._last_s.get(delta.index, self._began_s), is_first=is_first)
        self._last_s[delta.index] = now_s
        return delta

    def cancel(self) -> None:
        """Cancel the generation."""
        self._generation.cancel()
        self._end()

    def _end(self) -> None:
        self._metrics.end(self, time.perf_counter() - self._began_s)
