"""Remembering: an engine that says again what it has said before, so that hundreds of faults cost one generation each.

A greedy or seeded request has one answer. Of others the first, the second, ... time that a server is asked gets what
the first, the second, ... time got before, so that every fault is shown with the same texts; these have seeds of their
own, so that they are the same in the next run too.
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

MANY: Final = 150
PACE_S: Final = 0.002
"""Longer answers take their time: a client may want to leave in the middle of one."""


@dataclass(frozen=True, slots=True)
class Said:
    """A whole answer of the engine."""

    prompt_tokens: int
    deltas: tuple[Delta, ...]


@dataclass(slots=True)
class Memory:
    """What an engine has said, to share between servers."""

    said: dict[Key, Said] = field(default_factory=dict)


class Remembering:
    """The engine of one server, over one that is shared."""

    def __init__(self, engine: Engine, memory: Memory) -> None:
        self._engine = engine
        self._memory = memory
        self._asked: Counter[tuple[tuple[int, ...], str]] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def submit(self, prompt: list[int], params: SamplingParams) -> Generation:
        """As the engine's own, or what it said the last time."""
        asked = (tuple(prompt), repr(params))
        key = (*asked, self._asked[asked])
        drawn = params.temperature > 0 and params.seed is None and not params.beam_search
        if drawn:
            self._asked[asked] += 1
        said = self._memory.said.get(key)
        if said is not None:
            return Again(said)
        if drawn:
            params = replace(params, seed=zlib.crc32(repr(key).encode()))
        return Noted(self._engine.submit(prompt, params), self._memory, key, params.n)


class Again:
    """A generation that is known already."""

    def __init__(self, said: Said) -> None:
        self.prompt_tokens = said.prompt_tokens
        self._rest = iter(said.deltas)
        self._pace_s = PACE_S if len(said.deltas) > MANY else 0.0
        self._over = False

    def __aiter__(self) -> AsyncIterator[Delta]:
        return self

    async def __anext__(self) -> Delta:
        await asyncio.sleep(self._pace_s)  # so that each goes out by itself, and others have their turn
        delta = None if self._over else next(self._rest, None)
        if delta is None:
            raise StopAsyncIteration
        return delta

    def cancel(self) -> None:
        """Says no more."""
        self._over = True


class Noted:
    """A generation that is kept once it is whole: when all its choices have ended."""

    def __init__(self, generation: Generation, memory: Memory, key: Key, choices: int) -> None:
        self._generation = generation
        self._memory = memory
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
            self._memory.said[self._key] = Said(self.prompt_tokens, tuple(self._deltas))
        return delta

    def cancel(self) -> None:
        """As the engine's own."""
        self._generation.cancel()
