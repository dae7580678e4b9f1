"""A server that answers every refusal with status 200 violates a MUST of every dialect."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from conformance.proof.fault_host import list_dialects, start_fault_host
from conformance.proof.fault_run import prepare_baseline, run_fault

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conformance.proof.fault_host import RunningFaultHost
    from conformance.scenario import Scenario

FAULT = "status-200"
SHOWN_BY = ("malformed-", "unknown-model", "refused-stream")


def some(scenarios: Sequence[Scenario]) -> frozenset[str]:
    return frozenset(scenario.id for scenario in scenarios if scenario.id.startswith(SHOWN_BY))


async def violated(host: RunningFaultHost, dialect: str) -> set[str]:
    """Return the checks that report the fault as a violation of a MUST."""
    (fault,) = [fault for fault in host.faults if fault.name == FAULT]
    kills = await run_fault(host, await prepare_baseline(host, dialect), fault, some)
    return {kill.check for kill in kills if kill.strength == "M"}


def test_a_refusal_with_status_200_violates_a_must_of_every_dialect() -> None:
    async def run() -> dict[str, bool]:
        expected = {"errors.client-fault-is-4xx", "errors.malformed-json-refused", "errors.unknown-model-refused"}
        return {dialect: expected <= await violated(host, dialect) for dialect in list_dialects()}

    with start_fault_host() as host:
        assert asyncio.run(run()) == dict.fromkeys(list_dialects(), True)
