"""Prediction: which tokens of an answer came as they were expected."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from reference_server.engine import SamplingParams
from reference_server.engine.text.predicted_output import PredictionTracker

if TYPE_CHECKING:
    from reference_server.engine.loop.local_engine import LocalEngine


@pytest.mark.parametrize(
    ("predicted", "answer", "expected"),
    [
        ("", "abc", ""),
        ("abc", "abc", "abc"),
        ("abc", "abcde", "abc"),
        ("abcdef", "abXdef", "abef"),  # found again at its second token
        ("abcdef", "abdef", "abef"),
        ("abab", "ab", "ab"),
        ("abcab", "Xab", "ab"),
        ("abc", "cba", "a"),
        ("abc", "Xabc", "abc"),
        ("aaaa", "aaaaaa", "aaaa"),
        ("abcabd", "abXabd", "abbd"),
    ],
)
def test_tokens_are_found_in_the_order_of_the_prediction(predicted: str, answer: str, expected: str) -> None:
    prediction = PredictionTracker(list(map(ord, predicted)))
    assert expected == "".join(token for token in answer if prediction.push(ord(token)))


def test_a_prediction_changes_no_answer_and_its_tokens_are_counted(tiny_engine: LocalEngine) -> None:
    async def read(predicted: str | None) -> list[tuple[str, bool | None]]:
        params = SamplingParams(temperature=0, max_tokens=6, predicted=predicted)
        return [(delta.text, delta.predicted) async for delta in tiny_engine.submit(prompt, params)]

    prompt = tiny_engine.encode_chat([{"role": "user", "content": "Hello!"}])
    plain = asyncio.run(read(None))
    assert {None} == {each for _, each in plain}
    said = "".join(text for text, _ in plain)
    told = asyncio.run(read(said))
    assert [text for text, _ in plain] == [text for text, _ in told]
    assert [True] * len([text for text, _ in plain if text]) == [each for text, each in told if text]
    assert {False} == {each for _, each in asyncio.run(read("\n\n"))}
