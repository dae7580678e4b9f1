"""Session: one whole judgement of one server, from its address to a report. Both faces, the command and the
pytest plugin, go through here.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from conformance.check import gather
from conformance.client.client import Client
from conformance.errors import UsageError
from conformance.judge import schemathesis_oracle as oracle
from conformance.judge.judgement import Judgement, judge
from conformance.plan import plan as planning
from conformance.plan.capabilities import Declaration, assumed, narrowed_by, told
from conformance.plan.scenarios import scenarios
from conformance.plan.scenarios.schemathesis_cases import NOTHING, Draw, draw
from conformance.report import verdict
from conformance.report.results import RunFacts, build, with_others
from conformance.run.preflight import Preflight
from conformance.run.run import Budget, Record, Run, made
from openapi.address import AddressError, parse
from openapi.contract.capability import Capability
from openapi.contract.contract import load, names
from openapi.description.validation import Validator
from openapi.did_you_mean import meant

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Collection
    from typing import Any

    from conformance.client.headers import Header
    from conformance.client.secret import Secret
    from conformance.plan.plan import Plan
    from conformance.report.verdict import Report
    from conformance.report.waivers import Waiver
    from openapi.address import Target
    from openapi.contract.contract import Contract


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the user asked for. `capabilities` are (name, wanted) pairs that overrule what the server declares."""

    url: str
    dialect: str
    model: str | None = None
    only: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    draw: Draw = NOTHING
    capabilities: tuple[tuple[str, bool], ...] = ()
    strict: bool = False
    budget: Budget = field(default_factory=Budget)
    verify: bool | ssl.SSLContext = True
    also: tuple[str, ...] = ()  # further dialects to judge the same server by
    waivers: tuple[Waiver, ...] = ()
    wait_s: float = 0.0  # for a server that is still starting
    headers: tuple[Header, ...] = ()  # for the gateway before it


@dataclass(frozen=True, slots=True, repr=False)  # asyncio.run writes out what a task returns: 228 MB
class Prepared:
    """Everything known before the plan is sent. `also`: the same for each further dialect."""

    wishes: Wishes
    contract: Contract
    target: Target
    model: str
    declaration: Declaration
    plan: Plan
    also: tuple[Prepared, ...] = ()

    @property
    def requests(self) -> int:
        """The most requests that all plans send, those that agree only once; rounds that are decided send fewer."""
        sent = {scenario.sends(self.model): len(scenario.steps) for scenario in self.plan.scenarios}
        own = self.plan.requests
        return own + sum(
            len(scenario.steps)
            for other in self.also
            for scenario in other.plan.scenarios
            if scenario.sends(self.model) not in sent
        )


@dataclass(frozen=True, slots=True, repr=False)  # asyncio.run writes out what a task returns: 228 MB
class Outcome:
    """Everything known after it."""

    prepared: Prepared
    record: Record
    judgements: tuple[Judgement, ...]
    report: Report
    results: dict[str, Any]
    also: tuple[Outcome, ...] = ()


def contract_of(dialect: str, option: str = "--dialect") -> Contract:
    """The contract of a dialect. Raises UsageError that names the option and lists the names."""
    if dialect not in names():
        raise UsageError(
            f"{option} {dialect!r} is unknown; there are: {', '.join(sorted(names()))}{meant(dialect, names())}"
        )
    return load(dialect)


def target_of(url: str, contract: Contract) -> Target:
    """Where a server's endpoints are. Raises UsageError for what is no address."""
    try:
        return parse(url, contract.path, contract.models_path)
    except AddressError as error:
        raise UsageError(str(error)) from error


async def prepare(wishes: Wishes, client: Client) -> Prepared:
    """Reaches the server, asks for its models and capabilities, and makes the plan.

    Raises Unreachable when there is no answer or the key is refused, UsageError for a wrong setting.
    """
    contract = contract_of(wishes.dialect)
    target = target_of(wishes.url, contract)
    if wishes.model and not wishes.model.isprintable():
        raise UsageError(f"--model {wishes.model!a}: a name is made of characters that can be printed")
    preflight = Preflight(client, target, contract)
    if wishes.wait_s:
        await preflight.wait(wishes.wait_s)
    model = wishes.model or await preflight.model()
    description = await preflight.description()
    said = told(contract, description) or assumed(contract)
    declaration = said.overruled(contract, wishes.capabilities).keyed(contract, key=client.has_key)
    await preflight.greet(model)
    declaration = await preflight.probe(model, declaration)
    others = []
    for other in map(contract_of, dict.fromkeys(wishes.also)):
        if other.name != contract.name:
            declared = told(other, description) or assumed(other)
            known = tuple(wish for wish in wishes.capabilities if wish[0] in other.capabilities)
            declared = declared.overruled(other, known).keyed(other, key=client.has_key)
            drafted = draft(other, declared, wishes.only, wishes.topics, wishes.draw)
            others.append(Prepared(wishes, other, target, model, declared, drafted))
    plan = draft(contract, declaration, wishes.only, wishes.topics, wishes.draw)
    return Prepared(wishes, contract, target, model, declaration, plan, tuple(others))


def draft(
    contract: Contract,
    declaration: Declaration,
    only: tuple[str, ...] = (),
    topics: tuple[str, ...] = (),
    wanted: Draw = NOTHING,
) -> Plan:
    """The plan for a server of this contract that declares these capabilities."""
    undeclared = tuple(each for name, each in contract.capabilities.items() if name not in declaration.declared)
    undeclared += _refused(contract, declaration)
    narrowed = narrowed_by(declaration, contract)
    drawn = draw(narrowed, wanted)
    sent = (*scenarios(contract, declaration), *drawn)
    found = planning.make(narrowed, sent, gather(), only, undeclared, topics, oracle.assertions(narrowed, drawn))
    if not declaration.refused or not found.uncovered:
        return found
    # What only requests with such a parameter show is as undeclared as the parameter.
    whole = draft(contract, replace(declaration, refused=frozenset()))
    return replace(found, uncovered=tuple(row for row in found.uncovered if row in whole.uncovered))


