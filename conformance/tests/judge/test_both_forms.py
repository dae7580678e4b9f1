"""Test that rules about answers are judged in plain answers and in streams, and for each documented field."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from conformance.judge.schema_fields import excluded_fields, usual_fields
from conformance.proof.editing.answers import edit_either
from conformance.proof.editing.streams import FIRST, edit_choices, edit_deltas
from conformance.report.outcome import Outcome
from openapi.contract.contract import load
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.exchange import Exchange
    from conformance.tests.conftest import Good

GOODS = ["mindie-2.3", "mindie-vllm-1.0", "siliconstorm", "ovms-2024"]
FIELDS = ("prefill_time", "decode_time_arr", "batch_size", "queue_wait_time", "prompt_tokens_details")


def outcomes(good: Good, change: Callable[[Exchange], Exchange], *checks: str) -> dict[str, Outcome]:
    """Return the outcomes of requirements after all complete answers of a third of a run are changed."""
    good = good.part
    wanted = [assertion for assertion in good.plan.assertions if assertion.check.id in checks]
    answers = {key: exchange for key, exchange in good.exchanges.items() if exchange.succeeded and exchange.choices}
    changed = {key: change(exchange) for key, exchange in answers.items()}
    rows = good.outcomes(good.judge(changed, wanted))
    return {identity: outcome for identity, outcome in rows.items() if identity in checks}


def with_reason(found: str, other: str) -> Callable[[Exchange], Exchange]:
    """Return a change of one finish reason of streams into another."""

    def edit(choice: dict[str, Any]) -> None:
        if choice.get("finish_reason") == found:
            choice["finish_reason"] = other

    return lambda exchange: edit_choices(exchange, edit) if exchange.is_stream else exchange


def test_a_cut_stream_that_ends_with_stop_fails(good: Good) -> None:
    checks = ("finish.length-when-cut", "finish.length-when-stream-cut")
    assert set(outcomes(good, with_reason("length", "stop"), *checks).values()) == {Outcome.FAIL}


def test_a_stopped_stream_that_ends_with_length_fails(good: Good) -> None:
    check = "finish.stop-when-stream-stopped"
    assert outcomes(good, with_reason("stop", "length"), check) == {check: Outcome.FAIL}


def test_milliseconds_in_created_fail(good: Good) -> None:
    def edit(holder: dict[str, Any]) -> None:
        if "created" in holder:
            holder["created"] = int(holder["created"]) * 1000

    check = "answer.created-in-seconds"
    assert outcomes(good, lambda exchange: edit_either(exchange, edit), check) == {check: Outcome.FAIL}


@pytest.mark.takes_turns
@pytest.mark.parametrize("name", FIELDS)
def test_a_printed_field_that_is_missing_is_a_warning(good: Good, name: str) -> None:
    check = "answer.documented-fields-given"
    if check not in good.contract.requirements:
        pytest.skip(f"{good.contract.name} prints no such field")

    def edit(holder: dict[str, Any]) -> None:
        holder.pop(name, None)
        if isinstance(holder.get("usage"), dict):
            holder["usage"].pop(name, None)

    printed = any(
        schema.get("properties", {}).get(name, {}).get("x-presence") == "usually"
        for schema in good.contract.schemas.values()
    )
    expected = Outcome.WARN if printed else Outcome.PASS
    assert outcomes(good, lambda exchange: edit_either(exchange, edit), check) == {check: expected}


@pytest.mark.parametrize("times", [0, 7])
def test_measurements_that_do_not_belong_to_tokens_are_a_warning(good: Good, times: int) -> None:
    check = "answer.measurements-per-token"
    if check not in good.contract.requirements:
        pytest.skip(f"{good.contract.name} has no measurements")

    def edit(holder: dict[str, Any]) -> None:
        if isinstance(holder.get("decode_time_arr"), list):
            holder["decode_time_arr"] *= times

    assert outcomes(good, lambda exchange: edit_either(exchange, edit), check) == {check: Outcome.WARN}


def test_null_counts_as_absent() -> None:
    outline = Validator(load("mindie-2.3")).outline("ChatCompletion")
    assert usual_fields(outline, {"prefill_time": None, "decode_time_arr": [1]}) == {
        "prefill_time": False,
        "decode_time_arr": True,
    }


def test_fields_that_a_document_excludes_are_found_in_every_object() -> None:
    outline = Validator(load("ovms-2024")).outline("ChatCompletion")
    message: dict[str, Any] = {"tool_calls": [{}], "function_call": []}
    answer = {"id": "x", "system_fingerprint": None, "choices": [{"message": message}]}
    assert excluded_fields(outline, answer) == ["choices[].message.tool_calls", "id"]


@pytest.mark.parametrize(("addition", "is_reported"), [("\n\n\n\n", False), ("and 13 and 14 and 15, ", True)])
def test_white_space_around_an_answer_does_not_show_that_a_client_had_left(
    read_good: Callable[[str], Good], addition: str, *, is_reported: bool
) -> None:
    good = read_good("mindie-2.3")
    key = ("disconnect", "streamed-after")

    def extend(delta: dict[str, Any]) -> None:
        delta["content"] = f"{addition}{delta.get('content') or ''}"

    judgements = good.judge(
        {key: edit_deltas(good.exchanges[key], extend, FIRST)}, good.of("disconnect.answer-stays-whole")
    )
    assert is_reported == any(judgement.findings for judgement in judgements)
