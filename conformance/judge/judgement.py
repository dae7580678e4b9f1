"""Judge recorded exchanges: run the checks of a plan's assertions and collect their findings.

Nothing here does I/O, so a recorded run can be judged again offline.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from functools import cache, partial
from itertools import islice
from typing import TYPE_CHECKING, cast

from conformance.check import Context, NotExercised, NotObserved
from conformance.judge.acceptance import is_refused
from conformance.judge.evidence.liveness import list_lost
from conformance.judge.evidence.model import generates_invalid_utf8
from conformance.judge.evidence.repetition import measure_repetition
from conformance.judge.evidence.run_answers import RunAnswers
from conformance.judge.traced_exchange import Reads, trace
from conformance.judging_limit import JudgingLimit
from conformance.own_file import describe, locate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from conformance.check import Finding
    from conformance.exchange import Exchange
    from conformance.plan.assertion import Assertion
    from openapi.contract.contract import Contract
    from openapi.description.validation import Validator

MOST_FINDINGS = 20  # of one check on one exchange, so that a stream of garbage does not fill the disk


@dataclass(frozen=True, slots=True)
class Judgement:
    """The result of one assertion. At most one of `unobserved` and `error` is set, and then `findings` is empty.

    unobserved: why the exchange does not show what the check is about.
    error: a defect of the check itself.
    applies: False if the condition of the requirement did not hold; `unobserved` then says which condition.
    optional: whether `unobserved` is because the server answered or refused a request which it may answer or refuse.
    """

    assertion: Assertion
    exchanges: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    unobserved: str | None = None
    error: str | None = None
    applies: bool = True
    optional: bool = False


def judge(
    assertions: Iterable[Assertion],
    recorded: Mapping[tuple[str, str], Exchange],
    contract: Contract,
    validator: Validator,
    model: str,
    missing: Mapping[tuple[str, str], NotObserved],
    limit: JudgingLimit | None = None,
) -> tuple[Judgement, ...]:
    """Judge every assertion.

    recorded: the exchanges by (scenario, step).
    missing: why a step was not sent, or why its exchange shows nothing, by (scenario, step).
    limit: beyond it, assertions are not judged; the first of them is the one that was being judged.
    """
    assertions, limit = tuple(assertions), limit or JudgingLimit()
    lost = list_lost(recorded, missing)
    shown = {key: exchange for key, exchange in recorded.items() if key not in missing} if lost else recorded
    garbled = cache(partial(generates_invalid_utf8, shown.values()))
    repetition = cache(partial(measure_repetition, shown.values()))
    answers = cache(partial(RunAnswers, shown.values(), contract))

    def make_context(assertion: Assertion) -> Context:
        return Context(
            contract, validator, model, assertion.scenario, assertion.step, lost, garbled, repetition, answers
        )

    made: dict[str, frozenset[str]] = {}
    judgements: list[Judgement] = []

    def judge_each() -> None:
        for assertion in assertions:
            limit.check()
            if (scenario := assertion.scenario).id not in made:
                made[scenario.id] = frozenset(step.name for step in scenario.steps if (scenario.id, step.name) in shown)
            judgements.append(_judge_one(assertion, made[scenario.id], shown, missing, make_context(assertion)))

    limit.run(judge_each)
    for number, assertion in enumerate(assertions[len(judgements) :]):
        reason = f"{'judging it was ended' if number == 0 else 'not judged'} ({limit.reason})"
        judgements.append(Judgement(assertion, (), unobserved=reason))
    return tuple(judgements)


def _judge_one(
    assertion: Assertion,
    made: frozenset[str],
    recorded: Mapping[tuple[str, str], Exchange],
    missing: Mapping[tuple[str, str], NotObserved],
    context: Context,
) -> Judgement:
    scenario, check = assertion.scenario, assertion.check
    steps = check.steps(scenario, assertion.step, made)
    absent = [name for name in steps if (scenario.id, name) not in recorded]
    if absent:
        return _unobserved(assertion, (), missing.get((scenario.id, absent[0]), NotObserved("it was not sent")))
    exchanges = {name: recorded[scenario.id, step] for name, step in zip(check.over or steps, steps, strict=True)}
    identities = tuple(exchange.id for exchange in exchanges.values())
    required = steps
    if check.is_relation:  # these also work with fewer rounds
        first_round = {step.name for step in scenario.steps if step.round <= 1}
        required = check.over or tuple(name for name in steps if name in first_round)
    for name in required:
        if reason := check.on.unmet(exchanges[name]):
            optional = _is_optional(assertion, name, exchanges[name], context.contract)
            return Judgement(assertion, identities, unobserved=reason, optional=optional)
    try:
        findings = _run(assertion, exchanges, context)
    except NotObserved as not_observed:
        return _unobserved(assertion, identities, not_observed)
    except Exception as error:  # a defect of a check must not count as a failure of the server
        where = f" ({locate(error, check.origin)})" if check.origin else ""
        return Judgement(assertion, identities, error=f"{check.id}: {describe(error)}{where}")
    return Judgement(assertion, identities, findings)


def _is_optional(assertion: Assertion, name: str, exchange: Exchange, contract: Contract) -> bool:
    """Return whether a request was answered or refused, and may be either."""
    step = next(step for step in assertion.scenario.steps if step.name == name)
    return step.expect == "either" and (exchange.succeeded or is_refused(exchange, contract))


def _run(assertion: Assertion, exchanges: Mapping[str, Exchange], context: Context) -> tuple[Finding, ...]:
    """Run the check on the exchanges, by step, and return its first findings."""
    check = assertion.check
    subject = exchanges if check.is_relation else next(iter(exchanges.values()))
    return tuple(islice(check.judge(subject, context), MOST_FINDINGS))


def trace_reads(
    judgement: Judgement,
    recorded: Mapping[tuple[str, str], Exchange],
    contract: Contract,
    validator: Validator,
    model: str,
) -> Reads:
    """Judge again, and return which parts of which exchanges the check read."""
    assertion, reads = judgement.assertion, Reads()
    exchanges = {
        step.judged_as if assertion.check.over else step.name: cast("Exchange", trace(exchange, reads))
        for step in assertion.scenario.steps
        if (exchange := recorded.get((assertion.scenario.id, step.name))) and exchange.id in judgement.exchanges
    }
    with suppress(NotObserved):
        if not any(assertion.check.on.unmet(exchange) for exchange in exchanges.values()):
            _run(assertion, exchanges, Context(contract, validator, model, assertion.scenario, assertion.step))
    return reads


def _unobserved(assertion: Assertion, exchanges: tuple[str, ...], reason: NotObserved) -> Judgement:
    return Judgement(assertion, exchanges, unobserved=str(reason), applies=not isinstance(reason, NotExercised))
