"""Offline: a recorded run judged again by today's checks. Nothing is sent.

What today's plan sends and the record does not hold is left out and counted: a record cannot break a requirement that
it was never asked about.
"""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from conformance.check import NoOccasion, NotObserved
from conformance.client.secret import marked
from conformance.errors import UsageError
from conformance.exchange import Exchange
from conformance.judge.rounds import pending
from conformance.plan.capabilities import Declaration
from conformance.plan.scenarios.schemathesis_cases import Draw
from conformance.report.results import current, schema, with_others
from conformance.run.run import Made, Record, made
from conformance.run.session import Outcome, Prepared, Wishes, conclude, contract_of, draft
from openapi.address import parse

if TYPE_CHECKING:
    from pathlib import Path

    from conformance.plan.plan import Plan
    from conformance.report.waivers import Waiver
    from conformance.scenario import Scenario, Step

GZIP = b"\x1f\x8b"
MOST_BYTES = 2 * 2**30  # of a file that was packed


@dataclass(frozen=True, slots=True)
class Rejudged:
    """The outcome today, and the scenarios of today's plan that the record does not hold."""

    outcome: Outcome
    unrecorded: tuple[str, ...]


def read(path: Path) -> dict[str, Any]:
    """The content of a results file, plain or gzipped; an older version's is told as today's version would tell it.

    Raises UsageError for anything else.
    """
    try:
        data = path.read_bytes()
        if data.startswith(GZIP):
            with gzip.open(path) as packed:
                data = packed.read(MOST_BYTES)
        content = json.loads(data)
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror or error}") from error
    except (ValueError, EOFError, RecursionError) as error:
        raise UsageError(f"{path} is no results file of chatproof: {str(error)[:200]}") from error
    first = next(iter(jsonschema_rs.validator_for(schema()).iter_errors(content)), None)
    if first is not None:
        place = "/".join(map(str, first.instance_path)) or "the top"
        raise UsageError(f"{path} is no results file of chatproof: {place}: {first.message[:200]}")
    return current(content)


def judge_again(
    results: dict[str, Any],
    *,
    strict: bool | None = None,
    only: tuple[str, ...] = (),
    topics: tuple[str, ...] = (),
    waivers: tuple[Waiver, ...] = (),
) -> Rejudged:
    """Today's word on a recorded run, by the dialects that it was judged by. None: as strict as it was.

    Raises HarnessError for exchanges that are none, UsageError for a dialect, pattern or topic that is unknown.
    """
    run = results["run"]
    exchanges = {each.id: each for each in map(Exchange.from_dict, results["exchanges"])}
    wishes = Wishes(
        url=results["target"]["url"],
        dialect=results["target"]["dialect"],
        model=results["target"]["model"],
        only=only or tuple(run.get("only", ())),
        topics=topics or tuple(run.get("topics", ())),
        draw=Draw(**run.get("draw", {})),
        strict=run["strict"] if strict is None else strict,
        verify=results["target"]["tls_verified"],
        waivers=waivers,
    )
    first, record, unrecorded = _one(results, wishes, exchanges, "", {})
    record = replace(
        record,
        exhausted=run["exhausted"],
        requests=run["requests"] - sum(other["requests"] for other in results.get("also", ())),
        tokens=run.get("tokens", 0),
        retries=run.get("retries", 0),
        waited_s=run.get("waited_s", 0.0),
    )
    outcome = conclude(first, record, run["started_at"], run["duration_s"])
    others = []
    before = made(first.plan, record, first.model)
    for other in results.get("also", ()):
        name = other["target"]["dialect"]
        prepared, more, lost = _one(other, wishes, exchanges, f"{name}:", before)
        more.requests, more.exhausted = other["requests"], run["exhausted"]
        others.append(conclude(prepared, more, run["started_at"], run["duration_s"]))
        unrecorded = (*unrecorded, *(f"{name}:{each}" for each in lost))
    whole = with_others(outcome.results, [each.results for each in others]) if others else outcome.results
    return Rejudged(replace(outcome, also=tuple(others), results=whole), unrecorded)


