"""Helpers that send requests to an engine and collect the results."""

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


def answers(engine: LocalEngine, requests: list[tuple[list[int], SamplingParams]]) -> list[list[Any]]:
    """Return the results of requests that run at the same time, without measurements."""

    async def one(prompt: list[int], params: SamplingParams) -> list[Any]:
        deltas = await collect(engine, prompt, params)
        return sorted((delta.index, at, delta.token_id, delta.text, delta.logprob) for at, delta in enumerate(deltas))

    async def together() -> list[list[Any]]:
        return await asyncio.gather(*(one(*request) for request in requests))

    return [[(index, *rest) for index, _, *rest in tokens] for tokens in asyncio.run(together())]


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)
