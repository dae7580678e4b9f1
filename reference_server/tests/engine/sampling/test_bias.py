"""Bias: token constraints, compared with a float64 reference and with transformers."""

from __future__ import annotations

import asyncio
import math
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine import Delta, EngineError, SamplingParams
from reference_server.engine.device import torch
from reference_server.engine.sampling.bias import Bias, apply_biases

if TYPE_CHECKING:
    from reference_server.engine.loop.local_engine import LocalEngine

PROMPT = list(range(5, 40))
GREEDY = SamplingParams(temperature=0, max_tokens=24)


def run(engine: LocalEngine, params: SamplingParams) -> list[Delta]:
    async def collect() -> list[Delta]:
        return [delta async for delta in engine.submit(PROMPT, params)]

    return asyncio.run(collect())


def tokens(engine: LocalEngine, **asked: Any) -> list[int]:
    return [delta.token_id for delta in run(engine, SamplingParams(**{"temperature": 0, "max_tokens": 24, **asked}))]


def bias_of(engine: LocalEngine, **asked: Any) -> Bias:
    bias = Bias.from_params(
        SamplingParams(**asked), engine._vocabulary, engine.vocabulary_size, frozenset({7, 9, 10**9})
    )
    assert bias is not None
    return bias


def test_a_request_without_token_constraints_has_no_bias(engine: LocalEngine) -> None:
    assert Bias.from_params(SamplingParams(top_k=3, min_p=0.1), engine._vocabulary, 300, frozenset({7})) is None


def test_rows_with_a_bias_change_like_the_reference_and_others_do_not(engine: LocalEngine) -> None:
    size = engine.vocabulary_size
    logits = torch.randn(5, size, generator=torch.Generator().manual_seed(3))
    word = engine._vocabulary.encode("again")
    rows = [
        (0, bias_of(engine, logit_bias=((3, 2.5), (size - 1, -100.0), (3 + 1, 0.0))), []),
        (1, bias_of(engine, allowed_token_ids=frozenset({4, 8, 9}), logit_bias=((8, 1.0), (5, 3.0))), []),
        (3, bias_of(engine, min_tokens=9, bad_words=("again",), logit_bias=((7, 50.0),)), [1, *word[:-1]]),
        (4, bias_of(engine, min_tokens=2), [1, 2]),
    ]
    expected = [[float(value) for value in row] for row in logits]
    expected[0][3] += 2.5
    expected[0][size - 1] -= 100
    expected[1] = [value if token in {4, 8, 9} else -math.inf for token, value in enumerate(expected[1])]
    expected[1][8] += 1
    for token in (7, 9, word[-1]):
        expected[3][token] = -math.inf
    apply_biases(logits, rows)
    assert [pytest.approx(row) for row in expected] == logits.tolist()


def test_biases_and_bans_are_those_of_transformers(engine: LocalEngine) -> None:
    from transformers.generation import logits_process

    logits = torch.randn(1, engine.vocabulary_size, generator=torch.Generator().manual_seed(4))
    word = engine._vocabulary.encode("quick brown")
    assert len(word) > 1
    before = [3, *word[:-1]]
    sequences = torch.tensor([before])
    expected = logits_process.SequenceBiasLogitsProcessor([[[5], 1.5], [[6], -2.0]])(sequences, logits)
    expected = logits_process.NoBadWordsLogitsProcessor([list(word)])(sequences, expected)
    expected = logits_process.MinNewTokensLengthLogitsProcessor(0, len(before) + 1, [7, 9])(sequences, expected)
    bias = bias_of(engine, logit_bias=((5, 1.5), (6, -2.0)), bad_words=("quick brown",), min_tokens=len(before) + 1)
    apply_biases(logits, [(0, bias, before)])
    assert torch.equal(expected, logits)


def test_a_bias_of_100_forces_a_token_and_minus_100_bans_it(engine: LocalEngine) -> None:
    first = tokens(engine)[0]
    assert [42] * 24 == tokens(engine, logit_bias=((42, 100.0),))
    assert first not in tokens(engine, logit_bias=((first, -100.0),), ignore_eos=True)


