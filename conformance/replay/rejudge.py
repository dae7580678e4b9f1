"""Judge a recorded run again with today's checks, without sending anything.

Scenarios of today's plan that the record does not contain are left out and listed, because a recorded run cannot
violate a requirement that it did not exercise.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from conformance.check import NotExercised, NotObserved
from conformance.client.secret import is_redacted
from conformance.errors import UsageError
from conformance.exchange import Exchange
from conformance.judge.evidence.liveness import CANARY
from conformance.judge.evidence.load_failures import LOAD_FAILURES
from conformance.plan.capabilities import DeclaredCapabilities
from conformance.plan.scenarios.schemathesis_cases import Draw
from conformance.plan.selection import narrow_scenario
from conformance.record import BudgetLimits, Record
from conformance.report.results import add_dialects
from conformance.run.drafting import draft
from conformance.run.media.media_places import is_payload
from conformance.run.saved_requests import Trials, index_exchanges
from conformance.run.session.conclusion import RunOutcome, conclude, limit_judging
from conformance.run.session.options import RunOptions
from conformance.run.session.preparation import PreparedRun
from conformance.run.session.target import load_contract
from openapi.address import parse
from openapi.contract.resolution import is_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Set

    from conformance.plan.assertion import Assertion
    from conformance.plan.plan import Plan
    from conformance.report.waivers import Waiver
    from conformance.run.saved_requests import ReusableExchanges
    from conformance.scenario import Scenario, Step
    from openapi.contract.contract import Contract

STATUSES: Final = ("declared", "denied")
NO_LIMITS: Final = BudgetLimits()


@dataclass(frozen=True, slots=True)
class RebuiltRun:
    """Today's plan for one dialect, its record, and what is not part of the record.

    unrecorded: the scenarios that a run with the same options sends today and that are not completely recorded.
    not_sent: the selected requirements for which the recorded run sent no request, or too few.
    """

    prepared: PreparedRun
    record: Record
    unrecorded: tuple[str, ...]
    not_sent: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RejudgedRun:
    """The outcome by today's checks, and what is not part of the record, as in `RebuiltRun`."""

    outcome: RunOutcome
    unrecorded: tuple[str, ...]
    not_sent: tuple[str, ...]


def judge_again(
    results: dict[str, Any],
    *,
    strict: bool | None = None,
    only: tuple[str, ...] = (),
    topics: tuple[str, ...] = (),
    waivers: tuple[Waiver, ...] = (),
    limits: BudgetLimits = NO_LIMITS,
    started_s: float | None = None,
    own: tuple[Contract, ...] = (),
) -> RejudgedRun:
    """Judge a recorded run by the dialects of that run; `strict` defaults to the setting of that run.

    limits, started_s: the time limit, and when the command began on the monotonic clock.
    own: the contracts of dialects that are not built in, which a record names by their ids only: the file of a
        record must not decide which code runs.

    Raise HarnessError for an invalid exchange, and UsageError for an unknown dialect, pattern or topic.
    """
    first, *others = rebuild(results, strict=strict, only=only, topics=topics, waivers=waivers, own=own)
    started_at, duration_s = results["run"]["started_at"], results["run"]["duration_s"]
    started_s = time.monotonic() if started_s is None else started_s
    with limit_judging(replace(first.prepared.options, budget=limits, started_s=started_s)) as limit:
        outcome, *also = (conclude(run.prepared, run.record, started_at, duration_s, limit) for run in (first, *others))
    combined = add_dialects(outcome.results, [other.results for other in also]) if also else outcome.results
    unrecorded, not_sent = list(first.unrecorded), list(first.not_sent)
    for run in others:
        unrecorded += [f"{run.prepared.contract.name}:{scenario}" for scenario in run.unrecorded]
        not_sent += [f"{run.prepared.contract.name}:{requirement}" for requirement in run.not_sent]
    return RejudgedRun(replace(outcome, also=tuple(also), results=combined), tuple(unrecorded), tuple(not_sent))


