"""Variations of models: other habits, and numerics that depend on what else is running."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.other_models import model_after
from reference_server.faults.decorators import always
from reference_server.faults.fault import Fault

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from reference_server.engine import Delta, Engine, Generation, SamplingParams

WARM: Final = 0.05
PATIENCE_S: Final = 30.0

emoji_model = model_after(
    "emoji-model",
    "The model tends to answer with emoji.",
    "Hello!",
    "\U0001f600\U0001f44b \u4f60\u597d \U0001f389\U0001f389 \u2764\ufe0f \U0001f680",
    "How are you?",
    "\U0001f600 \U0001f600 \U0001f44d\U0001f3fd",
)
code_model = model_after(
    "code-model",
    "The model tends to answer with code.",
    "Hello!",
    '```python\nprint("Hello!")\n```',
    "Why?",
    "```python\nfor x in range(3):\n\tprint(x)\n```",
)
json_model = model_after(
    "json-model",
    "The model tends to answer with JSON that the request does not demand.",
    "Hello!",
    '{"answer": "Hello!", "sure": true}',
    "Who are you?",
    '{"answer": "A model.", "sure": false}',
)
counting_model = model_after(
    "counting-model",
    "The model tends to answer with numbers.",
    "Hello!",
    "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16",
    "Go on.",
    "17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28",
)


class BusyEngine:
    """An engine in which, of two almost equally likely tokens, either is chosen while something else is running."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.running = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def submit(self, prompt: list[int], params: SamplingParams) -> Generation:
        """Submit the prompt, at a low temperature if another generation is running."""
        if self.running and params.temperature == 0 and not params.beam_search and params.grammar is None:
            params = replace(params, temperature=WARM, top_k=2, top_p=1.0, min_p=0.0, seed=None)
        generation = self._engine.submit(prompt, params)
        self.running += 1
        return WatchedGeneration(generation, self)


class WatchedGeneration:
    """A generation that tells its engine when it has ended."""

    def __init__(self, generation: Generation, engine: BusyEngine) -> None:
        self._generation = generation
        self._engine: BusyEngine | None = engine
        self.prompt_tokens = generation.prompt_tokens

    def __aiter__(self) -> AsyncIterator[Delta]:
        return self

    async def __anext__(self) -> Delta:
        try:
            delta = await self._generation.__anext__()
        except BaseException:
            self._end()
            raise
        self.prompt_tokens = self._generation.prompt_tokens
        return delta

    def cancel(self) -> None:
        """Cancel the generation."""
        self._end()
        self._generation.cancel()

    def _end(self) -> None:
        if self._engine is not None:
            self._engine.running -= 1
            self._engine = None


def _watch(engine: Engine) -> Engine:
    return BusyEngine(engine)  # delegates everything else to the engine


ties_under_load = Fault(
    "ties-under-load",
    "While several requests are running, of two almost equally likely tokens either may be chosen.",
    always,
    lambda app, _contract: app,
    _watch,
    benign=True,
    affects="sampling",
    timeout_s=PATIENCE_S,
    flaky=True,
)
