"""An engine that repeats its earlier answers, so that testing hundreds of faults costs one generation per request.

A greedy or seeded request has one answer. For other requests the n-th submission gets the n-th answer that was
generated for them, so that every fault is tested with the same texts. Their seeds are derived from the request, so that
the texts are the same in the next run too.
"""

from __future__ import annotations

import asyncio
import zlib
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from reference_server.engine import Delta, Engine, Generation, SamplingParams

    Key = tuple[tuple[int, ...], str, int]

LONG_ANSWER: Final = 150
"""Number of deltas above which an answer is paced, so that a client can disconnect in the middle of it."""
PACE_S: Final = 0.002


@dataclass(frozen=True, slots=True)
class CachedAnswer:
    """A complete answer of the engine."""

    prompt_tokens: int | None
    deltas: tuple[Delta, ...]


@dataclass(slots=True)
class AnswerCache:
    """The answers of an engine, shared between servers."""

    answers: dict[Key, CachedAnswer] = field(default_factory=dict)


class CachedEngine:
    """The engine of one server, in front of a shared engine."""

    def __init__(self, engine: Engine, cache: AnswerCache) -> None:
        self._engine = engine
        self._cache = cache
        self._submissions: Counter[tuple[tuple[int, ...], str]] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def submit(self, prompt: list[int], params: SamplingParams) -> Generation:
        """Return the cached answer, or submit the prompt to the engine and cache its answer."""
        request = (tuple(prompt), repr(params))
        key = (*request, self._submissions[request])
        random = params.temperature > 0 and params.seed is None and not params.beam_search
        if random:
            self._submissions[request] += 1
        answer = self._cache.answers.get(key)
        if answer is not None:
            return CachedGeneration(answer)
        if random:
            params = replace(params, seed=zlib.crc32(repr(key).encode()))
        return RecordedGeneration(self._engine.submit(prompt, params), self._cache, key, params.n)


class CachedGeneration:
    """A generation read from the cache."""

    def __init__(self, answer: CachedAnswer) -> None:
        self.prompt_tokens = answer.prompt_tokens
        self._rest = iter(answer.deltas)
        self._pace_s = PACE_S if len(answer.deltas) > LONG_ANSWER else 0.0
        self._cancelled = False

    def __aiter__(self) -> AsyncIterator[Delta]:
        return self

    async def __anext__(self) -> Delta:
        await asyncio.sleep(self._pace_s)  # sends each delta on its own and lets other tasks run
        delta = None if self._cancelled else next(self._rest, None)
        if delta is None:
            raise StopAsyncIteration
        return delta

    def cancel(self) -> None:
        """Yield no more deltas."""
        self._cancelled = True


class RecordedGeneration:
    """A generation of the engine that is added to the cache once all its choices have ended."""

    def __init__(self, generation: Generation, cache: AnswerCache, key: Key, choices: int) -> None:
        self._generation = generation
        self._cache = cache
        self._key = key
        self._unfinished = choices
        self._deltas: list[Delta] = []
        self.prompt_tokens = generation.prompt_tokens

    def __aiter__(self) -> AsyncIterator[Delta]:
        return self

    async def __anext__(self) -> Delta:
        delta = await self._generation.__anext__()
        self.prompt_tokens = self._generation.prompt_tokens
        self._deltas.append(delta)
        self._unfinished -= delta.finish_reason is not None
        if self._unfinished == 0:
            self._cache.answers[self._key] = CachedAnswer(self.prompt_tokens, tuple(self._deltas))
        return delta

    def cancel(self) -> None:
        """Cancel the engine's generation."""
        self._generation.cancel()
