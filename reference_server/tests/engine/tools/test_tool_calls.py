"""Calls of tools by the embedded model: what a grammar guarantees, whatever the model would rather say."""

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
    """Every delta of the greedy answer to a text, or of one that is sampled by parameters."""
    called = select_tools({"tools": tools, "tool_choice": choice, "parallel_tool_calls": parallel})
    asked = SamplingParams(tools=called.use, **{"temperature": 0.0, "max_tokens": 100, **params})

    async def read() -> list[Delta]:
        prompt = engine.encode_chat([{"role": "user", "content": text}], called.prompt_tools, template_kwargs)
        engine.prepare(prompt, asked)
        return [delta async for delta in engine.submit(prompt, asked)]

    return asyncio.run(read())


def said(deltas: list[Delta]) -> str:
    return "".join(delta.text for delta in deltas)


def called(deltas: list[Delta]) -> list[tuple[str, str]]:
    """(name, arguments) of each call."""
    found: dict[int, tuple[str, str]] = {}
    for piece in (piece for delta in deltas for piece in delta.calls):
        name, arguments = found.get(piece.index, ("", ""))
        found[piece.index] = (name + (piece.name or ""), arguments + piece.arguments)
    assert list(range(len(found))) == list(found)
    return list(found.values())


def test_a_tool_that_fits_is_called_without_a_word(tiny_engine: LocalEngine) -> None:
    deltas = ask(tiny_engine, "What is the weather in Rome?", [WEATHER])
    assert [("get_weather", '{"city": "Rome"}')] == called(deltas)
    assert ("", "tool_calls") == (said(deltas), deltas[-1].finish_reason)


def test_a_question_that_needs_no_tool_is_answered(tiny_engine: LocalEngine) -> None:
    deltas = ask(tiny_engine, "Hello!", [WEATHER])
    assert ([], "stop") == (called(deltas), deltas[-1].finish_reason)
    assert said(deltas)


@pytest.mark.parametrize("choice", ["required", {"type": "function", "function": {"name": "get_time"}}])
@pytest.mark.parametrize("seed", range(5))
def test_a_demanded_call_is_made_however_hot_the_sampling(tiny_engine: LocalEngine, choice: Any, seed: int) -> None:
    deltas = ask(tiny_engine, "Hello!", [WEATHER, TIME], choice, temperature=5.0, seed=seed, max_tokens=200)
    assert "" == said(deltas)
    for name, arguments in called(deltas):
        if choice != "required" or name == "get_time":
            assert ("get_time", "{}") == (name, arguments)
        elif deltas[-1].finish_reason == "tool_calls":
            assert ["city"] == list(json.loads(arguments))
    assert called(deltas)


def test_calls_that_are_not_parallel_are_one(tiny_engine: LocalEngine) -> None:
    text = "What is the weather in Rome and in Paris?"
    assert 2 == len(called(ask(tiny_engine, text, [WEATHER], "required")))
    assert 1 == len(called(ask(tiny_engine, text, [WEATHER], "required", parallel=False)))


def test_no_tool_is_called_when_none_may_be(tiny_engine: LocalEngine) -> None:
    deltas = ask(tiny_engine, "What is the weather in Rome?", [WEATHER], "none")
    assert ([], "stop") == (called(deltas), deltas[-1].finish_reason)
    assert said(deltas)


def test_a_call_that_the_limit_cuts_ends_with_length(tiny_engine: LocalEngine) -> None:
    whole = ask(tiny_engine, "What is the weather in Rome?", [WEATHER])
    for limit in range(1, len(whole)):
        cut = ask(tiny_engine, "What is the weather in Rome?", [WEATHER], max_tokens=limit)
        assert (limit, "", "length") == (len(cut), said(cut), cut[-1].finish_reason)
        for (name, arguments), (whole_name, whole_arguments) in zip(called(cut), called(whole), strict=False):
            assert (whole_name, whole_arguments[: len(arguments)]) == (name, arguments)


def test_a_thought_comes_before_the_call(tiny_engine: LocalEngine) -> None:
    deltas = ask(
        tiny_engine, "Hello!", [WEATHER], "required", {"enable_thinking": True}, parallel=False, reasoning=True
    )
    assert "".join(delta.reasoning for delta in deltas)
    assert ("", 1) == (said(deltas), len(called(deltas)))


def test_stop_texts_and_stop_tokens_do_not_cut_a_call(tiny_engine: LocalEngine) -> None:
    free = ask(tiny_engine, "What is the weather in Rome?", [WEATHER])
    tokens = frozenset(delta.token_id for delta in free if delta.calls)
    held = ask(tiny_engine, "What is the weather in Rome?", [WEATHER], stop=("Rome",), stop_token_ids=tokens)
    assert called(free) == called(held)
    assert "tool_calls" == held[-1].finish_reason


def test_a_schema_that_no_grammar_holds_is_refused_by_its_keyword_where_calls_must_fit_it(
    tiny_engine: LocalEngine,
) -> None:
    listing = {"type": "object", "properties": {"tags": {"type": "array", "uniqueItems": True}}}
    tool: dict[str, Any] = {"type": "function", "function": {"name": "tag", "parameters": listing}}
    assert "stop" == ask(tiny_engine, "Hello!", [tool])[-1].finish_reason
    with pytest.raises(UnusableGrammar, match=r"tools: the parameters of tag .* the keyword uniqueItems is not supported"):
        ask(tiny_engine, "Hello!", [tool], "required")
    tool["function"]["strict"] = True
    with pytest.raises(UnusableGrammar, match="uniqueItems"):
        ask(tiny_engine, "Hello!", [tool])


def test_a_choice_that_nothing_offers_is_refused() -> None:
    with pytest.raises(ApiError, match="'get_date', which is none of the tools"):
        select_tools({"tools": [TIME], "tool_choice": {"type": "function", "function": {"name": "get_date"}}})
    with pytest.raises(ApiError, match="there are no tools"):
        select_tools({"tools": [], "tool_choice": "required"})


def test_a_search_finds_calls_that_fit(tiny_engine: LocalEngine) -> None:
    deltas = ask(
        tiny_engine, "Hello!", [WEATHER, TIME], "required", parallel=False, n=2, best_of=3, beam_search=True, logprobs=1
    )
    found = []
    for index in range(2):
        own = [delta for delta in deltas if delta.index == index]
        ((name, arguments),) = called(own)
        assert ("", "tool_calls") == (said(own), own[-1].finish_reason)
        assert ["city"] == list(json.loads(arguments)) if name == "get_weather" else "{}" == arguments
        found.append((name, arguments))
    assert found[0] != found[1]


def test_ignoring_the_end_of_a_sequence_goes_on_until_the_form_is_whole(tiny_engine: LocalEngine) -> None:
    once = ask(tiny_engine, "What is the weather in Rome?", [WEATHER], "required", parallel=False, ignore_eos=True)
    assert "tool_calls" == once[-1].finish_reason
    for_ever = ask(tiny_engine, "What is the weather in Rome?", [WEATHER], ignore_eos=True)
    assert (100, "length") == (len(for_ever), for_ever[-1].finish_reason)
