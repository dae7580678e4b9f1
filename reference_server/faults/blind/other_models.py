"""Engines of other models, for variations: with other sampling, a smaller context, or after a conversation."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from reference_server.engine import PromptTooLong
from reference_server.faults.blind.recipes import CountedGeneration
from reference_server.faults.fault import Fault, description_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine import Delta, Engine, Generation, SamplingParams
    from reference_server.faults.hooks import Json

    ParamsEdit = Callable[[SamplingParams], SamplingParams]

LONGEST_PREFIXED: Final = 3_000
PATIENCE_S: Final = 30.0


class OtherEngine:
    """An engine of another model: it samples with edited parameters and may have a smaller context.

    context: the greatest number of tokens of a prompt and its answer, or None.
    """

    def __init__(
        self, engine: Engine, edit: Callable[[SamplingParams], SamplingParams], context: int | None = None
    ) -> None:
        self._engine = engine
        self._edit = edit
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def prepare(self, prompt: list[int], params: SamplingParams) -> None:
        """Raise PromptTooLong for a prompt that leaves no token of the context."""
        self._engine.prepare(prompt, params)
        length = len(params.truncate_prompt(prompt, (self._context or len(prompt) + 1) - 1))
        if self._context is not None and length >= self._context:
            raise PromptTooLong(length, self._context - 1)

    def submit(self, prompt: list[int], params: SamplingParams) -> Generation:
        """Submit the prompt with the edited parameters."""
        params = self._edit(params)
        if self._context is not None:
            prompt = params.truncate_prompt(prompt, self._context - 1)
            left = self._context - len(prompt)
            params = replace(params, max_tokens=min(params.max_tokens or left, left))
            params = replace(params, min_tokens=min(params.min_tokens, params.max_tokens or left))
        return self._engine.submit(prompt, params)


class PrefixedEngine:
    """An engine of another model: the embedded model after a conversation that it does not count.

    Log-probabilities are those of this model, because the prompt really begins with the conversation.
    """

    def __init__(self, engine: Engine, conversation: list[Json]) -> None:
        self._engine = engine
        self._prefix: list[int] = engine.encode_chat(conversation)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def submit(self, prompt: list[int], params: SamplingParams) -> Generation:
        """Submit the prompt after the conversation, if it has no media and the answer does not contain it."""
        has_media = bool(getattr(prompt, "named", ()))  # a copy of such a prompt would not keep its media
        if has_media or params.includes_prompt or params.truncate_prompt_tokens or len(prompt) > LONGEST_PREFIXED:
            return self._engine.submit(prompt, params)
        return PrefixedGeneration(self._engine.submit([*self._prefix, *prompt], params), len(prompt))


class PrefixedGeneration(CountedGeneration):
    """A generation that reports no cached tokens, because those of the conversation do not count."""

    async def __anext__(self) -> Delta:
        delta = await super().__anext__()
        return replace(delta, cached_tokens=0) if delta.cached_tokens else delta


def model_after(name: str, line: str, *turns: str) -> Fault:
    """Make a variation: the model after a conversation of these turns."""
    conversation = [
        {"role": ("user", "assistant")[at % 2], "content": content} for at, content in enumerate((*turns, "So?"))
    ]
    return Fault(
        name,
        line,
        lambda _contract: True,
        lambda app, _contract: app,
        lambda engine: PrefixedEngine(engine, conversation),
        benign=True,
        affects="sampling",
        timeout_s=PATIENCE_S,
    )


def other_model(
    name: str, *, context: int | None = None
) -> Callable[[Callable[[SamplingParams], SamplingParams]], Fault]:
    """Make a function over the engine's parameters a variation: another model."""

    def make(edit: ParamsEdit) -> Fault:
        def wrap(engine: Engine) -> Engine:
            return OtherEngine(engine, edit, context)  # delegates everything else to the engine

        return Fault(
            name,
            description_of(edit),
            lambda _contract: True,
            lambda app, _contract: app,
            wrap,
            benign=True,
            affects="sampling",
            timeout_s=PATIENCE_S,
        )

    return make
