"""What the requests to the blind faults are made of.

A step is one request, or a list of requests that are sent at the same time. The names of fields in capitals are not
part of the body: HEADERS, PATH (models, model or unknown), METHOD, BODY (in place of the fields), LEAVE (after the
first event), SLOWLY (the body arrives late), ESCAPED (non-ASCII characters of the body are escaped), TIMED (note
whether the answer takes long), PATIENCE (seconds), CACHED (compare cached_tokens), IDS (compare the number of different
ids), CALL_IDS (compare the number and the form of the ids of calls).
"""

from __future__ import annotations

from typing import Any

Step = dict[str, Any] | list[dict[str, Any]]

STORY = "Tell me a story about a dog and a cat."
LONG = "The dog saw the cat and the bird, and then it ran home. " * 75
LONGER = LONG * 2
TOO_LONG = LONG * 9
HISTORY: list[dict[str, Any]] = [
    message
    for number in range(6)
    for message in (
        {"role": "user", "content": f"My number is {number}."},
        {"role": "assistant", "content": f"Your number is {number}."},
    )
]
FUNCTION: dict[str, Any] = {
    "name": "get_weather",
    "description": "Get the weather of a city",
    "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
}
WEATHER = {"type": "function", "function": FUNCTION}


def tool(**properties: Any) -> dict[str, Any]:
    """Return a tool with required parameters of these schemas."""
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": "function", "function": {"name": "note", "description": "Take a note", "parameters": parameters}}


def ask(content: str = "What is the capital of France?", **fields: Any) -> dict[str, Any]:
    """Return a short greedy request."""
    return {"messages": [{"role": "user", "content": content}], "max_tokens": 12, "temperature": 0, **fields}


def call(*tools: dict[str, Any], content: str = "What is the weather in Paris?", **fields: Any) -> dict[str, Any]:
    """Return a request in which a tool must be called."""
    fields = {"max_tokens": 80, "tool_choice": "required", **fields}
    return ask(content, tools=list(tools), **fields)


def form(schema: Any = None) -> dict[str, Any]:
    """Return a response_format."""
    schema = schema or {"type": "object", "properties": {"a": {"type": "integer"}}, "required": ["a"]}
    return {"type": "json_schema", "json_schema": {"name": "form", "schema": schema, "strict": True}}


STREAM = ask(stream=True)
SAMPLED = ask(STORY, temperature=1.0, seed=5)
SCORED = ask(logprobs=True, top_logprobs=3)
GZIP = {"accept-encoding": "gzip, deflate"}
EIGHT = [ask(STORY, max_tokens=number) for number in range(4, 24)]
RESULT: list[dict[str, Any]] = [
    {"role": "user", "content": "What is the weather in Paris?"},
    {
        "role": "assistant",
        "content": "",
        "tool_calls": [
            {
                "id": "call_1",
                "type": "function",
                "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "call_1", "content": "Sunny and 20 degrees."},
]
