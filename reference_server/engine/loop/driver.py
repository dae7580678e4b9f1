"""The thread that takes sequences through a model, step by step."""

from __future__ import annotations

import atexit
import logging
import threading
import time
from contextlib import suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING

from reference_server.engine.device import torch
from reference_server.engine.loop.generation import LocalGeneration, deliver_all
from reference_server.engine.loop.output_worker import ChosenToken, Output, OutputWorker
from reference_server.engine.loop.prompt_descriptions import PromptDescriptions
from reference_server.engine.loop.scheduler import Batch, Scheduler
from reference_server.engine.loop.sequence import SampledSequence
from reference_server.engine.loop.step import StepExecutor
from reference_server.engine.protocol import Delta, EngineError, Unavailable
from reference_server.engine.sampling.sampler import Sampler

if TYPE_CHECKING:
    from reference_server.engine.loop.prompt_descriptions import DescribePrompt
    from reference_server.engine.loop.restarts import RestartPolicy
    from reference_server.engine.loop.sequence import Sequence
    from reference_server.engine.model.model_runner import ModelRunner

CLOSED_REASON = "the engine was closed"
HANG_S = 120.0
"""Much longer than any step."""
PREPARATION_S = 1800.0
"""Much longer than the compilation of a new shape on an accelerator."""
STALL_S = 8.0
"""Clients learn of a hung step within 10 s."""
STALL_FACTOR = 4
"""A step may take this many times as long as the longest one seen, however long that was."""
_log = logging.getLogger(__name__)


