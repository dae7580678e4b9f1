"""Probes are sent for unknown capabilities only, and only a visible effect or a refusal decides."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from conformance.cli.capability_option import parse
from conformance.errors import UsageError
from conformance.plan.capabilities import PLACES, default_capabilities
from conformance.report.outcome import Outcome
from conformance.report.verdict import build_report
from conformance.run.capability_probes import PROBES, select_probes
from conformance.tests.faulty_proxy import Reply
from conformance.tests.scripted import Scripted, json_reply, prepared
from openapi.contract.contract import load

if TYPE_CHECKING:
    from conformance.report.requirement_row import RequirementRow
    from conformance.tests.faulty_proxy import Forward, Sent

CALL = {"id": "a", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Paris"}'}}


class Probed(Scripted):
    """Answers a request with tools with `models`, and all others with `answer`."""

    async def __call__(self, sent: Sent, forward: Forward) -> Reply:
        reply = await super().__call__(sent, forward)
        return reply if "tools" not in sent.json else self.models


def probe_tools(reply: Reply) -> tuple[str, str]:
    """Return the status of the capability `tools` after such an answer, and its source."""
    capabilities = prepared(Probed(models=reply)).declaration
    return capabilities.status_of("tools"), capabilities.source_of("tools")


def message(**fields: Any) -> Reply:
    """Return a plain answer whose message has these fields."""
    choice = {"index": 0, "message": {"role": "assistant", "content": "", **fields}, "finish_reason": "stop"}
    return json_reply({"id": "a", "object": "chat.completion", "choices": [choice]})


def test_a_visible_effect_declares_the_capability() -> None:
    assert probe_tools(message(tool_calls=[CALL])) == ("declared", "a probe")


@pytest.mark.parametrize("status", [400, 404, 422])
def test_a_refusal_denies_the_capability(status: int) -> None:
    assert probe_tools(json_reply({"code": 1}, status)) == ("denied", "a probe")


def judge_refused_tools(dialect: str) -> list[RequirementRow]:
    run = prepared(Probed(models=json_reply({"error": "no tools here"}, 400)), dialect)
    return [
        row for row in build_report(run.plan, (), strict=False, exhausted=None).rows if row.id == "capability.tools"
    ]


def test_a_refusal_of_what_the_document_has_is_a_warning_with_its_beginning() -> None:
    rows = judge_refused_tools("mindie-1.0")
    assert [Outcome.WARN] == [row.outcome for row in rows]
    assert '400: {"error": "no tools here"}' == rows[0].findings[0].finding.got


def test_a_refusal_that_the_document_allows_for_some_models_is_no_warning() -> None:
    assert [Outcome.NOT_APPLICABLE] == [row.outcome for row in judge_refused_tools("mindie-2.3")]


def test_an_answer_that_ends_with_a_call_that_it_lacks_declares_the_capability() -> None:
    answer = json_reply({"choices": [{"index": 0, "message": {"content": ""}, "finish_reason": "tool_calls"}]})
    assert ("declared", "a probe") == probe_tools(answer)


@pytest.mark.parametrize(
    "reply",
    [message(content="Sunny."), json_reply({}, 500), json_reply({}, 429), json_reply({}, 401), Reply(200, (b"x",))],
)
def test_any_other_answer_leaves_the_capability_unknown(reply: Reply) -> None:
    assert probe_tools(reply) == ("unknown", "the dialect")


@pytest.mark.parametrize(
    ("forced", "expected"), [(message(tool_calls=[CALL]), "declared"), (json_reply({"code": 1}, 400), "unknown")]
)
def test_of_a_forced_request_only_the_effect_counts(forced: Reply, expected: str) -> None:
    class Unwilling(Probed):
        async def __call__(self, sent: Sent, forward: Forward) -> Reply:
            reply = await super().__call__(sent, forward)
            return forced if sent.json.get("tool_choice") == "required" else reply

    assert expected == prepared(Unwilling(models=message(content="Sunny."))).declaration.status_of("tools")


def test_capabilities_known_from_dialect_description_or_user_are_not_probed() -> None:
    contract = load("mindie-2.3")
    assert "n" not in select_probes(default_capabilities(contract), contract)
    script = Scripted(description=json_reply({"info": {"x-capabilities": []}}))
    prepared(script)
    asked = Scripted()
    prepared(asked, capabilities=tuple((name, True) for name in contract.capabilities if name not in PLACES))
    assert [1, 1] == [sum(sent.method == "POST" for sent in server.sent) for server in (script, asked)]


def test_every_probe_asks_for_few_tokens() -> None:
    assert [name for name, probe in PROBES.items() if probe.step(name).tokens > 64] == []
    assert all(json.dumps(dict(probe.body)) for probe in PROBES.values())


def test_the_option_accepts_signs() -> None:
    assert parse(["+n,-logprobs", "tools"]) == (("n", True), ("logprobs", False), ("tools", True))


@pytest.mark.parametrize("option", ["", "+", "n,,m", "-n,n"])
def test_the_option_refuses_invalid_values(option: str) -> None:
    with pytest.raises(UsageError):
        parse([option])


@dataclass
class Refusing(Scripted):
    """Refuses every request that has one of these parameters, with its name in the message or without it."""

    parameters: frozenset[str] = frozenset()
    names_them: bool = True

    async def __call__(self, sent: Sent, forward: Forward) -> Reply:
        reply = await super().__call__(sent, forward)
        refused = sorted(self.parameters & set(sent.json or {})) if sent.method == "POST" else []
        message = f"{refused[0] if self.names_them else 'the request'} is not supported" if refused else ""
        return json_reply({"error": message}, 422) if refused else reply


def test_assumed_capabilities_with_a_condition_share_their_probes() -> None:
    server = Scripted()
    capabilities = prepared(server).declaration
    [shared] = [set(sent.json) for sent in server.sent if sent.method == "POST" and "stop" in sent.json]
    assert {"stop_token_ids", "include_stop_str_in_output", "n", "best_of", "logprobs"} <= shared
    assert "use_beam_search" not in shared  # a rule excludes it
    assert capabilities.source_of("stop") == "the dialect"


def test_what_the_document_takes_away_is_denied_if_it_is_refused_by_name() -> None:
    """These are the parameters that MindIE 2.3 does not support with prefill and decode on separate instances."""
    gone = {"stop", "stop_token_ids", "include_stop_str_in_output", "n", "best_of", "use_beam_search", "logprobs"}
    capabilities = prepared(Refusing(parameters=frozenset(gone))).declaration
    assert capabilities.denied == {*gone, "beam_search"} - {"use_beam_search"}
    assert capabilities.source_of("stop") == (
        "its refusal, which the document allows for prefill and decode on separate instances or parsed reasoning"
    )


def test_only_the_refused_capabilities_are_denied() -> None:
    capabilities = prepared(Refusing(parameters=frozenset({"stop"}))).declaration
    assert capabilities.denied == {"stop"}


def test_a_refusal_that_does_not_name_the_parameter_denies_nothing() -> None:
    capabilities = prepared(Refusing(parameters=frozenset({"stop", "n"}), names_them=False)).declaration
    assert capabilities.denied == frozenset()


def test_a_refusal_of_what_the_document_always_has_denies_nothing() -> None:
    """The page of OVMS names no condition under which n may be missing."""
    capabilities = prepared(Refusing(parameters=frozenset({"n", "logprobs"})), "ovms-2024").declaration
    assert capabilities.denied == frozenset()


def test_a_refusal_counts_for_the_further_dialects_too() -> None:
    run = prepared(Refusing(parameters=frozenset({"stop"})), also=("mindie-vllm-1.0", "ovms-2024"))
    assert ["stop" in other.declaration.denied for other in run.also] == [True, False]
