"""Make faults of several choices: the first one follows the request, and the others another one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from reference_server.engine import Delta, Engine, Generation, SamplingParams

    ParamsEdit = Callable[[SamplingParams], SamplingParams]


class SplitEngine:
    """An engine that generates all choices but the first with edited parameters, if the edit changes any."""

    def __init__(self, engine: Engine, edit: ParamsEdit) -> None:
        self._engine = engine
        self._edit = edit

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def submit(self, prompt: Any, params: SamplingParams) -> Generation:
        """Submit the prompt for the first choice, and once more for the others."""
        edited = self._edit(params)
        if params.n == 1 or params.known_at_end or edited == params:
            return self._engine.submit(prompt, params)
        first = self._engine.submit(prompt, replace(params, n=1, best_of=None))
        return SplitGeneration(first, self._engine.submit(prompt, edited))


class SplitGeneration:
    """The first choice of one generation, and then the others of another one."""

    def __init__(self, first: Generation, others: Generation) -> None:
        self._first = first
        self._others = others
        self._begun = False

    @property
    def prompt_tokens(self) -> int | None:
        """The number of prompt tokens, which a remote engine reports late."""
        return self._first.prompt_tokens

    @prompt_tokens.setter
    def prompt_tokens(self, tokens: int | None) -> None:
        self._first.prompt_tokens = tokens

    def __aiter__(self) -> AsyncIterator[Delta]:
        return self

    async def __anext__(self) -> Delta:
        if not self._begun:
            try:
                return await self._first.__anext__()
            except StopAsyncIteration:
                self._begun = True
        delta = await self._others.__anext__()
        while delta.index == 0:
            delta = await self._others.__anext__()
        return delta

    def cancel(self) -> None:
        """Cancel both generations."""
        self._first.cancel()
        self._others.cancel()
