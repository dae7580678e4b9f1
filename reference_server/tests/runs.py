"""Requests to an engine, and all that comes of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from reference_server.engine import Delta, SamplingParams

if TYPE_CHECKING:
    from reference_server.engine.loop.local_engine import LocalEngine

GREEDY = SamplingParams(temperature=0, max_tokens=40, ignore_eos=True)
ENDLESS = SamplingParams(temperature=0, ignore_eos=True)


async def collect(engine: LocalEngine, prompt: list[int], params: SamplingParams) -> list[Delta]:
    return [delta async for delta in engine.submit(prompt, params)]


def run(engine: LocalEngine, prompt: list[int], params: SamplingParams) -> list[Delta]:
    return asyncio.run(collect(engine, prompt, params))


def answers(engine: LocalEngine, asked: list[tuple[list[int], SamplingParams]]) -> list[list[Any]]:
    """What every request gets while all others run too, without what was measured."""

    async def one(prompt: list[int], params: SamplingParams) -> list[Any]:
        deltas = await collect(engine, prompt, params)
        return sorted((each.index, at, each.token_id, each.text, each.logprob) for at, each in enumerate(deltas))

    async def together() -> list[list[Any]]:
        return await asyncio.gather(*(one(*each) for each in asked))

    return [[(index, *rest) for index, _, *rest in said] for said in asyncio.run(together())]


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)
