"""Trial: one fault before the suite, and what the judges say of it."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from conformance.client.client import Client
from conformance.client.secret import Secret
from conformance.errors import HarnessError
from conformance.judge.judgement import judge
from conformance.plan.capabilities import Declaration
from conformance.proof.fault_host import FAULTLESS
from conformance.proof.scenario_selection import everything
from conformance.run.run import Budget, Run
from conformance.run.session import Wishes, draft, offered, prepare, target_of
from openapi.contract.contract import Keyword, load
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from conformance.judge.judgement import Judgement
    from conformance.plan.plan import Plan
    from conformance.proof.fault_host import Host, Shown
    from conformance.proof.scenario_selection import Asking
    from conformance.scenario import Scenario
    from openapi.contract.contract import Contract

DEADLINE_S = 8.0  # for one exchange: a fault may never answer
PATIENT_S = 60.0  # for the faultless server
CONCURRENCY = 4
TRIES = 3  # of a fault, while this process is held up, so that it cannot tell when events arrived
SHORT = 64  # tokens that all answers to a generated scenario may take
TIMED = frozenset(  # checks whose word depends on how fast things go
    {
        *("stream.arrives-bit-by-bit", "sse.events-arrive-singly", "sse.keep-alive-in-silence"),
        *("sse.closed-after-done", "disconnect.place-freed", "parallel.served-together"),
    }
)
STRENGTHS = {Keyword.MUST: "M", Keyword.SHOULD: "S", Keyword.MAY: "o"}


@dataclass(frozen=True, slots=True)
class Kill:
    """A requirement that a fault breaks: by which check, and how binding it is (M MUST, S SHOULD, o only observed).

    scenarios: those that show it, in the order of the plan.
    """

    check: str
    requirement: str
    strength: str
    words: str
    scenarios: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Bench:
    """A dialect made ready for trials: its plan for the faultless server, and what that one is blamed for."""

    contract: Contract
    narrowed: Contract
    declaration: Declaration
    plan: Plan
    validator: Validator
    model: str
    blamed: frozenset[Kill]
    errors: tuple[str, ...]
    unobserved: frozenset[str]


async def bench(host: Host, dialect: str) -> Bench:
    """Judges the faultless server of a dialect."""
    contract = load(dialect)
    async with _client(host, contract, FAULTLESS) as client:
        wishes = Wishes(url=host.address(dialect), dialect=dialect)
        prepared = await prepare(wishes, client)
    narrowed = offered(contract, prepared.declaration.declared)
    made = Bench(
        contract, narrowed, prepared.declaration, prepared.plan, Validator(narrowed), prepared.model,
        frozenset(), (), frozenset(),
    )  # fmt: skip
    judgements, _ = await _judged(host, made, FAULTLESS, prepared.plan)
    errors = tuple(judgement.error for judgement in judgements if judgement.error)
    seen = {judgement.assertion.check.id for judgement in judgements if judgement.unobserved is None}
    idle = {judgement.assertion.check.id for judgement in judgements} - seen
    return replace(made, blamed=frozenset(_kills(judgements)), errors=errors, unobserved=frozenset(idle))


async def attempt(host: Host, made: Bench, fault: Shown, asking: Asking = everything) -> frozenset[Kill]:
    """What a fault is blamed for and the faultless server is not. asking: chooses from what may show it."""
    made = await asyncio.to_thread(_claiming, made, fault)
    met = tuple(scenario for scenario in made.plan.scenarios if _meets(fault, scenario))
    ids = asking(met)
    plan = _part(made.plan, lambda each: each.id in ids)
    for _ in range(TRIES):
        judgements, held_up = await _judged(host, made, fault.name, plan, fault.patience_s or DEADLINE_S)
        if not held_up:
            break
    if broken := [judgement.error for judgement in judgements if judgement.error]:
        raise HarnessError(f"fault {fault.name}: {broken[0]}")
    before = {each.requirement for each in made.blamed if fault.patience_s is None or each.check not in TIMED}
    return frozenset(kill for kill in _kills(judgements) if kill.requirement not in before)


def _claiming(made: Bench, fault: Shown) -> Bench:
    """The bench for a server that declares something else."""
    if not fault.declares and not fault.denies:
        return made
    declared = (made.declaration.declared | set(fault.declares)) - set(fault.denies)
    declared &= set(made.contract.capabilities)
    declaration = Declaration(declared, frozenset(made.contract.capabilities) - declared, "the fault")
    narrowed = offered(made.contract, declared)
    plan = draft(made.contract, declaration)
    return replace(made, narrowed=narrowed, declaration=declaration, plan=plan, validator=Validator(narrowed))


def _part(plan: Plan, is_met: Callable[[Scenario], bool]) -> Plan:
    """The part of a plan that has these scenarios."""
    kept = tuple(scenario for scenario in plan.scenarios if is_met(scenario))
    ids = {each.id for each in kept}
    return replace(
        plan,
        scenarios=kept,
        assertions=tuple(assertion for assertion in plan.assertions if assertion.scenario.id in ids),
    )


def _meets(fault: Shown, scenario: Scenario) -> bool:
    """Whether a fault may show, and nothing shorter shows it as well.

    One about a parameter is shown by requests with that one. For all others the generated requests with long answers
    are left out: the written ones show the same.
    """
    subject = scenario.subject
    if fault.about is not None:
        return subject is not None and subject.parameter == fault.about
    if subject is not None and sum(step.tokens for step in scenario.steps) > SHORT:
        return False
    if scenario.rounds and fault.shows not in ("requests", "sampling"):  # statistics of what is generated
        return False
    if fault.shows in ("answers", "sampling"):
        return subject is None or subject.expect == "accept"
    return fault.shows != "refusals" or any(step.expect != "answer" for step in scenario.steps)


async def _judged(
    host: Host, made: Bench, fault: str, plan: Plan, deadline_s: float = PATIENT_S
) -> tuple[tuple[Judgement, ...], bool]:
    """What is found, and whether this process was held up while an answer came."""
    contract = made.contract
    target = target_of(host.address(contract.name, fault), contract)
    async with _client(host, contract, fault) as client:
        budget = Budget(deadline_s=deadline_s, concurrency=CONCURRENCY)
        record = await Run(plan, client, target, contract, made.model, budget).execute()
    # In a thread, so that nothing holds up the trials beside it: they note when events arrive.
    judgements = await asyncio.to_thread(
        judge, plan.assertions, record.exchanges, made.narrowed, made.validator, made.model, record.missing
    )
    responses = [exchange.response for exchange in record.exchanges.values()]
    return judgements, any(response is not None and response.held_up_s > 0 for response in responses)


def _client(host: Host, contract: Contract, fault: str) -> Client:
    secret = Secret(host.key) if contract.auth == "bearer" else None
    return Client(host.address(contract.name, fault), secret)


def _kills(judgements: Collection[Judgement]) -> list[Kill]:
    found: dict[str, Kill] = {}
    for judgement in judgements:
        if not judgement.findings:
            continue
        row, scenario = judgement.assertion.requirement, judgement.assertion.scenario.id
        if (known := found.get(row.id)) is not None:
            found[row.id] = replace(known, scenarios=tuple(dict.fromkeys((*known.scenarios, scenario))))
            continue
        first = judgement.findings[0]
        words = f"{scenario}: {first.where}: expected {first.expected}, got {first.got}"
        found[row.id] = Kill(judgement.assertion.check.id, row.id, STRENGTHS[row.keyword], words, (scenario,))
    return list(found.values())
