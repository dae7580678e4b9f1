"""Every finish reason of an answer, and what remains in its text."""

from __future__ import annotations

import dataclasses
import itertools
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine import SamplingParams
from reference_server.tests.runs import ENDLESS, GREEDY, run, text_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine.loop.local_engine import LocalEngine


@pytest.fixture
def scripted(engine: LocalEngine, monkeypatch: pytest.MonkeyPatch) -> Callable[[str | list[int]], LocalEngine]:
    """Make the engine generate the tokens of a string, or given tokens."""

    def script(output: str | list[int]) -> LocalEngine:
        ids = engine._checkpoint.tokenizer.encode(output).ids if isinstance(output, str) else output
        tokens = itertools.chain(ids, itertools.repeat(0))
        monkeypatch.setattr(engine._driver.sampler, "finish", lambda *_: [next(tokens)])
        return engine

    return script


def _id(engine: LocalEngine, token: str) -> int:
    token_id = engine._checkpoint.tokenizer.token_to_id(token)
    assert token_id is not None
    return int(token_id)


class TestFinishReasons:
    """Each finish reason, and what remains in the text."""

    def test_max_tokens(self, engine: LocalEngine) -> None:
        deltas = run(engine, [1, 2, 3], dataclasses.replace(GREEDY, max_tokens=7))
        assert [delta.finish_reason for delta in deltas] == [None] * 6 + ["length"]

    def test_the_limit_of_the_server(self, load_engine: Callable[..., LocalEngine]) -> None:
        engine = load_engine(max_new_tokens=5)
        for params in (ENDLESS, GREEDY):
            assert [delta.finish_reason for delta in run(engine, [1, 2], params)] == [None] * 4 + ["length"]

    def test_the_models_positions(self, load_engine: Callable[..., LocalEngine]) -> None:
        engine = load_engine(max_model_len=32)
        assert (engine.max_model_len, engine.max_new_tokens) == (32, 31)
        for prompt_tokens in (1, 30, 31):
            deltas = run(engine, [5] * prompt_tokens, ENDLESS)
            assert len(deltas) == 32 - prompt_tokens
            assert deltas[-1].finish_reason == "length"

    def test_a_stop_token(self, engine: LocalEngine) -> None:
        free = run(engine, [1, 2, 3], GREEDY)
        stop = free[20].token_id
        first = [delta.token_id for delta in free].index(stop)
        params = dataclasses.replace(GREEDY, stop_token_ids=frozenset({stop, -1, 10**12}))
        deltas = run(engine, [1, 2, 3], params)
        assert [delta.token_id for delta in free[: first + 1]] == [delta.token_id for delta in deltas]
        assert [None] * first + ["stop"] == [delta.finish_reason for delta in deltas]
        assert deltas[-1].text == ""

    @pytest.mark.parametrize("skip", [True, False])
    def test_the_end_of_sequence_token(self, scripted: Callable[..., LocalEngine], skip: bool) -> None:
        engine = scripted("one<|im_end|>two")
        deltas = run(engine, [1], SamplingParams(skip_special_tokens=skip))
        assert (text_of(deltas), deltas[-1].finish_reason) == ("one", "stop")
        assert deltas[-1].token_id == _id(engine, "<|im_end|>")

    @pytest.mark.parametrize(("skip", "expected"), [(True, "onetwo"), (False, "one<|im_end|>two")])
    def test_the_end_of_sequence_token_ignored(
        self, scripted: Callable[..., LocalEngine], skip: bool, expected: str
    ) -> None:
        engine = scripted("one<|im_end|>two")
        count = len(engine._checkpoint.tokenizer.encode("one<|im_end|>two").ids)
        params = SamplingParams(max_tokens=count, ignore_eos=True, skip_special_tokens=skip)
        deltas = run(engine, [1], params)
        assert (text_of(deltas), deltas[-1].finish_reason) == (expected, "length")

    @pytest.mark.parametrize("include", [True, False])
    def test_a_stop_string(self, scripted: Callable[..., LocalEngine], include: bool) -> None:
        engine = scripted("say 你好。 more text")
        params = SamplingParams(stop=("never", "好。 m"), include_stop_str_in_output=include)
        deltas = run(engine, [1], params)
        assert (text_of(deltas), deltas[-1].finish_reason) == ("say 你好。 m" if include else "say 你", "stop")

    def test_an_end_at_the_limit_is_a_stop(self, scripted: Callable[..., LocalEngine]) -> None:
        engine = scripted([_id(engine := scripted("x"), "a"), _id(engine, "b"), _id(engine, "<|im_end|>")])
        deltas = run(engine, [1], SamplingParams(max_tokens=3))
        assert [delta.finish_reason for delta in deltas] == [None, None, "stop"]
        for params in (SamplingParams(max_tokens=2, stop=("b",)), SamplingParams(max_tokens=2, stop=("ab",))):
            assert run(scripted("ab"), [1], params)[-1].finish_reason == "stop"

    @pytest.mark.parametrize("ending", [{"max_tokens": 3}, {"stop_token_ids": frozenset({0})}])
    def test_text_held_back_for_a_stop_string_is_released_at_the_end(
        self, scripted: Callable[..., LocalEngine], ending: dict[str, Any]
    ) -> None:
        engine = scripted([_id(engine := scripted("x"), token) for token in "abc"])
        deltas = run(engine, [1], SamplingParams(stop=("bcd",), **ending))
        assert text_of(deltas) == "abc"
        assert [delta.text for delta in deltas[:2]] + [""] == ["a", "", ""]

    def test_a_character_cut_by_the_limit_is_dropped(self, scripted: Callable[..., LocalEngine]) -> None:
        # "ð" and "Ł" are the first bytes of an emoji in the byte-level alphabet.
        engine = scripted([_id(engine := scripted("x"), token) for token in "aðŁ"])
        assert text_of(run(engine, [1], SamplingParams(max_tokens=3))) == "a"


@pytest.mark.parametrize("reasoning", [True, False])
def test_reasoning_opened_by_the_template_is_separated_on_request(
    scripted: Callable[..., LocalEngine], reasoning: bool
) -> None:
    generated = "two\n</think>\n\nfour"
    engine = scripted(generated)
    prompt = engine.encode_chat([{"role": "user", "content": "hello"}], None, {"thinking": True})
    count = len(engine._checkpoint.tokenizer.encode(generated).ids)
    deltas = run(engine, prompt, SamplingParams(max_tokens=count, reasoning=reasoning))
    thinking = "".join(delta.reasoning for delta in deltas)
    assert (thinking, text_of(deltas)) == (("two", "four") if reasoning else ("", generated))