class Driver:
    """A thread that owns one model and everything that runs on it.

    Only this thread uses the model, the scheduler and the sampler. Requests reach it through a queue. An output worker
    converts the tokens of a step to deltas while the next forward pass runs, and sends them to each event loop in one
    call.

    describe_prompt: see PromptDescriptions; called on the thread. For the other arguments see LocalEngine.load.

    generations: the request of each unfinished sequence.
    scheduler, sampler: used by the thread only.
    """

    def __init__(
        self,
        runner: ModelRunner,
        describe_prompt: DescribePrompt,
        *,
        slots: int,
        prefill_tokens: int,
        prefix_reuse: bool,
        restarts: RestartPolicy,
        hang_s: float,
        stall_s: float,
    ) -> None:
        self._runner = runner
        self._describe_prompt = describe_prompt
        self._slots = slots
        self._prefill_tokens = prefill_tokens
        self._prefix_reuse = prefix_reuse
        self._restarts = restarts
        self._hang_s = hang_s
        self._stall_s = stall_s
        self._requests: SimpleQueue[LocalGeneration | None] = SimpleQueue()
        self._closing = threading.Event()
        self._failure: str | None = None  # why requests are refused; None: they are accepted
        self._step_started_s: float | None = None
        self._longest_step_s = 0.0
        self._output_worker = OutputWorker()
        self._runner.on_pass_start = self._output_worker.notify_pass_start
        self._create_loop_state()
        self._requests_lock = threading.Lock()  # no request may enter the queue after _fail_all has emptied it
        self._thread = threading.Thread(target=self._run_until_closed, name="engine", daemon=True)
        self._thread.start()
        atexit.register(self.close)  # a thread that computes during interpreter shutdown crashes the process

    @property
    def alive(self) -> bool:
        """Whether requests are accepted."""
        return self._failure is None and not self._closing.is_set() and not self.dead and not self._is_stalled

    @property
    def dead(self) -> bool:
        """Whether requests will never be accepted again."""
        return not self._thread.is_alive() or self._is_hung

    @property
    def waiting(self) -> int:
        """Number of sequences that wait for a slot, and of requests that the loop has not accepted yet."""
        return self.scheduler.waiting + self._requests.qsize() + len(self._prompts.waiting)

    @property
    def _busy(self) -> bool:
        """Whether there is work without a new request."""
        return self.scheduler.busy or bool(self._prompts.waiting)

    @property
    def _is_hung(self) -> bool:
        """Whether the current step takes longer than `hang_s`, or a preparation in it longer than PREPARATION_S."""
        return self._step_s > self._hang_s or self._runner.preparation.current_s > PREPARATION_S

    @property
    def _is_stalled(self) -> bool:
        """Whether the current step takes so much longer than all before it that it may never end."""
        return self._step_s > max(self._stall_s, STALL_FACTOR * self._longest_step_s)

    @property
    def _step_s(self) -> float:
        """Seconds since the current step began, without those spent on preparing passes; 0 between steps."""
        started_s = self._step_started_s
        return 0.0 if started_s is None else self._working_s - started_s

    @property
    def _working_s(self) -> float:
        """A clock that stands still while passes are prepared, such as captured or compiled."""
        return time.monotonic() - self._runner.preparation.seconds

    def submit(self, generation: LocalGeneration) -> None:
        """Queue a request, from any thread; raise Unavailable."""
        with self._requests_lock:
            if self._failure is not None or self._closing.is_set():
                raise Unavailable(self._failure or CLOSED_REASON)
            self._requests.put(generation)

    def close(self) -> None:
        """End the thread; requests in flight fail. Repeated calls have no effect."""
        atexit.unregister(self.close)
        with self._requests_lock:
            self._closing.set()
            self._requests.put(None)
        while self._thread.is_alive() and not self._is_hung:
            self._thread.join(0.1)
        if self._thread.is_alive():  # it cannot be ended; it will not change any request
            self._fail_all("the engine hangs", None)
        self._output_worker.close()

    def _create_loop_state(self) -> None:
        """Create an empty scheduler and sampler."""
        self.sampler = Sampler(self._slots, self._runner.vocabulary_size)
        self._executor = StepExecutor(self._runner, self.sampler)
        self.scheduler = Scheduler(
            self._slots,
            self._prefill_tokens,
            reuse=self._prefix_reuse,
            mixes=self._runner.ragged,
            release=self._runner.release,
        )
        self.generations: dict[Sequence, LocalGeneration] = {}
        self._prompts = PromptDescriptions(self._describe_prompt)

    def _run_until_closed(self) -> None:
        """Run the thread until it is closed; after a failure, restart as often as the policy allows."""
        self._runner.bind_thread()
        with torch.inference_mode():
            while (error := self._run_steps()) is not None:
                _log.error("the engine died", exc_info=error)
                self._fail_all(f"the engine died: {type(error).__name__}: {error}", error)
                pause_s = self._restarts.schedule_restart(time.monotonic())
                if pause_s is None or self._closing.wait(pause_s):
                    return
                _log.warning("the engine restarts")
                self._create_loop_state()
        self._fail_all(CLOSED_REASON, None)

    def _run_steps(self) -> Exception | None:
        """Step while there is work and wait otherwise; return the error that ended the loop, None after `close`."""
        try:
            if self._failure is not None:
                self._runner.reset()  # the failed step may have left invalid numbers in the cache
                self._failure = None
            while self._accept_requests():
                for sequence in self.scheduler.drop_cancelled():
                    del self.generations[sequence]
                self._step_started_s = self._working_s
                self._advance_prompts()
                self._step_started_s = None
                if batch := self.scheduler.schedule():
                    self._step_started_s = started_s = self._working_s
                    self._step(batch)
                    seconds = self._working_s - started_s
                    self.scheduler.record(batch, seconds)
                    self._longest_step_s = max(self._longest_step_s, seconds)
                    self._step_started_s = None
        except Exception as error:
            return error
        finally:
            self._step_started_s = None
        return None

    def _fail_all(self, reason: str, cause: Exception | None) -> None:
        """Accept no more requests, and fail the unfinished ones."""
        with self._requests_lock:
            self._failure = reason
        with suppress(Exception):
            self._collect_finished()
        while not self._requests.empty():
            self._schedule(self._requests.get())
        left = dict.fromkeys([*self.generations.values(), *self._prompts.waiting])  # without duplicates
        deliver_all((generation, _engine_error(reason, cause)) for generation in left)

    def _accept_requests(self) -> bool:
        """Take submitted requests from the queue, waiting only if the scheduler is idle; return False when closing."""
        if not self._busy:
            self._step_started_s = self._working_s  # the output of the last step may hang too
            self._collect_finished()
            self._step_started_s = None
        while not self._requests.empty() or not self._busy:
            self._schedule(self._requests.get())
            if self._closing.is_set():
                break
        return not self._closing.is_set()

    def _schedule(self, generation: LocalGeneration | None) -> None:
        if generation is None:
            return
        if self._prompts.accepts(generation):
            return
        for group in generation.submission.groups:
            self.generations |= dict.fromkeys(group, generation)
            self.scheduler.add(*group)

    def _advance_prompts(self) -> None:
        """Compute a part of a prompt's description, and schedule the request of one that is complete."""
        if (described := self._prompts.advance()) is not None:
            generation, error = described
            if error is None:
                self._schedule(generation)
            else:
                deliver_all([(generation, error)])

    def _step(self, batch: Batch) -> None:
        """Run one forward pass and choose tokens, while the output of the previous step is sent."""
        outputs: list[Output] = []
        for sequence, item in self._executor.execute(batch, self._collect_finished):
            generation = self.generations[sequence]
            if sequence.cancellation.requested:
                continue
            if item is not None and not isinstance(item, EngineError) and generation.prompt_pending:
                item = self._prompts.attach(generation) or item
            if isinstance(item, EngineError):
                self.scheduler.invalidate(sequence)
                sequence.cancellation.requested = True  # a request fails as a whole
                outputs.append(Output(generation, sequence, item))
                continue
            if item is not None:
                outputs.append(Output(generation, sequence, item))
            if _is_last(sequence, item):
                self._finish(sequence)
        self._collect_finished()
        self._output_worker.submit(outputs)

    def _collect_finished(self) -> list[Sequence]:
        """Wait until all output is sent; finish and return the sequences that it ended."""
        finished = [sequence for sequence in self._output_worker.wait() if sequence in self.generations]
        for sequence in finished:
            self._finish(sequence)
        return finished

    def _finish(self, sequence: Sequence) -> None:
        self.scheduler.finish(sequence)
        del self.generations[sequence]


def _is_last(sequence: Sequence, item: ChosenToken | Delta | None) -> bool:
    """Return whether the result of a step is certainly the last of its sequence; append the token to a sample."""
    if isinstance(item, ChosenToken) and isinstance(sequence, SampledSequence):
        return sequence.append(item.token)
    return item is None or (isinstance(item, Delta) and item.finish_reason is not None)


def _engine_error(reason: str, cause: Exception | None) -> EngineError:
    error = EngineError(reason)
    error.__cause__ = cause
    return error
