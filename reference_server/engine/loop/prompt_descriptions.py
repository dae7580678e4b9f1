"""The prompts that requests ask for, with the log-probabilities of their tokens."""

from __future__ import annotations

import logging
from collections import deque
from typing import TYPE_CHECKING

from reference_server.engine.protocol import EngineError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reference_server.engine.loop.generation import LocalGeneration
    from reference_server.engine.loop.submission import Submission
    from reference_server.engine.protocol import Prompt

    DescribePrompt = Callable[[Submission], Iterator[Prompt | None]]

_log = logging.getLogger(__name__)


class PromptDescriptions:
    """The descriptions of prompts; one that needs passes is computed in parts, before its request is scheduled.

    describe: yields the prompt of a request, after None for each part that takes the time of a pass.
    """

    def __init__(self, describe: DescribePrompt) -> None:
        self._describe = describe
        self._unfinished: deque[tuple[LocalGeneration, Iterator[Prompt | None]]] = deque()

    @property
    def waiting(self) -> list[LocalGeneration]:
        """The requests whose prompt is not described completely."""
        return [generation for generation, _ in self._unfinished]

    def accepts(self, generation: LocalGeneration) -> bool:
        """Queue a request whose prompt has to be described in parts; return whether it is one."""
        if not generation.prompt_pending or generation.submission.params.prompt_logprobs is None:
            return False
        self._unfinished.append((generation, self._describe(generation.submission)))
        return True

    def advance(self) -> tuple[LocalGeneration, EngineError | None] | None:
        """Compute a part of the first prompt; return its request if the prompt is complete or an error ends it."""
        if not self._unfinished:
            return None
        generation, parts = self._unfinished[0]
        if generation.submission.cancellation.requested:
            self._unfinished.popleft()
            return None
        result = _take_part(parts)
        if result is None:
            return None
        self._unfinished.popleft()
        return generation, _attach(generation, result)

    def attach(self, generation: LocalGeneration) -> EngineError | None:
        """Attach the prompt to a request that needs no passes for it; return an error that ends the request."""
        return _attach(generation, _take_part(self._describe(generation.submission)))


def _take_part(parts: Iterator[Prompt | None]) -> Prompt | EngineError | None:
    try:
        return next(parts)
    except Exception as error:  # an error of one request must not end the engine
        _log.exception("the prompt of a request cannot be described")
        failure = EngineError(f"the prompt cannot be described: {type(error).__name__}: {error}")
        failure.__cause__ = error
        return failure


def _attach(generation: LocalGeneration, result: Prompt | EngineError | None) -> EngineError | None:
    generation.prompt_pending = False
    if isinstance(result, EngineError):
        return result
    generation.prompt = result
    return None
