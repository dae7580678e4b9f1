"""An engine that generates an answer in two stages, as after a preemption."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reference_server.engine import PromptTooLong

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from reference_server.engine import Delta, Engine, Generation, SamplingParams

    Plan = tuple[int, SamplingParams, SamplingParams]
    MakePlan = Callable[[list[int], SamplingParams], Plan | None]


class StagedEngine:
    """An engine whose answers have two stages. The second one takes the tokens of the first as its prompt.

    plan: returns the number of tokens of the first stage and the parameters of both; None for an answer in one stage.
    """

    def __init__(self, engine: Engine, plan: MakePlan) -> None:
        self._engine = engine
        self._plan = plan

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def submit(self, prompt: Any, params: SamplingParams) -> Generation:
        """Submit the prompt, in stages if the answer is free text of one choice."""
        plan = None if getattr(prompt, "named", ()) or not _is_plain(params) else self._plan(prompt, params)
        return self._engine.submit(prompt, params) if plan is None else StagedGeneration(self._engine, prompt, *plan)


def _is_plain(params: SamplingParams) -> bool:
    """Whether an answer can be continued as a prompt: nothing but its tokens decides about the next one."""
    is_one = params.width == 1 and not params.beam_search
    is_free = params.tools is None and params.grammar is None
    return is_one and is_free and not params.stop and not params.includes_prompt and not params.truncate_prompt_tokens


class StagedGeneration:
    """A generation that ends after its first tokens, and continues as another one."""

    def __init__(
        self, engine: Engine, prompt: list[int], length: int, first: SamplingParams, second: SamplingParams
    ) -> None:
        self._engine = engine
        self._prompt = prompt
        self._length = length
        self._second = second
        self._running = engine.submit(prompt, first)
        self._tokens: list[int] = []
        self._resumed = False
        self.prompt_tokens: int | None = self._running.prompt_tokens

    def __aiter__(self) -> AsyncIterator[Delta]:
        return self

    async def __anext__(self) -> Delta:
        delta = await self._running.__anext__()
        if self._resumed:
            return replace(delta, cached_tokens=0)
        self._tokens.append(delta.token_id)
        is_whole = bool(delta.text or delta.reasoning)  # otherwise the token ends within a character
        if len(self._tokens) >= self._length and is_whole and delta.finish_reason is None:
            self._resume()
        return delta

    def _resume(self) -> None:
        """Begin the second stage, unless the context is full."""
        count, limit = len(self._tokens), self._second.max_tokens
        rest = replace(
            self._second,
            max_tokens=None if limit is None else limit - count,
            min_tokens=max(self._second.min_tokens - count, 0),
        )
        try:
            resumed = self._engine.submit([*self._prompt, *self._tokens], rest)
        except PromptTooLong:
            return
        self._running.cancel()
        self._running, self._resumed = resumed, True

    def cancel(self) -> None:
        """Cancel the stage that is running."""
        self._running.cancel()
