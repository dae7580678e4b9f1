"""What a document prints passes: its requests are planned and allowed, its responses are reported by no check."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from conformance.plan.capabilities import DeclaredCapabilities
from conformance.plan.scenarios import printed_requests
from conformance.proof.printed_witnesses import judge_witness, list_complaints, list_witnesses
from conformance.run.drafting import draft
from openapi.contract.contract import load
from openapi.contract.page.printed_examples import load_printed_examples

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from openapi.contract.page.printed_examples import PrintedExample

DIALECTS = ("mindie-2.3", "mindie-vllm-1.0", "ovms-2024", "siliconstorm")  # mindie-1.0 prints none
WITNESSES = [(dialect, item.name) for dialect in DIALECTS for item in list_witnesses(load(dialect))]


def find(dialect: str, name: str) -> tuple[PrintedExample, Contract]:
    contract = load(dialect)
    return next(item for item in list_witnesses(contract) if item.name == name), contract


@pytest.mark.parametrize(("dialect", "name"), WITNESSES)
def test_no_check_reports_a_printed_response(dialect: str, name: str) -> None:
    example, contract = find(dialect, name)
    assert list_complaints(example, contract) == ()


@pytest.mark.parametrize(("dialect", "name"), WITNESSES)
def test_a_printed_response_is_judged(dialect: str, name: str) -> None:
    example, contract = find(dialect, name)
    judged = [item for item in judge_witness(example, contract) if item.unobserved is None]
    assert len(judged) > (10 if example.kind == "error" else 30)
    assert [item.unobserved for item in judge_witness(example, contract) if item.unobserved and item.applies] == []


CHANGES: dict[str, dict[str, Any]] = {
    "answer.object-named": {"object": "text_completion"},
    "answer.model-echoed": {"model": "gpt-3.5-turbo-large"},
    "answer.id-given": {"id": ""},
}


@pytest.mark.parametrize("check", CHANGES)
def test_a_changed_response_is_reported(check: str) -> None:
    example, contract = find("mindie-vllm-1.0", "single-turn-answer")
    changed = replace(example, body={**example.body, **CHANGES[check]})
    assert check in " ".join(list_complaints(changed, contract))


@pytest.mark.parametrize("model", ["gpt-3.5-turbo", "gpt-3.5-turbo-0613", "gpt-3.5-turbo-2024-08-06"])
def test_a_dated_version_of_the_requested_model_may_answer(model: str) -> None:
    example, contract = find("mindie-vllm-1.0", "single-turn-answer")
    changed = replace(example, body={**example.body, "model": model})
    assert list_complaints(changed, contract) == ()


@pytest.mark.parametrize("model", ["gpt-3.5", "gpt-3.5-turbo-16k", "gpt-3.5-turbo0613", "gpt-4-0613", "", 7, None])
def test_another_model_is_reported(model: Any) -> None:
    example, contract = find("mindie-vllm-1.0", "single-turn-answer")
    changed = replace(example, body={**example.body, "model": model})
    assert "answer.model-echoed" in " ".join(list_complaints(changed, contract))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_printed_request_is_one_scenario_of_the_plan(dialect: str) -> None:
    contract = load(dialect)
    plan = draft(contract, DeclaredCapabilities(frozenset(contract.capabilities), frozenset(), "a test"))
    sent = {scenario.id: scenario for scenario in plan.scenarios if scenario.id.startswith("printed-")}
    printed = [item for item in load_printed_examples(contract.document.id) if item.kind == "request"]
    assert sorted(sent) == sorted(f"printed-{item.name}" for item in printed if item.unsent is None)
    assert all(item.unsent is None or "image" in item.unsent for item in printed)
    for item in printed:
        if item.unsent is None:
            (step,) = sent[f"printed-{item.name}"].steps
            body = dict(step.body or {})
            limits = body.pop("max_tokens"), item.body.get("max_tokens", printed_requests.MAX_TOKENS)
            assert limits[0] <= min(limits[1], printed_requests.MAX_TOKENS)
            assert body == {key: value for key, value in item.body.items() if key not in ("model", "max_tokens")}
            assert step.expect == "answer"


def test_a_request_that_needs_a_lacking_capability_is_not_sent() -> None:
    contract = load("siliconstorm").without({"tools"})
    assert [scenario.id for scenario in printed_requests.generate(contract)] == [
        "printed-curl",
        "printed-single-turn",
    ]