def _one(
    judged: dict[str, Any], wishes: Wishes, exchanges: dict[str, Exchange], prefix: str, before: Made
) -> tuple[Prepared, Record, tuple[str, ...]]:
    """Today's plan for one dialect of the record, what of it was recorded, and the scenarios that were not, or not
    whole.
    """
    target = judged["target"]
    contract = contract_of(target["dialect"])
    declaration = _declaration(target)
    plan = draft(contract, declaration, wishes.only, wishes.topics, wishes.draw)
    record = Record(missing=_missing(judged))
    for scenario in plan.scenarios:
        known = before.get(scenario.sends(target["model"]), {})
        for place, step in enumerate(scenario.steps):
            exchange = exchanges.get(f"{prefix}{scenario.id}/{step.name}") or known.get(place)
            if exchange is not None and _same(exchange, step, target["model"]):
                record.exchanges[scenario.id, step.name] = exchange
    known_steps = {*record.exchanges, *record.missing}
    lost = tuple(scenario.id for scenario in plan.scenarios if _lost(plan, scenario, record))
    address = parse(target["url"], contract.path, contract.models_path)
    prepared = Prepared(
        replace(wishes, dialect=contract.name),
        contract,
        address,
        target["model"],
        declaration,
        _left(plan, known_steps),
    )
    return prepared, record, lost


def _lost(plan: Plan, scenario: Scenario, record: Record) -> bool:
    """Whether the record lacks a step that today's run would have sent: of a later round, one that was still needed."""
    kept = {name: each for (identity, name), each in record.exchanges.items() if identity == scenario.id}
    absent = [
        step for step in scenario.steps if step.name not in kept and (scenario.id, step.name) not in record.missing
    ]
    if any(step.round <= 1 for step in absent):
        return True
    checks = {
        assertion.check.id: assertion.check for assertion in plan.assertions if assertion.scenario.id == scenario.id
    }
    for number in sorted({step.round for step in absent}):
        earlier = {step.name: kept[step.name] for step in scenario.steps if step.round < number and step.name in kept}
        wanted = pending(checks.values(), scenario, earlier)
        if any(step.round == number and step.part in wanted for step in absent):
            return True
    return False


def _left(plan: Plan, known: set[tuple[str, str]]) -> Plan:
    """The plan without the assertions that need what was not recorded."""
    assertions = tuple(
        assertion
        for assertion in plan.assertions
        if all(
            (assertion.scenario.id, name) in known
            for name in assertion.check.steps(assertion.scenario, assertion.step, ())
        )
    )
    used = {assertion.scenario.id for assertion in assertions}
    scenarios = tuple(scenario for scenario in plan.scenarios if scenario.id in used)
    return replace(plan, scenarios=scenarios, assertions=assertions, uncovered=())


def _missing(judged: dict[str, Any]) -> dict[tuple[str, str], NotObserved]:
    """What was planned then and not sent."""
    return {
        (each["scenario"], each["step"]): (NotObserved if each["applies"] else NoOccasion)(each["reason"])
        for each in judged.get("missing", ())
    }


def _same(exchange: Exchange, step: Step, model: str) -> bool:
    """Whether the record answers what the step asks today. Where a secret stood in the body nobody can tell."""
    sent = exchange.request
    if step.stop_from is not None or marked(sent.body):
        return sent.method == step.method
    return sent.method == step.method and sent.body == step.payload(model)


def _declaration(target: dict[str, Any]) -> Declaration:
    """Who said what of the server's capabilities then; older files know only what it has."""
    origins = target.get("capability_origins")
    if origins is None:
        return Declaration(frozenset(target["capabilities"]), frozenset(), target["capabilities_from"])
    words = {word: frozenset(name for name, each in origins.items() if each["word"] == word) for word in _WORDS}
    settled = {name: each["from"] for name, each in origins.items() if each["from"] != target["capabilities_from"]}
    return Declaration(words["declared"], words["denied"], target["capabilities_from"], settled)


_WORDS = ("declared", "denied")
