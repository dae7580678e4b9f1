"""Probes: only for what nobody spoke of, and only a visible effect or a plain refusal settles anything."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from conformance.cli.capability_option import parse
from conformance.errors import UsageError
from conformance.plan.capabilities import default_capabilities
from conformance.run.capability_probes import PROBES, select_probes
from conformance.tests.faulty_proxy import Reply
from conformance.tests.scripted import Scripted, prepared, saying
from openapi.contract.contract import load

if TYPE_CHECKING:
    from conformance.tests.faulty_proxy import Forward, Sent

CALL = {"id": "a", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}


class Probed(Scripted):
    """Answers a request for tools in one way and all others in another."""

    async def __call__(self, sent: Sent, forward: Forward) -> Reply:
        found = await super().__call__(sent, forward)
        return found if "tools" not in sent.json else self.models


def of(reply: Reply) -> tuple[str, str]:
    """What is known of tools after such an answer, and who said so."""
    found = prepared(Probed(models=reply)).declaration
    return found.status_of("tools"), found.source_of("tools")


def message(**members: Any) -> Reply:
    """A plain answer whose message has these members."""
    choice = {"index": 0, "message": {"role": "assistant", "content": "", **members}, "finish_reason": "stop"}
    return saying({"id": "a", "object": "chat.completion", "choices": [choice]})


def test_an_effect_that_is_seen_declares_the_capability() -> None:
    assert of(message(tool_calls=[CALL])) == ("declared", "a probe")


@pytest.mark.parametrize("status", [400, 404, 422])
def test_a_refusal_denies_it(status: int) -> None:
    assert of(saying({"code": 1}, status)) == ("denied", "a probe")


@pytest.mark.parametrize(
    "reply", [message(content="Sunny."), saying({}, 500), saying({}, 429), saying({}, 401), Reply(200, (b"x",))]
)
def test_anything_else_settles_nothing(reply: Reply) -> None:
    assert of(reply) == ("unknown", "the dialect")


@pytest.mark.parametrize(
    ("insisted", "expected"), [(message(tool_calls=[CALL]), "declared"), (saying({"code": 1}, 400), "unknown")]
)
def test_where_a_model_may_not_want_to_only_the_effect_of_insisting_counts(insisted: Reply, expected: str) -> None:
    class Unwilling(Probed):
        async def __call__(self, sent: Sent, forward: Forward) -> Reply:
            found = await super().__call__(sent, forward)
            return insisted if sent.json.get("tool_choice") == "required" else found

    assert expected == prepared(Unwilling(models=message(content="Sunny."))).declaration.status_of("tools")


def test_what_the_dialect_the_server_or_the_user_speaks_of_is_not_probed() -> None:
    contract = load("mindie-2.3")
    assert "n" not in select_probes(default_capabilities(contract), contract)
    script = Scripted(description=saying({"info": {"x-capabilities": []}}))
    prepared(script)
    asked = Scripted()
    prepared(asked, capabilities=(("tools", True), ("media", False), ("thinking", False)))
    assert [1, 1] == [len([sent for sent in each.sent if sent.method == "POST"]) for each in (script, asked)]


def test_every_probe_is_small() -> None:
    assert [name for name, probe in PROBES.items() if probe.step(name).tokens > 64] == []
    assert all(json.dumps(dict(probe.body)) for probe in PROBES.values())


def test_the_option_reads_signs() -> None:
    assert parse(["+n,-logprobs", "tools"]) == (("n", True), ("logprobs", False), ("tools", True))


@pytest.mark.parametrize("option", ["", "+", "n,,m", "-n,n"])
def test_the_option_refuses_what_says_nothing(option: str) -> None:
    with pytest.raises(UsageError):
        parse([option])
