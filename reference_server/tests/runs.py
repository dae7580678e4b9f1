"""Greedy requests to an engine, and all that comes of them."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from reference_server.engine import Delta, SamplingParams

if TYPE_CHECKING:
    from reference_server.engine.local import LocalEngine

GREEDY = SamplingParams(temperature=0, max_tokens=40, ignore_eos=True)
ENDLESS = SamplingParams(temperature=0, ignore_eos=True)


async def collect(engine: LocalEngine, prompt: list[int], params: SamplingParams) -> list[Delta]:
    return [delta async for delta in engine.submit(prompt, params)]


def run(engine: LocalEngine, prompt: list[int], params: SamplingParams) -> list[Delta]:
    return asyncio.run(collect(engine, prompt, params))


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)
