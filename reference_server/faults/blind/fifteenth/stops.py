"""Blind faults of stop strings: answers that begin with one."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.recipes import CountedGeneration
from reference_server.faults.decorators import has_parameters
from reference_server.faults.fault import Fault

if TYPE_CHECKING:
    from reference_server.engine import Delta, Engine, Generation, SamplingParams


class PersistentEngine:
    """An engine that never returns an empty text. Violates stop: the text ends in front of it."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def submit(self, prompt: list[int], params: SamplingParams) -> Generation:
        """Submit the prompt, and once more without stop strings if one of them is the beginning."""
        generation = self._engine.submit(prompt, params)
        if not params.stop or params.n > 1 or params.known_at_end or params.include_stop_str_in_output:
            return generation
        return PersistentGeneration(generation, self._engine, prompt, params)


class PersistentGeneration(CountedGeneration):
    """A generation that starts again without stop strings if one of them ends it before there is any text."""

    def __init__(self, generation: Generation, engine: Engine, prompt: list[int], params: SamplingParams) -> None:
        super().__init__(generation, len(prompt))
        self._engine = engine
        self._prompt = prompt
        self._params = params
        self._waiting: list[Delta] = []
        self._begun = False

    async def __anext__(self) -> Delta:
        while not self._begun:
            delta = await super().__anext__()
            if isinstance(delta.stop_reason, str) and not delta.text:
                self._waiting = []
                self._generation = self._engine.submit(self._prompt, replace(self._params, stop=()))
                self._begun = True
            else:
                self._waiting.append(delta)
                self._begun = bool(delta.text or delta.reasoning or delta.calls or delta.finish_reason)
        return self._waiting.pop(0) if self._waiting else await super().__anext__()


stops_at_the_beginning_ignored = Fault(
    "stops-at-the-beginning-ignored",
    "If an answer would begin with a stop string, its stop strings have no effect.",
    has_parameters("stop"),
    lambda app, _contract: app,
    PersistentEngine,
    affects="sampling",
)
