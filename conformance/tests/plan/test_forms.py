"""Every form that the schema of requests allows is sent in a request that must be answered."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from conformance.plan.capabilities import DeclaredCapabilities, default_capabilities
from conformance.plan.scenarios.combinations.conversations import arrange
from conformance.plan.scenarios.combinations.forms import forms
from conformance.plan.scenarios.combinations.forms.merging import merge
from conformance.plan.scenarios.combinations.forms.writer import TOKENS
from conformance.tests.plan.listed_scenarios import list_for
from openapi.contract.contract import Keyword, load, names

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.scenario import Scenario
    from openapi.contract.contract import Contract

DIALECTS = sorted(set(names().values()))
MOST_REQUESTS = 12
PLACELESS = {"media_urls", "media_paths"}


def _every(contract: Contract) -> DeclaredCapabilities:
    return DeclaredCapabilities(frozenset(contract.capabilities), frozenset(), "a test")


def _without_places(contract: Contract) -> DeclaredCapabilities:
    return DeclaredCapabilities(frozenset(contract.capabilities) - PLACELESS, frozenset(), "a test")


DECLARED: dict[str, Callable[[Contract], DeclaredCapabilities]] = {"every": _every, "defaults": default_capabilities}

CALLS = ("anyOf[1]", "anyOf[1].tool_calls", ".contentanyOf[2]")
WITH_CALLS = {
    "mindie-1.0": {"[]oneOf[2]" + form for form in (*CALLS, ".contentanyOf[1]")},
    "mindie-2.3": {"[]oneOf[2]" + form for form in (*CALLS, ".contentanyOf[1]")},
    "mindie-vllm-1.0": {"[]oneOf[2]" + form for form in (*CALLS, ".contentanyOf[1]")},
    "siliconstorm": {"[]oneOf[2]" + form for form in CALLS},
    "openai": {"[]oneOf[3]anyOf[2]", "[]oneOf[3]anyOf[2].function_call"},
    "vllm": {"[]oneOf[3]" + form for form in ("anyOf[1]", "anyOf[1].tool_calls", ".contentanyOf[1]")},
}
"""Messages of the assistant that need calls, by dialect: a server that declares no calls need not accept them."""


def _list(dialect: str, declare: Callable[[Contract], DeclaredCapabilities]) -> tuple[Contract, tuple[Scenario, ...]]:
    contract = load(dialect)
    return list_for(contract, declare(contract))


def _own(scenarios: tuple[Scenario, ...]) -> list[Scenario]:
    return [item for item in scenarios if item.id.startswith(("form-", forms.TOGETHER))]


@pytest.mark.takes_turns
@pytest.mark.parametrize("declared", DECLARED)
@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_form_is_sent_but_calls_to_a_server_without_them(dialect: str, declared: str) -> None:
    contract, scenarios = _list(dialect, DECLARED[declared])
    unreached = {"".join(form) for absent in forms.list_unreached(scenarios, contract).values() for form in absent}
    assert unreached == (WITH_CALLS.get(dialect, set()) if declared == "defaults" else set())


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", DIALECTS)
def test_only_files_at_addresses_are_not_sent_to_a_server_that_cannot_fetch_them(dialect: str) -> None:
    contract, scenarios = _list(dialect, _without_places)
    unreached = forms.list_unreached(scenarios, contract)
    steps = {form[-1] for absent in unreached.values() for form in absent}
    assert all(step in (".type", ".video_url", ".audio_url") or step.startswith(("anyOf", "[]")) for step in steps)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_few_requests_have_all_forms(dialect: str) -> None:
    _, scenarios = _list(dialect, _every)
    sent = [item for item in _own(scenarios) if not item.unless_answered]
    assert len(sent) <= MOST_REQUESTS
    assert max((step.tokens for item in sent for step in item.steps), default=0) <= TOKENS


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_value_of_a_request_with_several_is_sent_alone_if_that_is_refused(dialect: str) -> None:
    _, scenarios = _list(dialect, _every)
    own = {item.id: item for item in _own(scenarios)}
    for pack in own.values():
        if pack.id.startswith(forms.TOGETHER):
            alone = [item for item in own.values() if item.unless_answered == pack.id]
            assert [item.subject for item in alone] == list(pack.also)


def test_a_form_that_another_request_has_is_not_sent_again() -> None:
    contract, scenarios = _list("vllm", _every)
    others = [item for item in scenarios if item not in _own(scenarios)]
    ids = {item.id for item in forms.generate(others, contract)}
    known = next(item for item in _own(scenarios) if item.unless_answered)
    assert ids - {item.id for item in forms.generate([*others, replace(known, subject=None)], contract)} >= {known.id}


def test_forms_that_a_model_may_lack_may_be_refused() -> None:
    _, scenarios = _list("openai", _every)
    levels = {item.id: item.subject.keyword for item in _own(scenarios) if item.subject is not None}
    user = "form-messages-oneOf-2-content-anyOf-1"
    assert {
        name: levels[f"{user}-{name}"]
        for name in ("oneOf-1-image_url-detail-low", "oneOf-2-input_audio-format-mp3", "oneOf-3-file-file_data")
    } == {
        "oneOf-1-image_url-detail-low": Keyword.SHOULD,
        "oneOf-2-input_audio-format-mp3": Keyword.MAY,
        "oneOf-3-file-file_data": Keyword.MAY,
    }
    expected = {item.id: item.steps[0].expect for item in _own(scenarios)}
    assert {name: "either" if levels[name] is Keyword.MAY else "answer" for name in levels} == expected


def test_a_conversation_has_a_result_for_each_call_and_ends_with_a_question() -> None:
    call = {"id": "x", "type": "function", "function": {"name": "get_weather", "arguments": "{}"}}
    given: list[dict[str, Any]] = [
        {"role": "assistant", "tool_calls": [call, call]},
        {"role": "system", "content": "Be brief."},
        {"role": "tool", "tool_call_id": "y", "content": "rain"},
        {"role": "user", "content": "Hello!"},
    ]
    arranged = arrange(given)
    assert [message["role"] for message in arranged] == ["system", "user", "assistant", "tool", "tool", "user"]
    ids = [made["id"] for made in arranged[2]["tool_calls"]]
    assert [message["tool_call_id"] for message in arranged if message["role"] == "tool"] == ids
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    ("one", "other", "merged"),
    [
        ({"a": 1}, {"b": None}, {"a": 1, "b": None}),
        ({"a": 1}, {"a": 2}, None),
        ({"a": None}, {"a": None}, {"a": None}),
        ({"content": [1]}, {"content": "Hello!"}, {"content": [1]}),
        ({"content": "Hello!"}, {"content": "text"}, {"content": "text"}),
        ({"content": [1]}, {"content": "text"}, None),
        ([{"a": 1}], [{"b": 2}, {"a": 2}], [{"a": 1, "b": 2}, {"a": 2}]),
        ("a", "b", None),
        (1, True, None),
    ],
)
def test_values_are_merged_unless_they_contradict_each_other(one: Any, other: Any, merged: Any) -> None:
    assert merge(one, other) == merged
