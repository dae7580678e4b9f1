"""Cases of pydantic-ai."""

from __future__ import annotations

import asyncio

import cases
from pydantic import BaseModel
from pydantic_ai import Agent, NativeOutput
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings

model = OpenAIChatModel(cases.MODEL, provider=OpenAIProvider(base_url=cases.BASE_URL, api_key=cases.API_KEY))
SETTINGS = ModelSettings(max_tokens=200, temperature=0)


class Number(BaseModel):
    """A number."""

    n: int


def plain():
    """An answer has text and counts."""
    result = Agent(model, model_settings=SETTINGS).run_sync(cases.COUNT)
    assert result.output


def streamed():
    """A stream ends with the same text."""

    async def read():
        async with Agent(model, model_settings=SETTINGS).run_stream(cases.COUNT) as result:
            return [part async for part in result.stream_text(delta=True)]

    assert "".join(asyncio.run(read()))


def tool_call():
    """The agent calls a tool and goes on."""
    called = []
    agent = Agent(model, model_settings=SETTINGS)

    @agent.tool_plain
    def get_weather(city: str) -> str:
        """Report the weather in a city."""
        called.append(city)
        return "Sunny"

    agent.run_sync(cases.WEATHER)
    assert called


def schema():
    """A structured answer is an object of its class."""
    agent = Agent(model, output_type=NativeOutput(Number), model_settings=SETTINGS)
    assert isinstance(agent.run_sync(cases.COUNT).output, Number)


def schema_by_tool():
    """The same by a tool."""
    agent = Agent(model, output_type=Number, model_settings=SETTINGS)
    assert isinstance(agent.run_sync(cases.COUNT).output, Number)


cases.run(plain, streamed, tool_call, schema, schema_by_tool)
