"""The collection of the tokens of a request, or of its error."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.engine import EngineError, SamplingParams

if TYPE_CHECKING:
    from reference_server.engine.loop.local_engine import LocalEngine

GREEDY = SamplingParams(temperature=0, max_tokens=5, ignore_eos=True)
PATIENCE_S = 20


async def collect(engine: LocalEngine, prompt: list[int], params: SamplingParams = GREEDY) -> list[int] | EngineError:
    try:
        return [delta.token_id async for delta in engine.submit(prompt, params)]
    except EngineError as error:
        return error
