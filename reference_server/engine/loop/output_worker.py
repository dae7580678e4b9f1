"""Teller: what the readers get of a step, worked out while the model is at the next one."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import TYPE_CHECKING, Final, NamedTuple

from reference_server.engine.loop.failures import failure
from reference_server.engine.loop.generation import hand_over
from reference_server.engine.loop.sequence import Sampled
from reference_server.engine.protocol import Delta, EngineError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from collections.abc import Sequence as Seq
    from concurrent.futures import Future

    from reference_server.engine.loop.generation import Item, LocalGeneration
    from reference_server.engine.loop.sequence import Sequence
    from reference_server.engine.sampling.scores import Scored
    from reference_server.engine.text.transcript import Step


LONGEST_S: Final = 0.002
"""Nobody waits longer for what has come: not where no pass begins."""


class Choice(NamedTuple):  # made for every token, and cheaper than a dataclass
    """The token that a step has chosen for a sample, of which nobody knows yet what it adds, nor its score."""

    token: int
    scored: Scored | None
    step: Step


class Told(NamedTuple):
    """What a step brought to one sequence."""

    generation: LocalGeneration
    sequence: Sequence
    item: Choice | Delta | EngineError


class Teller:
    """A thread that makes texts of tokens, and hands them over.

    A forward pass needs neither Python nor its lock, so most of this costs a running answer no time. Its owner calls
    `begin` when the next pass begins, and `settle` before the next tokens are chosen: so grammars have taken the last
    ones, and an answer that a text has ended goes through the model once more at most.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="teller")
        self._pass_begun = Event()
        self._begun: Future[list[Sequence]] | None = None

    def take(self, told: Seq[Told]) -> None:
        """Tell what a step brought, as soon as the next pass begins; all that was before is settled."""
        if told:
            self._pass_begun.clear()
            self._begun = self._thread.submit(self._tell, told)

    def begin(self) -> None:
        """A pass begins: whoever takes Python's lock now holds up nobody."""
        self._pass_begun.set()

    def settle(self) -> list[Sequence]:
        """Wait until all is told; who is over by it."""
        self._pass_begun.set()
        begun, self._begun = self._begun, None
        return [] if begun is None else begun.result()

    def _tell(self, told: Seq[Told]) -> list[Sequence]:
        self._pass_begun.wait(LONGEST_S)
        return _tell(told)

    def close(self) -> None:
        """End the thread, once all is told."""
        self._thread.shutdown(wait=False)


def _tell(told: Iterable[Told]) -> list[Sequence]:
    """Hand over what readers get; the sequences that are over."""
    over: list[Sequence] = []
    items: list[tuple[LocalGeneration, Item]] = []
    for generation, sequence, item in told:
        if isinstance(item, Choice) and isinstance(sequence, Sampled) and not sequence.cancellation.requested:
            item = _delta(sequence, item)
            if isinstance(item, EngineError):
                sequence.cancellation.requested = True  # a request fails as a whole
            elif item.finish_reason is not None:
                over.append(sequence)
        if isinstance(item, EngineError):
            items.append((generation, item))
        elif isinstance(item, Delta):
            items += [(generation, each) for each in _released(generation, sequence, item)]
    hand_over(items)
    return over


def _delta(sample: Sampled, choice: Choice) -> Delta | EngineError:
    try:
        token, scored, step = choice
        return sample.tell(token, None if scored is None else scored.scores.at(scored.row), step)
    except Exception as error:
        return failure(error)


def _released(generation: LocalGeneration, sequence: Sequence, delta: Delta) -> list[Delta]:
    """What the reader gets of a delta; the first one holds the prompt where that was asked for."""
    deltas = generation.submission.release(sequence, delta)
    if generation.prompt is not None and deltas:
        deltas[0] = replace(deltas[0], prompt=generation.prompt)
        generation.prompt = None
    return deltas
