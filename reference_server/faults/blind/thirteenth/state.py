"""Blind faults of state between requests: penalties that go on counting."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reference_server.faults.blind.delta_recipes import EditedGeneration
from reference_server.faults.fault import Fault

if TYPE_CHECKING:
    from reference_server.engine import Delta, Engine, Generation, SamplingParams


class CountingEngine:
    """An engine that does not forget the tokens of the last answer. Violates the penalties: the text so far."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._tokens: Counter[int] = Counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def submit(self, prompt: Any, params: SamplingParams) -> Generation:
        """Submit the prompt; the penalties count the last answer too."""
        presence, frequency = params.presence_penalty, params.frequency_penalty
        if presence or frequency:
            counted = ((token, -presence - frequency * count) for token, count in self._tokens.items())
            params = replace(params, logit_bias=(*params.logit_bias, *counted))
        tokens = self._tokens = Counter()

        def count(delta: Delta) -> Delta:
            if delta.token_id >= 0:
                tokens[delta.token_id] += 1
            return delta

        return EditedGeneration(self._engine.submit(prompt, params), count)


penalties_count_the_last_answer = Fault(
    "penalties-count-the-last-answer",
    "Presence and frequency penalties also count the tokens of the last answer, to whatever request.",
    lambda _contract: True,
    lambda app, _contract: app,
    CountingEngine,
    affects="sampling",
)
