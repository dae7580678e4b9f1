"""Judge whether the server still answered good requests, and name the exchanges that it is not known to have survived.

A run sends a good request now and then, the canary (`conformance.run.failures.canary`), and records it in a scenario of
its own. A refusal counts only if a good request that was sent later was answered: a server whose engine has died may
still refuse every request with 400. If the canary is not answered, the run ends. The exchanges since the last answer
are then listed as missing, with the reason `LOST`, and the finding names them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from conformance.judge.acceptance import is_completion
from conformance.plan.assertion import Assertion
from conformance.scenario import Scenario, Step

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.check import Check, NotObserved
    from conformance.exchange import Exchange
    from openapi.contract.contract import Contract

CANARY: Final = "canary"
"""The id of the scenario in which good requests are recorded; its steps are numbered."""
JUDGED_BY: Final = "errors.server-goes-on"
"""The check that judges the canary, and whose requirement a server breaks that dies."""
LOST: Final = "the server stopped answering: no good request was answered after this one"
"""Why an exchange shows nothing about a server that died."""


def list_canary_assertions(
    recorded: Mapping[tuple[str, str], Exchange], contract: Contract, checks: Mapping[str, Check]
) -> Iterator[Assertion]:
    """Yield an assertion for each canary of a run that was not answered."""
    row, check = contract.requirements.get(JUDGED_BY), checks[JUDGED_BY]
    failed = [key[1] for key, exchange in recorded.items() if key[0] == CANARY and not is_completion(exchange)]
    scenario = Scenario(CANARY, "good requests between the others", tuple(map(Step, failed)))
    if row is not None:
        for step in scenario.steps:
            yield Assertion(check, scenario, step, row, check.claim)


def list_lost(
    recorded: Mapping[tuple[str, str], Exchange], missing: Mapping[tuple[str, str], NotObserved]
) -> tuple[str, ...]:
    """Return the ids of the exchanges after which no good request was answered, in the order in which they began."""
    lost = [recorded[key] for key, reason in missing.items() if key in recorded and str(reason) == LOST]
    return tuple(exchange.id for exchange in sorted(lost, key=lambda exchange: exchange.started_at))


def explain_unsent(exhausted: str | None) -> str:
    """Return why a request was not sent in a run that ended early."""
    return f"the run ended early ({exhausted})"
