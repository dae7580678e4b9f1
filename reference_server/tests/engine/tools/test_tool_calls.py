"""Tool calls of the embedded model: what the grammar guarantees, for any output of the model."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine import SamplingParams, UnusableGrammar
from reference_server.errors import ApiError
from reference_server.request.tool_choice import select_tools

if TYPE_CHECKING:
    from reference_server.engine import Delta, LocalEngine

WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Report the weather in a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
TIME = {"type": "function", "function": {"name": "get_time"}}


def ask(
    engine: LocalEngine,
    text: str,
    tools: list[dict[str, Any]],
    choice: Any = "auto",
    template_kwargs: dict[str, Any] | None = None,
    *,
    parallel: bool = True,
    **params: Any,
) -> list[Delta]:
    """Return the deltas of the greedy answer to a message, or of one sampled with the given parameters."""
    selection = select_tools({"tools": tools, "tool_choice": choice, "parallel_tool_calls": parallel})
    asked = SamplingParams(tools=selection.use, **{"temperature": 0.0, "max_tokens": 100, **params})

    async def read() -> list[Delta]:
        prompt = engine.encode_chat([{"role": "user", "content": text}], selection.prompt_tools, template_kwargs)
        engine.prepare(prompt, asked)
        return [delta async for delta in engine.submit(prompt, asked)]

    return asyncio.run(read())


def text_of(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)


def calls_of(deltas: list[Delta]) -> list[tuple[str, str]]:
    """Return (name, arguments) of each call."""
    calls: dict[int, tuple[str, str]] = {}
    for piece in (piece for delta in deltas for piece in delta.calls):
        name, arguments = calls.get(piece.index, ("", ""))
        calls[piece.index] = (name + (piece.name or ""), arguments + piece.arguments)
    assert list(range(len(calls))) == list(calls)
    return list(calls.values())


def test_a_suitable_tool_is_called_without_text(tiny_engine: LocalEngine) -> None:
    deltas = ask(tiny_engine, "What is the weather in Rome?", [WEATHER])
    assert [("get_weather", '{"city": "Rome"}')] == calls_of(deltas)
    assert ("", "tool_calls") == (text_of(deltas), deltas[-1].finish_reason)


def test_a_question_that_needs_no_tool_is_answered(tiny_engine: LocalEngine) -> None:
    deltas = ask(tiny_engine, "Hello!", [WEATHER])
    assert ([], "stop") == (calls_of(deltas), deltas[-1].finish_reason)
    assert text_of(deltas)


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "get_time"}}])
@pytest.mark.parametrize("seed", range(5))
def test_a_required_call_is_made_at_a_high_temperature(tiny_engine: LocalEngine, choice: Any, seed: int) -> None:
    deltas = ask(tiny_engine, "Hello!", [WEATHER, TIME], choice, temperature=5.0, seed=seed, max_tokens=200)
    assert "" == text_of(deltas)
    for name, arguments in calls_of(deltas):
        if choice != "required" or name == "get_time":
            assert ("get_time", "{}") == (name, arguments)
        elif deltas[-1].finish_reason == "tool_calls":
            assert ["city"] == list(json.loads(arguments))
    assert calls_of(deltas)


def test_without_parallel_calls_there_is_one_call(tiny_engine: LocalEngine) -> None:
    text = "What is the weather in Rome and in Paris?"
    assert 2 == len(calls_of(ask(tiny_engine, text, [WEATHER], "required")))
    assert 1 == len(calls_of(ask(tiny_engine, text, [WEATHER], "required", parallel=False)))


def test_no_tool_is_called_with_tool_choice_none(tiny_engine: LocalEngine) -> None:
    deltas = ask(tiny_engine, "What is the weather in Rome?", [WEATHER], "none")
    assert ([], "stop") == (calls_of(deltas), deltas[-1].finish_reason)
    assert text_of(deltas)


def test_a_call_cut_by_the_limit_ends_with_length(tiny_engine: LocalEngine) -> None:
    whole = ask(tiny_engine, "What is the weather in Rome?", [WEATHER])
    for limit in range(1, len(whole)):
        cut = ask(tiny_engine, "What is the weather in Rome?", [WEATHER], max_tokens=limit)
        assert (limit, "", "length") == (len(cut), text_of(cut), cut[-1].finish_reason)
        for (name, arguments), (whole_name, whole_arguments) in zip(calls_of(cut), calls_of(whole), strict=False):
            assert (whole_name, whole_arguments[: len(arguments)]) == (name, arguments)


def test_reasoning_precedes_the_call(tiny_engine: LocalEngine) -> None:
    deltas = ask(
        tiny_engine, "Hello!", [WEATHER], "required", {"enable_thinking": True}, parallel=False, reasoning=True
    )
    assert "".join(delta.reasoning for delta in deltas)
    assert ("", 1) == (text_of(deltas), len(calls_of(deltas)))


def test_stop_strings_and_stop_tokens_do_not_cut_a_call(tiny_engine: LocalEngine) -> None:
    free = ask(tiny_engine, "What is the weather in Rome?", [WEATHER])
    tokens = frozenset(delta.token_id for delta in free if delta.calls)
    held = ask(tiny_engine, "What is the weather in Rome?", [WEATHER], stop=("Rome",), stop_token_ids=tokens)
    assert calls_of(free) == calls_of(held)
    assert "tool_calls" == held[-1].finish_reason


def test_an_unsupported_schema_keyword_is_refused_if_calls_must_match_the_schema(
    tiny_engine: LocalEngine,
) -> None:
    listing = {"type": "object", "properties": {"tags": {"type": "array", "uniqueItems": True}}}
    tool: dict[str, Any] = {"type": "function", "function": {"name": "tag", "parameters": listing}}
    assert "stop" == ask(tiny_engine, "Hello!", [tool])[-1].finish_reason
    with pytest.raises(
        UnusableGrammar, match=r"tools: the parameters of tag .* the keyword uniqueItems is not supported"
    ):
        ask(tiny_engine, "Hello!", [tool], "required")
    tool["function"]["strict"] = True
    with pytest.raises(UnusableGrammar, match="uniqueItems"):
        ask(tiny_engine, "Hello!", [tool])


def test_a_choice_of_a_missing_tool_is_refused() -> None:
    with pytest.raises(ApiError, match="unknown tool 'get_date'"):
        select_tools({"tools": [TIME], "tool_choice": {"type": "function", "function": {"name": "get_date"}}})
    with pytest.raises(ApiError, match="tools is missing"):
        select_tools({"tools": [], "tool_choice": "required"})


def test_a_beam_search_finds_valid_calls(tiny_engine: LocalEngine) -> None:
    deltas = ask(
        tiny_engine, "Hello!", [WEATHER, TIME], "required", parallel=False, n=2, best_of=3, beam_search=True, logprobs=1
    )
    calls = []
    for index in range(2):
        own = [delta for delta in deltas if delta.index == index]
        ((name, arguments),) = calls_of(own)
        assert ("", "tool_calls") == (text_of(own), own[-1].finish_reason)
        assert ["city"] == list(json.loads(arguments)) if name == "get_weather" else "{}" == arguments
        calls.append((name, arguments))
    assert calls[0] != calls[1]


def test_with_ignore_eos_generation_continues_until_the_grammar_is_complete(tiny_engine: LocalEngine) -> None:
    once = ask(tiny_engine, "What is the weather in Rome?", [WEATHER], "required", parallel=False, ignore_eos=True)
    assert "tool_calls" == once[-1].finish_reason
    endless = ask(tiny_engine, "What is the weather in Rome?", [WEATHER], ignore_eos=True)
    assert (100, "length") == (len(endless), endless[-1].finish_reason)
