"""Previews: what would be judged (`--list`) and what would be sent (`--dry-run`), before anything is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text

from conformance.report.writers.terminal import safe

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from conformance.client.headers import Header
    from conformance.plan.plan import Plan
    from conformance.run.run import Budget
    from conformance.scenario import Credentials, Step
    from openapi.contract.contract import Contract

SHOWN = 160  # characters of a body
KEYS: Final[Mapping[Credentials, str]] = {
    "given": "",
    "none": " (no key)",
    "wrong": " (a wrong key)",
    "misplaced": " (a misplaced key)",
    "lower-case": " (behind bearer in small letters)",
    "other-end": " (the key with another end)",
    "shorter": " (the key without its end)",
    "longer": " (the key with more behind it)",
}
WIDE = 200  # columns where the output is no terminal, so that most rows stay on one line


def listing(plan: Plan) -> Table:
    """Every requirement of a plan with its keyword and claim, in the order of judging."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("requirement", overflow="fold")
    table.add_column("keyword")
    table.add_column("claim", overflow="fold")
    rows = {assertion.requirement.id: assertion for assertion in reversed(plan.assertions)}
    for each in sorted(rows.values(), key=lambda row: (row.check.topic, row.requirement.id)):
        table.add_row(Text(each.requirement.id), each.requirement.keyword.value, Text(each.summary))
    return table


def requests(plan: Plan, contract: Contract, model: str) -> Table:
    """Every request of a plan: its name, how many checks judge it, the tokens it may cost, and what is sent."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("request", "checks", "tokens", "sent"):
        table.add_column(column, overflow="fold", justify="right" if column in ("checks", "tokens") else "left")
    for scenario in plan.scenarios:
        for step in scenario.steps:
            judged = sum(assertion.scenario is scenario and assertion.step is step for assertion in plan.assertions)
            name = f"{scenario.id}/{step.name}"
            table.add_row(Text(name), str(judged), str(step.tokens or ""), Text(_sent(step, contract, model)))
    return table


def every(headers: Iterable[Header]) -> Text:
    """What goes out with every request besides, of secret headers the names."""
    return Text(f"with every request: {', '.join(header.shown for header in headers)}")


def ceilings(plan: Plan, contract: Contract, budget: Budget) -> str:
    """What a plan costs at most, inside its budget, in one line."""
    wanted = len({assertion.requirement.id for assertion in plan.assertions})
    line = (
        f"{contract.name}: {wanted} requirement{'s' * (wanted != 1)}, "
        f"at most {plan.requests} requests and {plan.tokens} completion tokens"
    )
    limits = [
        f"{number:,.12g} {unit}"
        for number, unit in (
            (budget.max_requests, "requests"),
            (budget.max_tokens, "tokens"),
            (budget.max_time_s, "seconds"),
            (budget.rate, "requests a second"),
        )
        if number is not None
    ]
    return f"{line}; the budget ends it at {', '.join(limits)}" if limits else f"{line}; without a budget"


def _sent(step: Step, contract: Contract, model: str) -> str:
    path = contract.path if step.path is None else contract.models_path if step.path == "models" else step.path
    body = safe(step.payload(model).decode(errors="backslashreplace"), SHOWN)
    stop = f" with {step.stop_from.length} characters of {step.stop_from.step} as stop" if step.stop_from else ""
    left = "" if step.stop_after_events is None else f" left after {step.stop_after_events} events"
    return f"{step.method} {path}{KEYS[step.credentials]} {body}{stop}{left}".rstrip()
