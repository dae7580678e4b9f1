"""Show what a run would judge (`--list`) or send (`--dry-run`) without sending anything."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Final

from rich.table import Table
from rich.text import Text

from conformance.plan.expected_cost import estimate_cost
from conformance.report.writers.terminal_text import sanitize
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from conformance.client.headers import GatewayHeader
    from conformance.plan.plan import Plan
    from conformance.record import BudgetLimits
    from conformance.scenario import Credentials, Step
    from openapi.contract.contract import Contract

LONGEST_BODY: Final = 160
"""Characters of a request body that the preview shows."""
CREDENTIALS: Final[Mapping[Credentials, str]] = {
    "given": "",
    "none": " (no key)",
    "wrong": " (a wrong key)",
    "misplaced": " (the key without its scheme)",
    "lower-case": " (the scheme in lower case)",
    "other-end": " (the key with a different end)",
    "shorter": " (the key without its end)",
    "longer": " (the key with extra characters)",
}


def requirements_table(plan: Plan) -> Table:
    """Return every requirement of a plan with its keyword and its claim, in the order of topics."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    table.add_column("requirement", overflow="fold")
    table.add_column("keyword")
    table.add_column("claim", overflow="fold")
    rows = {assertion.requirement.id: assertion for assertion in reversed(plan.assertions)}
    for row in sorted(rows.values(), key=lambda row: (row.check.topic, row.requirement.id)):
        table.add_row(Text(row.requirement.id), row.requirement.keyword.value, Text(row.summary))
    return table


def requests_table(plan: Plan, contract: Contract, model: str) -> Table:
    """Return every request of a plan: its name, the number of checks, the completion tokens it allows, its content."""
    table = Table(box=None, pad_edge=False, header_style="dim")
    for column in ("request", "checks", "tokens", "content"):
        table.add_column(column, overflow="fold", justify="right" if column in ("checks", "tokens") else "left")
    checks = Counter((assertion.scenario.id, assertion.step.name) for assertion in plan.assertions)
    for scenario in plan.scenarios:
        for step in scenario.steps:
            count, name = str(checks[scenario.id, step.name]), f"{scenario.id}/{step.name}"
            table.add_row(Text(name), count, str(step.tokens or ""), Text(_content(step, contract, model)))
    return table


def headers_line(headers: Iterable[GatewayHeader]) -> Text:
    """Return the headers that are added to every request, with the names alone of secret ones."""
    return Text(f"with every request: {', '.join(header.shown for header in headers)}")


def costs_line(plan: Plan, contract: Contract, budget: BudgetLimits) -> str:
    """Return the usual and the maximum cost of a plan and the limits of its budget, on one line."""
    requirements = len({assertion.requirement.id for assertion in plan.assertions})
    line = (
        f"{contract.name}: {format_quantity(requirements, 'requirement')}, {estimate_cost(plan).describe()}; "
        f"at most {format_quantity(plan.requests, 'request')} and {format_quantity(plan.tokens, 'completion token')}"
    )
    limits = [
        format_quantity(number, unit, units)
        for number, unit, units in (
            (budget.max_requests, "request", "requests"),
            (budget.max_tokens, "token", "tokens"),
            (budget.max_time_s, "second", "seconds"),
            (budget.rate, "request per second", "requests per second"),
        )
        if number is not None
    ]
    return f"{line}; limited to {', '.join(limits)}" if limits else f"{line}; without limits"


def _content(step: Step, contract: Contract, model: str) -> str:
    path = contract.path if step.path is None else contract.models_path if step.path == "models" else step.path
    body = sanitize(step.payload(model).decode(errors="backslashreplace"), LONGEST_BODY)
    line = f"{step.method} {path}{CREDENTIALS[step.credentials]} {body}"
    if step.stop_from:
        line += f" with {format_quantity(step.stop_from.length, 'character')} of {step.stop_from.step} as stop"
    if step.continues:
        line += f" after the messages and the answer of {step.continues}"
    if step.stop_after_events is not None:
        line += f" disconnected after {format_quantity(step.stop_after_events, 'event')}"
    return line.rstrip()
