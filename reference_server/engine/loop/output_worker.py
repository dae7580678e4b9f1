"""The thread that converts tokens to deltas while the model runs the next forward pass."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING, Final, NamedTuple

from reference_server.engine.loop.failures import to_engine_error
from reference_server.engine.loop.generation import deliver_all
from reference_server.engine.loop.sequence import SampledSequence
from reference_server.engine.protocol import Delta, EngineError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence as Seq
    from concurrent.futures import Future

    from reference_server.engine.loop.generation import Item, LocalGeneration
    from reference_server.engine.loop.sequence import Sequence
    from reference_server.engine.sampling.scores import ScoreRef
    from reference_server.engine.text.transcript import StepStats


MAX_WAIT_S: Final = 0.002
"""Longest time that outputs wait for the next pass to begin, in seconds."""


class ChosenToken(NamedTuple):  # created for every token, and cheaper than a dataclass
    """The token that a step chose for a sample; its text and score are still to be computed."""

    token: int
    score_ref: ScoreRef | None
    step: StepStats


class Output(NamedTuple):
    """The result of a step for one sequence."""

    generation: LocalGeneration
    sequence: Sequence
    item: ChosenToken | Delta | EngineError


class OutputWorker:
    """A thread that converts tokens to text and delivers the deltas.

    A forward pass needs neither Python nor the GIL, so this work hardly delays it. The owner calls `notify_pass_start`
    when the next pass begins, and `wait` before the next tokens are chosen. So grammars have consumed the last tokens
    by then, and an answer that its text has ended takes part in at most one more pass.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="engine-output")
        self._pass_started = Event()
        self._pending: Future[list[Sequence]] | None = None

    def submit(self, outputs: Seq[Output]) -> None:
        """Process the outputs of a step as soon as the next pass begins; call `wait` for earlier outputs first."""
        if outputs:
            self._pass_started.clear()
            self._pending = self._thread.submit(self._process, outputs)

    def notify_pass_start(self) -> None:
        """Signal that a pass begins: from now on the GIL is free."""
        self._pass_started.set()

    def wait(self) -> list[Sequence]:
        """Wait until all outputs are delivered; return the sequences that they finished."""
        self._pass_started.set()
        pending, self._pending = self._pending, None
        return [] if pending is None else pending.result()

    def _process(self, outputs: Seq[Output]) -> list[Sequence]:
        self._pass_started.wait(MAX_WAIT_S)
        return _process_outputs(outputs)

    def close(self) -> None:
        """End the thread after the submitted outputs."""
        self._thread.shutdown(wait=False)


def _process_outputs(outputs: Iterable[Output]) -> list[Sequence]:
    """Deliver the deltas of outputs; return the finished sequences."""
    finished: list[Sequence] = []
    items: list[tuple[LocalGeneration, Item]] = []
    for generation, sequence, item in outputs:
        if (
            isinstance(item, ChosenToken)
            and isinstance(sequence, SampledSequence)
            and not sequence.cancellation.requested
        ):
            item = _create_delta(sequence, item)
            if isinstance(item, EngineError):
                sequence.cancellation.requested = True  # a request fails as a whole
            elif item.finish_reason is not None:
                finished.append(sequence)
        if isinstance(item, EngineError):
            items.append((generation, item))
        elif isinstance(item, Delta):
            items += [(generation, delta) for delta in _release(generation, sequence, item)]
    deliver_all(items)
    return finished


def _create_delta(sample: SampledSequence, choice: ChosenToken) -> Delta | EngineError:
    """Return the delta of a chosen token, or the error that ends its answer."""
    try:
        token, score_ref, step = choice
        return sample.create_delta(token, None if score_ref is None else score_ref.scores.at(score_ref.row), step)
    except Exception as error:
        return to_engine_error(error)


def _release(generation: LocalGeneration, sequence: Sequence, delta: Delta) -> list[Delta]:
    """Return the deltas to deliver after a new one; attach the prompt to the first if it was requested."""
    deltas = generation.submission.release(sequence, delta)
    if generation.prompt is not None and deltas:
        deltas[0] = replace(deltas[0], prompt=generation.prompt)
        generation.prompt = None
    return deltas
