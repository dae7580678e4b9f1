"""Cases of litellm as a library."""

from __future__ import annotations

import cases
import litellm

litellm.drop_params = False


def ask(**options):
    """Send a short request."""
    options = {"messages": [{"role": "user", "content": cases.COUNT}], "max_tokens": 200, "temperature": 0, **options}
    return litellm.completion(
        model=f"openai/{cases.MODEL}", api_base=cases.BASE_URL, api_key=cases.API_KEY, num_retries=0, **options
    )


def plain():
    """An answer has text and counts."""
    answer = ask()
    assert answer.choices[0].message.content
    assert answer.usage.total_tokens > 0


def streamed():
    """The deltas of a stream add up to the plain answer."""
    text = "".join(chunk.choices[0].delta.content or "" for chunk in ask(stream=True) if chunk.choices)
    assert text == ask().choices[0].message.content


def tool_call():
    """A required tool is called."""
    answer = ask(messages=[{"role": "user", "content": cases.WEATHER}], tools=[cases.TOOL], tool_choice="required")
    assert answer.choices[0].message.tool_calls[0].function.name == "get_weather"


def bad_request():
    """An invalid value raises BadRequestError."""
    try:
        ask(temperature=9)
    except litellm.BadRequestError as error:
        assert "temperature" in str(error)
    else:
        raise AssertionError("temperature 9 was accepted")


cases.run(plain, streamed, tool_call, bad_request)