def rebuild(
    results: dict[str, Any],
    *,
    strict: bool | None = None,
    only: tuple[str, ...] = (),
    topics: tuple[str, ...] = (),
    waivers: tuple[Waiver, ...] = (),
    own: tuple[Contract, ...] = (),
) -> tuple[RebuiltRun, ...]:
    """Return the run of each dialect of a record with today's plan; the arguments are those of `judge_again`."""
    run = results["run"]
    sent_for = tuple(run.get("only", ())), tuple(run.get("topics", ()))
    contracts = {contract.name: contract for contract in own}
    recorded = {judged["target"]["dialect"] for judged in (results, *results.get("also", ()))}
    for name in sorted(set(contracts) - recorded):
        raise UsageError(f"--dialect: the run was not judged by {name}, but by {', '.join(sorted(recorded))}")
    contracts |= {name: _load_recorded(name) for name in sorted(recorded - set(contracts))}
    exchanges = {exchange.id: exchange for exchange in map(Exchange.from_dict, results["exchanges"])}
    options = RunOptions(
        url=results["target"]["url"],
        dialect=contracts[results["target"]["dialect"]].location,
        model=results["target"]["model"],
        only=only or (() if topics else sent_for[0]),
        topics=topics or (() if only else sent_for[1]),
        draw=Draw(**run.get("draw", {})),
        depth=run.get("depth", "thorough"),
        strict=run["strict"] if strict is None else strict,
        verify=results["target"]["tls_verified"],
        waivers=waivers,
        key_variable=results["target"].get("key_variable"),
        annotate=run.get("annotate"),
    )
    first = _rebuild(results, contracts[results["target"]["dialect"]], options, exchanges, "", {}, sent_for)
    record = replace(
        first.record,
        exhausted=run["exhausted"],
        requests=run["requests"] - sum(other["requests"] for other in results.get("also", ())),
        tokens=run.get("tokens", 0),
        retries=run.get("retries", 0),
        waited_s=run.get("waited_s", 0.0),
    )
    rebuilt = [replace(first, record=record)]
    reusable = index_exchanges(first.prepared.plan, record, first.prepared.model)
    for other in results.get("also", ()):
        name = other["target"]["dialect"]
        rebuilt.append(_rebuild(other, contracts[name], options, exchanges, f"{name}:", reusable, sent_for))
        rebuilt[-1].record.requests, rebuilt[-1].record.exhausted = other["requests"], run["exhausted"]
    return tuple(rebuilt)


def _load_recorded(name: str) -> Contract:
    """Return the contract of a recorded dialect that is built in or installed. A record never names a path."""
    try:
        if is_path(name):
            raise UsageError(f"invalid dialect {name!r}")
        return load_contract(name)
    except UsageError as error:
        raise UsageError(
            f"the run was judged by the dialect {name!r}, which is not part of chatproof: add --dialect with the path "
            f"of its file ({error})"
        ) from error


def _rebuild(
    judged: dict[str, Any],
    contract: Contract,
    options: RunOptions,
    exchanges: dict[str, Exchange],
    prefix: str,
    reusable: ReusableExchanges,
    sent_for: tuple[tuple[str, ...], tuple[str, ...]],
) -> RebuiltRun:
    """Return the run of one dialect. sent_for: the patterns and topics that selected what the recorded run sent."""
    target = judged["target"]
    declaration = _declaration(target)
    selected = contract, declaration, options.only, options.topics, options.draw
    needed = draft(contract, declaration, *sent_for, options.draw, options.depth)
    # Nothing is sent, so every exchange of the record is judged, whatever few requests the selection needs.
    plan = draft(*selected) if options.only or options.topics else needed
    judged_scenarios = {scenario.id for scenario in plan.scenarios}
    record = Record(missing=_missing(judged))
    for scenario in (*needed.scenarios, *plan.scenarios):
        reused = reusable.get(scenario.request_key(target["model"]), {})
        for position, step in enumerate(scenario.steps):
            exchange = exchanges.get(f"{prefix}{scenario.id}/{step.name}") or reused.get(position)
            if exchange is not None and _is_same_request(exchange, step, target["model"]):
                record.exchanges[scenario.id, step.name] = exchange
    for unplanned in (CANARY, LOAD_FAILURES):
        found = (exchange for identity, exchange in exchanges.items() if identity.startswith(f"{prefix}{unplanned}/"))
        record.exchanges.update(((unplanned, exchange.step), exchange) for exchange in found)
    known_steps, trials = {*record.exchanges, *record.missing}, Trials(needed)
    unrecorded = tuple(
        scenario.id
        for scenario in needed.scenarios
        if scenario.id in judged_scenarios and _is_incomplete(scenario, known_steps, record, trials)
    )
    address = parse(target["url"], contract.path, contract.models_path)
    narrowed = _narrow(plan, known_steps)
    prepared = PreparedRun(
        replace(options, dialect=contract.location), contract, address, target["model"], declaration, narrowed
    )
    shown = {assertion.requirement.id for assertion in narrowed.assertions}
    asked = dict.fromkeys(assertion.requirement.id for assertion in plan.assertions)
    return RebuiltRun(prepared, record, unrecorded, tuple(name for name in asked if name not in shown))


