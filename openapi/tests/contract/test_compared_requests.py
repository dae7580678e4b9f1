"""Rules of the compared interfaces that combine several parameters."""

from __future__ import annotations

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings

from openapi.description.description import describe_oas31
from openapi.tests.contract.compared_dialects import COMPARED, CONTRACTS, VALIDATORS, WEATHER


@pytest.mark.parametrize("dialect", COMPARED)
@pytest.mark.parametrize(
    ("fields", "accepted"),
    [
        ({"stream": True, "stream_options": {"include_usage": True}}, True),
        ({"stream_options": {"include_usage": True}}, False),
        ({"stream": False, "stream_options": {"include_usage": True}}, False),
        ({"stream_options": None}, True),
        ({"top_logprobs": 2}, False),
        ({"top_logprobs": 2, "logprobs": True}, True),
        ({"top_logprobs": 2, "logprobs": False}, False),
        ({"top_logprobs": 0}, True),
    ],
    ids=str,
)
def test_rules_between_two_parameters(dialect: str, fields: dict[str, Any], accepted: bool) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}], **fields}
    assert accepted == (VALIDATORS[dialect].request_problems(body) == ())


@pytest.mark.parametrize(
    ("fields", "accepted"),
    [
        ({"n": 2, "temperature": 0}, False),
        ({"n": 2}, True),
        ({"tool_choice": "auto"}, False),
        ({"tool_choice": "none"}, True),
        ({"tool_choice": "auto", "tools": [WEATHER]}, True),
        ({"logprob_token_ids": [1]}, False),
        ({"logprob_token_ids": []}, True),
        ({"stream_options": {}}, True),
    ],
    ids=str,
)
def test_rules_of_vllm_between_parameters(fields: dict[str, Any], accepted: bool) -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}], **fields}
    assert accepted == (VALIDATORS["vllm"].request_problems(body) == ())


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", COMPARED)
def test_valid_requests_can_be_generated_from_the_description(dialect: str) -> None:
    """Each rule doubles the search space of the generator, which gives up if there are more than a few."""
    description = schemathesis.openapi.from_dict(describe_oas31(CONTRACTS[dialect]))
    generated: list[Any] = []

    @settings(
        max_examples=10,
        database=None,
        deadline=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=description[CONTRACTS[dialect].path]["POST"].as_strategy())
    def collect(case: schemathesis.Case) -> None:
        generated.append(case.body)
        assert VALIDATORS[dialect].request_problems(case.body) == ()

    collect()
    assert len(generated) == 10


def test_audio_output_needs_a_voice() -> None:
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}], "modalities": ["text", "audio"]}
    voice = {"voice": {"id": "voice_1"}, "format": "mp3"}
    assert [problem.keyword for problem in VALIDATORS["openai"].request_problems(body)] == ["rule"]
    assert VALIDATORS["openai"].request_problems({**body, "audio": voice}) == ()
    assert VALIDATORS["openai"].request_problems({**body, "modalities": None}) == ()
