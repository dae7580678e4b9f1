"""Requirements differ between the compared interfaces where their references differ."""

from __future__ import annotations

from openapi.contract.contract import Keyword
from openapi.tests.contract.compared_dialects import COMPARED, CONTRACTS

OF_FEATURES = (
    *("choices.", "logprobs.", "tools.", "structured.", "reasoning.", "effects.", "relations."),
    *("output.", "prompt.", "demands."),  # only vLLM has these
)


def test_requirements_differ_where_the_references_do() -> None:
    requirements = [CONTRACTS[dialect].requirements for dialect in COMPARED]
    openai, vllm = ({key: row for key, row in rows.items() if not key.startswith(OF_FEATURES)} for rows in requirements)
    assert set(openai) - set(vllm) == {
        *("auth.key-demanded", "auth.wrong-key-refused", "auth.refused-before-validation"),
        *("auth.refused-when-streaming", "stream.usage-null-elsewhere", "parameters.required-demanded"),
        *("auth.scheme-in-any-case", "auth.key-not-repeated", "auth.status-is-401", "auth.challenge-given"),
        "auth.answers-not-reused",
        "auth.whole-key-compared",
    }
    assert set(vllm) - set(openai) == {
        *("sampling.eos-ignored", "finish.length-when-cut", "usage.completion-reaches-limit"),
        *("stop.included-on-request", "stop.included-when-streamed-too"),
        *("media.videos-told-apart", "media.video-counted", "media.whole-video-read", "media.video-in-order"),
        *("media.url-videos-told-apart", "media.url-audio-told-apart"),
        *("usage.running-given", "usage.running-leads-to-the-last"),
    }
    assert Keyword.MUST is openai["stream.usage-on-request"].keyword is vllm["stream.usage-on-request"].keyword
