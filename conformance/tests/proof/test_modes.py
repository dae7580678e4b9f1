"""The modes of the reference server cover every capability, and few scenarios are enough to test one."""

from __future__ import annotations

from conformance.plan.capabilities import DeclaredCapabilities
from conformance.proof.correct_servers.mode_run import _select, _usual_requests, select_modes
from conformance.proof.fault_host import HostedMode, list_dialects
from conformance.proof.scenario_selection import LONG_REQUESTS, SHORT
from conformance.run.drafting import draft
from openapi.contract.contract import load
from reference_server.faults.modes import list_modes
from reference_server.http.served_contract import served_contract


def hosted() -> list[HostedMode]:
    """Return the modes as the fault host lists them."""
    return [
        HostedMode(dialect, str(row["name"]), bool(row["key"]), bool(row["full_text"]))
        for dialect in list_dialects()
        for row in (mode.as_data() for mode in list_modes(load(dialect)).values())
    ]


def test_every_capability_is_switched_off_alone_once() -> None:
    alone = [mode.name for mode in select_modes(hosted()) if mode.name.startswith("mode:without-")]
    served = {name for dialect in list_dialects() for name in served_contract(load(dialect), bearer=False).capabilities}
    assert sorted(name for name in alone if name != "mode:without-all") == sorted(f"mode:without-{x}" for x in served)
    assert alone.count("mode:without-all") == len(list_dialects())


def test_the_conditions_of_a_document_are_modes_without_a_description() -> None:
    mode = list_modes(load("mindie-2.3"))["mode:with-prefill-and-decode-on-separate-instances"]
    assert {"stop", "stop_token_ids", "n", "best_of", "beam_search", "logprobs"} <= mode.lacking
    assert not mode.described


def test_a_mode_is_tested_with_what_it_changes_and_a_sample() -> None:
    contract = load("ovms-2024")
    model = contract.default_model
    usual = _usual_requests(contract.name, "thorough")
    denied = frozenset({"logprobs"})
    plan = draft(contract, DeclaredCapabilities(frozenset(contract.capabilities) - denied, denied, ""))
    short = {item.id for item in plan.scenarios if len(item.steps) <= SHORT}
    changed = {item.id for item in plan.scenarios if not usual.get(item.id, set()) >= set(item.request_key(model))}
    mode = HostedMode(contract.name, "mode:without-logprobs", key=False, full_text=False)
    part = _select(plan, mode, usual, model)
    chosen = {scenario.id for scenario in part.scenarios}
    assert "logprobs-lacking" in changed
    assert changed & short <= chosen
    assert len(chosen) < len(plan.scenarios) / 4
    long = [len(scenario.steps) for scenario in part.scenarios if len(scenario.steps) > SHORT]
    assert 0 < sum(long) < LONG_REQUESTS + max(long)
    repeating = HostedMode(contract.name, "mode:full-text", key=False, full_text=True)
    streamed = {item.id for item in plan.scenarios if any(step.streams for step in item.steps)}
    assert streamed & short <= {item.id for item in _select(plan, repeating, usual, model).scenarios}