def test_only_allowed_tokens_are_generated(engine: LocalEngine) -> None:
    allowed = frozenset({30, 41, 52})
    for sampling in ({}, {"temperature": 2.0, "seed": 3}, {"beam_search": True, "n": 2}):
        assert set(tokens(engine, allowed_token_ids=allowed, **sampling)) <= allowed


def test_a_bad_word_is_never_completed(engine: LocalEngine) -> None:
    texts = [delta.text for delta in run(engine, SamplingParams(seed=1, max_tokens=24, ignore_eos=True))]
    word = next(text for text in texts if text.strip().isascii() and text.strip().isalpha())
    banned = run(engine, SamplingParams(seed=1, max_tokens=24, ignore_eos=True, bad_words=(word,)))
    assert word not in [delta.text for delta in banned]


def test_no_token_ends_an_answer_before_min_tokens(engine: LocalEngine) -> None:
    free = tokens(engine, ignore_eos=True)
    at = 3
    assert free[: at + 1] == tokens(engine, stop_token_ids=frozenset({free[at]}))[: at + 1]
    held = tokens(engine, stop_token_ids=frozenset({free[at]}), min_tokens=at + 2)
    assert len(held) >= at + 2
    assert free[at] not in held[: at + 2]


def test_stop_strings_end_an_answer_only_after_min_tokens(engine: LocalEngine) -> None:
    deltas = run(engine, SamplingParams(temperature=0, max_tokens=24, ignore_eos=True))
    text = "".join(delta.text for delta in deltas)
    stop = next(delta.text for delta in deltas if delta.text.strip())
    least = 12
    held = run(engine, SamplingParams(temperature=0, max_tokens=24, ignore_eos=True, stop=(stop,), min_tokens=least))
    stopped_text = "".join(delta.text for delta in held)
    assert len(held) >= least + 1
    assert text.startswith(stopped_text)
    assert stop in stopped_text


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"logit_bias": ((10**6, 1.0),)}, "logit_bias contains token 1000000"),
        ({"logit_bias": ((-1, 1.0),)}, "logit_bias contains token -1"),
        ({"allowed_token_ids": frozenset({5, 10**6})}, "allowed_token_ids contains token 1000000"),
        ({"allowed_token_ids": frozenset({7}), "stop_token_ids": frozenset({7}), "min_tokens": 1}, "leaves no token"),
        ({"allowed_token_ids": frozenset({40}), "bad_words": ("I",)}, "leaves no token"),
    ],
)
def test_unknown_tokens_and_empty_choices_are_refused(engine: LocalEngine, asked: dict[str, Any], message: str) -> None:
    assert (40,) == engine._vocabulary.encode("I")
    with pytest.raises(ValueError, match=message):
        run(engine, SamplingParams(**asked))


def test_an_answer_without_a_possible_token_fails_alone(engine: LocalEngine) -> None:
    """Two tokens are allowed, and each is banned after itself and after the other."""
    first, second = engine._vocabulary.encode("I")[0], engine._vocabulary.encode("J")[0]
    words = tuple(f"{one}{two}" for one in "IJ" for two in "IJ")
    assert all(len(engine._vocabulary.encode(word)) == 2 for word in words)

    async def both() -> tuple[Any, Any]:
        async def collect(params: SamplingParams) -> list[Delta]:
            return [delta async for delta in engine.submit(PROMPT, params)]

        stuck = SamplingParams(allowed_token_ids=frozenset({first, second}), bad_words=words, max_tokens=9)
        return await asyncio.gather(collect(stuck), collect(GREEDY), return_exceptions=True)

    alone = [delta.token_id for delta in run(engine, GREEDY)]
    failed, other = asyncio.run(both())
    assert isinstance(failed, EngineError)
    assert alone == [delta.token_id for delta in other]
