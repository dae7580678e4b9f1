"""Teller: what the readers get of a step, worked out while the model is at the next one."""

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
"""Nobody waits longer for what has come: not where no pass begins."""


class ChosenToken(NamedTuple):  # made for every token, and cheaper than a dataclass
    """The token that a step has chosen for a sample, of which nobody knows yet what it adds, nor its score."""

    token: int
    score_ref: ScoreRef | None
    step: StepStats


class Output(NamedTuple):
    """What a step brought to one sequence."""

    generation: LocalGeneration
    sequence: Sequence
    item: ChosenToken | Delta | EngineError


class OutputWorker:
    """A thread that makes texts of tokens, and hands them over.

    A forward pass needs neither Python nor its lock, so most of this costs a running answer no time. Its owner calls
    `begin` when the next pass begins, and `settle` before the next tokens are chosen: so grammars have taken the last
    ones, and an answer that a text has ended goes through the model once more at most.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="engine-output")
        self._pass_started = Event()
        self._pending: Future[list[Sequence]] | None = None

    def submit(self, outputs: Seq[Output]) -> None:
        """Tell what a step brought, as soon as the next pass begins; all that was before is settled."""
        if outputs:
            self._pass_started.clear()
            self._pending = self._thread.submit(self._process, outputs)

    def notify_pass_start(self) -> None:
        """A pass begins: whoever takes Python's lock now holds up nobody."""
        self._pass_started.set()

    def wait(self) -> list[Sequence]:
        """Wait until all is told; who is over by it."""
        self._pass_started.set()
        pending, self._pending = self._pending, None
        return [] if pending is None else pending.result()

    def _process(self, outputs: Seq[Output]) -> list[Sequence]:
        self._pass_started.wait(MAX_WAIT_S)
        return _process_outputs(outputs)

    def close(self) -> None:
        """End the thread, once all is told."""
        self._thread.shutdown(wait=False)


def _process_outputs(outputs: Iterable[Output]) -> list[Sequence]:
    """Hand over what readers get; the sequences that are over."""
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
    try:
        token, score_ref, step = choice
        return sample.create_delta(token, None if score_ref is None else score_ref.scores.at(score_ref.row), step)
    except Exception as error:
        return to_engine_error(error)


def _release(generation: LocalGeneration, sequence: Sequence, delta: Delta) -> list[Delta]:
    """What the reader gets of a delta; the first one holds the prompt where that was asked for."""
    deltas = generation.submission.release(sequence, delta)
    if generation.prompt is not None and deltas:
        deltas[0] = replace(deltas[0], prompt=generation.prompt)
        generation.prompt = None
    return deltas