def _is_incomplete(scenario: Scenario, known: Set[tuple[str, str]], record: Record, trials: Trials) -> bool:
    """Return whether the record lacks a step that a run would have sent.

    Steps of later rounds count only if an undecided trial still needs them.
    """
    absent = [step for step in scenario.steps if (scenario.id, step.name) not in known]
    if any(step.round <= 1 for step in absent):
        return True
    for number in sorted({step.round for step in absent}):
        keys = [(scenario.id, step.name) for step in scenario.steps if step.round < number]
        earlier = {key: record.exchanges[key] for key in keys if key in record.exchanges}
        if trials.select_needed(scenario, [step for step in absent if step.round == number], earlier):
            return True
    return False


def _narrow(plan: Plan, known: set[tuple[str, str]]) -> Plan:
    """Return the plan without the assertions that need a step which was not recorded."""
    assertions = tuple(
        assertion
        for assertion in plan.assertions
        if all((assertion.scenario.id, name) in known for name in _list_needed(assertion))
    )
    used = {assertion.scenario.id for assertion in assertions}
    scenarios = tuple(narrow_scenario(scenario, known) for scenario in plan.scenarios if scenario.id in used)
    partial = plan.partial or len(assertions) < len(plan.assertions)
    return replace(plan, scenarios=scenarios, assertions=assertions, partial=partial)


def _list_needed(assertion: Assertion) -> Iterator[str]:
    """Yield the names of the steps that a run always sends for an assertion."""
    if not assertion.check.whole:
        yield from assertion.check.steps(assertion.scenario, assertion.step, ())
        return
    yield from (step.name for step in assertion.scenario.steps if step.round <= 1)


def _missing(judged: dict[str, Any]) -> dict[tuple[str, str], NotObserved]:
    """Return the steps that were planned and not sent in the recorded run, with the reasons."""
    return {
        (step["scenario"], step["step"]): (NotObserved if step["applies"] else NotExercised)(step["reason"])
        for step in judged.get("missing", ())
    }


def _is_same_request(exchange: Exchange, step: Step, model: str) -> bool:
    """Return whether the recorded request is the one that the step sends today, wherever its media were.

    A body that depends on an earlier answer, or from which a secret was redacted, cannot be compared.
    """
    sent = exchange.request
    if step.source is not None or is_redacted(sent.body):
        return sent.method == step.method
    return sent.method == step.method and is_payload(sent.body, step.payload(model))


def _declaration(target: dict[str, Any]) -> DeclaredCapabilities:
    """Return the capabilities of the recorded run with their origins; older files list only the declared ones."""
    origins = target.get("capability_origins")
    if origins is None:
        return DeclaredCapabilities(frozenset(target["capabilities"]), frozenset(), target["capabilities_from"])
    declared, denied = (
        frozenset(name for name, origin in origins.items() if origin["status"] == status) for status in STATUSES
    )
    general = target["capabilities_from"]
    specific = {name: origin["from"] for name, origin in origins.items() if origin["from"] != general}
    return DeclaredCapabilities(declared, denied, general, specific)
