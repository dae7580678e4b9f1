"""Make faults of what an engine generates: of each delta, with the parameters of its request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.fault import Fault

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from openapi.contract.contract import Contract
    from reference_server.engine import Delta, Engine, Generation, SamplingParams

    DeltaEdit = Callable[[Delta], Delta]


class DeltaEngine:
    """An engine whose deltas are edited. `make` is called for each request and returns the edit of its deltas."""

    def __init__(self, engine: Engine, make: Callable[[SamplingParams], DeltaEdit]) -> None:
        self._engine = engine
        self._make = make

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)

    def submit(self, prompt: Any, params: SamplingParams) -> Generation:
        """Submit the prompt; the generation's deltas are edited."""
        return EditedGeneration(self._engine.submit(prompt, params), self._make(params))


class EditedGeneration:
    """A generation with edited deltas."""

    def __init__(self, generation: Generation, edit: DeltaEdit) -> None:
        self._generation = generation
        self._edit = edit

    @property
    def prompt_tokens(self) -> int | None:
        """The number of prompt tokens, which a remote engine reports late."""
        return self._generation.prompt_tokens

    @prompt_tokens.setter
    def prompt_tokens(self, tokens: int | None) -> None:
        self._generation.prompt_tokens = tokens

    def __aiter__(self) -> AsyncIterator[Delta]:
        return self

    async def __anext__(self) -> Delta:
        return self._edit(await self._generation.__anext__())

    def cancel(self) -> None:
        """Cancel the generation."""
        self._generation.cancel()


def delta_fault(
    name: str,
    line: str,
    make: Callable[[SamplingParams], DeltaEdit],
    applies_to: Callable[[Contract], bool] = lambda _contract: True,
) -> Fault:
    """Make a fault of deltas. `make` is called for each request."""
    return Fault(
        name,
        line,
        applies_to,
        lambda app, _contract: app,
        lambda engine: DeltaEngine(engine, make),
        affects="answers",
    )
