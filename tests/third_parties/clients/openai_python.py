"""Cases of openai-python: plain, streamed, tools, schemas, log-probabilities, choices, errors, models."""

from __future__ import annotations

import asyncio

import cases
import openai

client = openai.OpenAI(base_url=cases.BASE_URL, api_key=cases.API_KEY, max_retries=0)
MESSAGES = [{"role": "user", "content": cases.COUNT}]
SCHEMA = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"], "additionalProperties": False}


def ask(**options):
    """Send a short request."""
    return client.chat.completions.create(**{"model": cases.MODEL, "messages": MESSAGES, "max_tokens": 48, **options})


def plain():
    """A plain answer has text, a reason and counts that add up."""
    answer = ask()
    assert answer.choices[0].finish_reason in ("stop", "length")
    assert answer.choices[0].message.content
    assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens


def streamed():
    """The deltas of a stream add up to the plain answer."""
    whole = ask(temperature=0).choices[0].message.content
    parts = [chunk.choices[0].delta.content or "" for chunk in ask(temperature=0, stream=True) if chunk.choices]
    assert "".join(parts) == whole


def stream_usage():
    """The last chunk of a stream has the usage if it is requested."""
    chunks = list(ask(stream=True, stream_options={"include_usage": True}))
    assert chunks[-1].usage.completion_tokens > 0


def several_choices():
    """As many choices as requested."""
    assert [choice.index for choice in ask(n=3, max_tokens=4).choices] == [0, 1, 2]


def stop():
    """A stop string ends the answer and is not in it."""
    answer = ask(temperature=0, stop="3")
    assert answer.choices[0].finish_reason == "stop"
    assert "3" not in answer.choices[0].message.content


def log_probabilities():
    """Each token has its log-probability and the alternatives."""
    entries = ask(max_tokens=4, logprobs=True, top_logprobs=2).choices[0].logprobs.content
    assert len(entries) > 0
    assert all(len(entry.top_logprobs) == 2 for entry in entries)


def tool_call():
    """A required tool is called, and its result is answered."""
    question = {"role": "user", "content": cases.WEATHER}
    answer = ask(messages=[question], tools=[cases.TOOL], tool_choice="required", max_tokens=200)
    call = answer.choices[0].message.tool_calls[0]
    assert call.function.name == "get_weather"
    result = {"role": "tool", "tool_call_id": call.id, "content": "Sunny"}
    history = [question, answer.choices[0].message.to_dict(), result]
    assert ask(messages=history, tools=[cases.TOOL]).choices[0].message.content is not None


def streamed_tool_call():
    """The accumulated events of a stream contain the call."""
    with client.chat.completions.stream(
        model=cases.MODEL,
        messages=[{"role": "user", "content": cases.WEATHER}],
        tools=[cases.TOOL],
        tool_choice="required",
        max_tokens=200,
    ) as stream:
        stream.until_done()
        completion = stream.get_final_completion()
    assert completion.choices[0].message.tool_calls[0].function.name == "get_weather"


def schema():
    """An answer for a schema is JSON of that schema."""
    form = {"type": "json_schema", "json_schema": {"name": "number", "strict": True, "schema": SCHEMA}}
    import json

    answer = ask(response_format=form, max_tokens=200, temperature=0)
    assert isinstance(json.loads(answer.choices[0].message.content)["n"], int)


def bad_request():
    """An invalid value raises BadRequestError that names the parameter."""
    try:
        ask(temperature=9)
    except openai.BadRequestError as error:
        assert "temperature" in str(error)
    else:
        raise AssertionError("temperature 9 was accepted")


def unknown_model():
    """Another model raises NotFoundError."""
    try:
        ask(model="no-such-model")
    except openai.NotFoundError:
        return
    raise AssertionError("the model was accepted")


def models():
    """The list of models contains the served one."""
    assert cases.MODEL in [model.id for model in client.models.list()]


def asynchronous():
    """The asynchronous client reads a stream."""

    async def read():
        async with openai.AsyncOpenAI(base_url=cases.BASE_URL, api_key=cases.API_KEY, max_retries=0) as other:
            stream = await other.chat.completions.create(
                model=cases.MODEL, messages=MESSAGES, max_tokens=8, stream=True
            )
            return [chunk async for chunk in stream]

    assert asyncio.run(read())


cases.run(
    plain, streamed, stream_usage, several_choices, stop, log_probabilities, tool_call, streamed_tool_call, schema,
    bad_request, unknown_model, models, asynchronous,
)  # fmt: skip
