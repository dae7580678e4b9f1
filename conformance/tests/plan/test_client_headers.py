"""Header fields of clients are sent in few requests, and alone if one of these is refused."""

from __future__ import annotations

import pytest

from conformance.plan.scenarios import client_headers
from openapi.contract.contract import load, names

DIALECTS = sorted(set(names().values()))
MOST_REQUESTS = 4


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_group_is_sent_with_others_and_alone_if_they_are_refused(dialect: str) -> None:
    scenarios = {item.id: item for item in client_headers.generate(load(dialect))}
    together = [item for item in scenarios.values() if not item.unless_answered]
    assert len(together) <= MOST_REQUESTS
    for name, group in client_headers.GROUPS.items():
        alone = scenarios[f"{client_headers.ALONE}-{name}"]
        shared = scenarios[alone.unless_answered].steps[0].headers
        assert dict(alone.steps[0].headers) == dict(group)
        assert {field: shared[field] for field in group} == dict(group)


def test_streams_and_plain_answers_are_asked_for_with_them() -> None:
    streams = [item.steps[0].streams for item in client_headers.generate(load("vllm")) if not item.unless_answered]
    assert streams == [False, False, True, True]


def test_a_long_token_and_many_fields_are_among_them() -> None:
    groups = client_headers.GROUPS
    assert 2048 < len(groups["long-token"]["X-Id-Token"]) < 4096
    assert len(groups["many"]) == client_headers.MANY
