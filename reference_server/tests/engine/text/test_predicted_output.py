"""PredictionTracker: which tokens of an answer match the predicted output."""

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
        ("abcdef", "abXdef", "abef"),  # resumes at the second token after the mismatch
        ("abcdef", "abdef", "abef"),
        ("abab", "ab", "ab"),
        ("abcab", "Xab", "ab"),
        ("abc", "cba", "a"),
        ("abc", "Xabc", "abc"),
        ("aaaa", "aaaaaa", "aaaa"),
        ("abcabd", "abXabd", "abbd"),
    ],
)
def test_tokens_match_in_the_order_of_the_prediction(predicted: str, answer: str, expected: str) -> None:
    prediction = PredictionTracker(list(map(ord, predicted)))
    assert expected == "".join(token for token in answer if prediction.push(ord(token)))


def test_a_prediction_marks_tokens_and_does_not_change_the_answer(tiny_engine: LocalEngine) -> None:
    async def read(predicted: str | None) -> list[tuple[str, bool | None]]:
        params = SamplingParams(temperature=0, max_tokens=6, predicted=predicted)
        return [(delta.text, delta.predicted) async for delta in tiny_engine.submit(prompt, params)]

    prompt = tiny_engine.encode_chat([{"role": "user", "content": "Hello!"}])
    plain = asyncio.run(read(None))
    assert {None} == {predicted for _, predicted in plain}
    text = "".join(text for text, _ in plain)
    marked = asyncio.run(read(text))
    assert [text for text, _ in plain] == [text for text, _ in marked]
    assert [True] * len([text for text, _ in plain if text]) == [predicted for text, predicted in marked if text]
    assert {False} == {predicted for _, predicted in asyncio.run(read("\n\n"))}
