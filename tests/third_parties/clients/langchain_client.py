"""Cases of LangChain's ChatOpenAI."""

from __future__ import annotations

import cases
from langchain_core.messages import ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from pydantic import BaseModel

model = ChatOpenAI(
    model=cases.MODEL, base_url=cases.BASE_URL, api_key=cases.API_KEY, max_tokens=200, max_retries=0, temperature=0
)


class Number(BaseModel):
    """A number."""

    n: int


@tool
def get_weather(city: str) -> str:
    """Report the weather in a city."""
    return f"Sunny in {city}"


def plain():
    """An answer has text and counts."""
    answer = model.invoke(cases.COUNT)
    assert answer.content
    assert answer.usage_metadata["total_tokens"] > 0


def streamed():
    """The chunks of a stream add up to the plain answer."""
    assert "".join(chunk.content for chunk in model.stream(cases.COUNT)) == model.invoke(cases.COUNT).content


def batch():
    """Several prompts are answered concurrently."""
    assert all(answer.content for answer in model.batch([cases.COUNT] * 3))


def tool_call():
    """A bound tool is called and its result is answered."""
    bound = model.bind_tools([get_weather], tool_choice="required")
    call = bound.invoke(cases.WEATHER)
    assert call.tool_calls[0]["name"] == "get_weather"
    result = ToolMessage(content="Sunny", tool_call_id=call.tool_calls[0]["id"])
    assert model.bind_tools([get_weather]).invoke([("user", cases.WEATHER), call, result]) is not None


def schema():
    """A structured answer is an object of its class."""
    assert isinstance(model.with_structured_output(Number, method="json_schema").invoke(cases.COUNT), Number)


def schema_by_tool():
    """The same by a tool with tool_choice."""
    assert isinstance(model.with_structured_output(Number, method="function_calling").invoke(cases.COUNT), Number)


def log_probabilities():
    """Log-probabilities are in the metadata."""
    assert model.bind(logprobs=True).invoke(cases.COUNT).response_metadata["logprobs"]["content"]


cases.run(plain, streamed, batch, tool_call, schema, schema_by_tool, log_probabilities)
