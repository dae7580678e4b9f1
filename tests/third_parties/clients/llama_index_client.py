"""Cases of LlamaIndex with OpenAILike."""

from __future__ import annotations

import cases
from llama_index.core.llms import ChatMessage
from llama_index.core.tools import FunctionTool
from llama_index.llms.openai_like import OpenAILike

model = OpenAILike(
    model=cases.MODEL, api_base=cases.BASE_URL, api_key=cases.API_KEY, is_chat_model=True, max_tokens=200,
    is_function_calling_model=True, context_window=4096, max_retries=0, temperature=0,
)  # fmt: skip
MESSAGES = [ChatMessage(role="user", content=cases.COUNT)]


def get_weather(city: str) -> str:
    """Report the weather in a city."""
    return f"Sunny in {city}"


def plain():
    """An answer has text."""
    assert model.chat(MESSAGES).message.content


def streamed():
    """The deltas of a stream add up to the plain answer."""
    text = "".join(part.delta or "" for part in model.stream_chat(MESSAGES))
    assert text == model.chat(MESSAGES).message.content


def complete():
    """A completion goes through the chat endpoint."""
    assert str(model.complete(cases.COUNT))


def tool_call():
    """A required tool is called."""
    tools = [FunctionTool.from_defaults(get_weather)]
    answer = model.chat_with_tools(tools, user_msg=cases.WEATHER, tool_required=True)
    assert model.get_tool_calls_from_response(answer)[0].tool_name == "get_weather"


cases.run(plain, streamed, complete, tool_call)