def _refused(contract: Contract, declaration: Declaration) -> tuple[Capability, ...]:
    """The parameters that the server says it lacks, as what it does not declare."""
    lacking = (contract.parameters[name] for name in sorted(declaration.refused))
    return tuple(Capability(each.name, each.summary, each.source, assumed=True) for each in lacking)


def refuse_idle_patterns(
    contract: Contract, only: tuple[str, ...], topics: tuple[str, ...] = (), wanted: Draw = NOTHING
) -> None:
    """Raises UsageError for a topic or a pattern of `only` that can match nothing, whatever a server declares."""
    planning.refuse_unknown(topics, {**gather(), **(oracle.CHECKS if wanted != NOTHING else {})})
    if only:
        assertions = [assertion for plan in _plans(contract, wanted) for assertion in plan.assertions]
        planning.refuse_idle(only, assertions, contract)


def refuse_idle_waivers(waivers: Collection[Waiver], judged: Collection[Contract]) -> None:
    """Raises UsageError for a waiver that is about no requirement of any dialect, for it would never cover anything.

    A file may serve several dialects, so one that is about none of those judged is left alone.
    """
    left = [waiver for waiver in waivers if not any(map(waiver.covers, oracle.CHECKS))]
    seen: set[str] = set()
    for contract in (*judged, *(load(name) for name in dict.fromkeys(names().values()))):
        if not left:
            return
        known = {assertion.requirement.id for plan in _plans(contract) for assertion in plan.assertions}
        left = [each for each in left if not any(map(each.covers, known))]
        seen |= known
    for each in left:
        raise UsageError(f"--waivers {each.file}: {each.id!r} is about no requirement{meant(each.id, seen)}")


def _plans(contract: Contract, wanted: Draw = NOTHING) -> list[Plan]:
    """The plans for a server that declares all capabilities, and for one that declares none."""
    every = frozenset(contract.capabilities)
    declared = [Declaration(some, every - some, "") for some in (every, frozenset[str]())]
    return [draft(contract, each, wanted=wanted) for each in declared]


def offered(contract: Contract, declared: frozenset[str]) -> Contract:
    """The contract that such a server is judged by."""
    return contract.without(set(contract.capabilities) - declared)


async def prepare_server(wishes: Wishes, secret: Secret | None) -> Prepared:
    """`prepare` with a client of its own."""
    async with _client(wishes, secret) as client:
        return await prepare(wishes, client)


async def send(
    prepared: Prepared, secret: Secret | None, on_progress: Callable[[Record], None] = lambda _: None
) -> Outcome:
    """Sends the plan, judges what came back and makes the report. When cancelled it judges what there is."""
    started_at, started_s = datetime.now(UTC).isoformat(timespec="seconds"), time.monotonic()
    records: list[Record] = []
    async with _client(prepared.wishes, secret) as client:
        for each in (prepared, *prepared.also):
            before = made(prepared.plan, records[0], prepared.model) if records else None
            prefix = f"{each.contract.name}:" if records else ""
            budget = _left(prepared.wishes.budget, records, time.monotonic() - started_s)
            run = Run(each.plan, client, each.target, each.contract, each.model, budget, on_progress, before, prefix)
            try:
                records.append(await run.execute())
            except asyncio.CancelledError:
                run.record.exhausted = "interrupted"
                records.append(run.record)
                break
    duration_s = time.monotonic() - started_s
    others = tuple(
        conclude(each, record, started_at, duration_s) for each, record in zip(prepared.also, records[1:], strict=False)
    )
    first = conclude(prepared, records[0], started_at, duration_s)
    return replace(first, also=others, results=with_others(first.results, [other.results for other in others]))


def _left(budget: Budget, records: list[Record], spent_s: float) -> Budget:
    """What earlier plans have left of a budget."""
    sent = sum(record.requests for record in records)
    return replace(
        budget,
        max_requests=None if budget.max_requests is None else budget.max_requests - sent,
        max_tokens=None if budget.max_tokens is None else budget.max_tokens - sum(each.tokens for each in records),
        max_time_s=None if budget.max_time_s is None else budget.max_time_s - spent_s,
    )


def _client(wishes: Wishes, secret: Secret | None) -> Client:
    contract = contract_of(wishes.dialect)
    base = target_of(wishes.url, contract).base
    return Client(base, secret, headers=wishes.headers, verify=wishes.verify)


def conclude(prepared: Prepared, record: Record, started_at: str, duration_s: float) -> Outcome:
    """Judges a record and makes the report. Pure but for reading the description."""
    contract = narrowed_by(prepared.declaration, prepared.contract)
    validator = Validator(contract)
    judgements = judge(prepared.plan.assertions, record.exchanges, contract, validator, prepared.model, record.missing)
    wishes = prepared.wishes
    report = verdict.report(
        prepared.plan, judgements, strict=wishes.strict, exhausted=record.exhausted, waivers=wishes.waivers
    )
    facts = RunFacts(
        url=prepared.target.chat_url,
        model=prepared.model,
        declaration=prepared.declaration,
        only=wishes.only,
        topics=wishes.topics,
        draw=wishes.draw,
        known=tuple(prepared.contract.capabilities),
        strict=wishes.strict,
        started_at=started_at,
        duration_s=duration_s,
        insecure=wishes.verify is False,
    )
    return Outcome(prepared, record, judgements, report, build(report, record, contract, facts))
