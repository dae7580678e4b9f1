"""The conclusion of a run: judge what was recorded and build the report."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from conformance.check import NotObserved
from conformance.judge.acceptance import is_completion
from conformance.judge.causes import Causes, attribute_lost, find_causes
from conformance.judge.check_registry import gather_checks
from conformance.judge.evidence.liveness import list_canary_assertions
from conformance.judge.evidence.load_failures import list_load_assertions
from conformance.judge.judgement import Judgement, judge
from conformance.judging_limit import INTERRUPTED, JudgingLimit
from conformance.plan.capabilities import default_capabilities, narrow_contract
from conformance.plan.plan import Plan
from conformance.record import Record
from conformance.report import verdict
from conformance.report.document_coverage import count_sentences
from conformance.report.results import RunFacts, build_results
from conformance.run.failures.canary import DIED
from conformance.run.session.preparation import PreparedRun
from conformance.run.session.target import load_contract, parse_target
from openapi.description.validation import Validator

if TYPE_CHECKING:
    from typing import Any

    from conformance.exchange import Exchange
    from conformance.report.verdict import Report
    from conformance.run.session.options import RunOptions

LONGEST_REASON: Final = 500
NO_COMPLETION: Final = "no request was answered with a chat completion, so the server cannot be judged"


@dataclass(frozen=True, slots=True, repr=False)  # as that of PreparedRun
class RunOutcome:
    """Everything that is known after a run. `also`: the same for each further dialect."""

    prepared: PreparedRun
    record: Record
    judgements: tuple[Judgement, ...]
    report: Report
    results: dict[str, Any]
    also: tuple[RunOutcome, ...] = ()


def describe_unreachable(options: RunOptions, reason: str) -> dict[str, Any]:
    """Return the results of a run that could not begin, so that the reports that were requested say so."""
    contract = load_contract(options.dialect)
    capabilities = default_capabilities(contract)
    plan = Plan(narrow_contract(contract, capabilities), (), (), (), partial=True)
    target, model = parse_target(options.url, contract), options.model or contract.default_model
    prepared = PreparedRun(options, contract, target, model, capabilities, plan, answered=False)
    started_at = datetime.now(UTC).isoformat(timespec="seconds")
    record = Record(exhausted=f"the server cannot be judged: {' '.join(reason.split())[:LONGEST_REASON]}")
    return conclude(prepared, record, started_at, time.monotonic() - options.started_s).results


def limit_judging(options: RunOptions) -> JudgingLimit:
    """Return the limit of judging: the time limit of the command, whatever sending took of it."""
    max_time_s = options.budget.max_time_s
    until_s = math.inf if max_time_s is None else options.started_s + max_time_s
    return JudgingLimit(until_s, f"--max-time {max_time_s:g}, while judging" if max_time_s is not None else "")


def _split_kept(
    record: Record,
) -> tuple[dict[tuple[str, str], Exchange], dict[tuple[str, str], NotObserved]]:
    """Return the exchanges that can be judged, and why the others cannot: an answer that was not kept shows nothing."""
    exchanges, missing = {}, dict(record.missing)
    for key, exchange in record.exchanges.items():
        if exchange.failure is not None and exchange.failure.kind == "not-kept":
            missing[key] = NotObserved(f"its answer was not kept: {exchange.failure.detail}")
        else:
            exchanges[key] = exchange
    return exchanges, missing


def conclude(
    prepared: PreparedRun, record: Record, started_at: str, duration_s: float, limit: JudgingLimit | None = None
) -> RunOutcome:
    """Judge a record within a limit, and build the report. The limit names in the record what ended judging."""
    limit = limit or JudgingLimit()
    plan, contract, options = prepared.plan, prepared.plan.contract, prepared.options
    validator = Validator(contract)
    exchanges, missing = _split_kept(record)
    checks = gather_checks(contract)
    further = (*list_canary_assertions(exchanges, contract, checks), *list_load_assertions(exchanges, contract, checks))
    judgements = judge((*plan.assertions, *further), exchanges, contract, validator, prepared.model, missing, limit)
    causes: Causes = {}
    limit.run(lambda: causes.update(find_causes(judgements, exchanges, contract, validator, prepared.model)))
    if limit.reason is not None and (record.exhausted is None or limit.reason == INTERRUPTED):
        record.exhausted = limit.reason
    report = verdict.build_report(
        plan,
        judgements,
        strict=options.strict,
        exhausted=record.exhausted,
        waivers=options.waivers,
        causes={**causes, **attribute_lost(judgements, record.exhausted)},
    )
    answered = prepared.answered or any(map(is_completion, exchanges.values()))
    if not answered and (report.verdict is verdict.Verdict.CONFORMANT or report.unjudged or record.exhausted == DIED):
        report = replace(report, verdict=verdict.Verdict.INCONCLUSIVE, exhausted=NO_COMPLETION, unjudged=None)
    facts = RunFacts(
        url=prepared.target.chat_url,
        model=prepared.model,
        declaration=prepared.declaration,
        only=options.only,
        topics=options.topics,
        depth=options.depth,
        draw=options.draw,
        known=tuple(prepared.contract.capabilities),
        strict=options.strict,
        started_at=started_at,
        duration_s=duration_s,
        insecure=options.verify is False,
        key_variable=options.key_variable,
        annotate=options.annotate,
    )
    sent = {judgement.assertion.requirement.id for judgement in judgements if judgement.exchanges}
    coverage = count_sentences(prepared.contract, plan, report.rows, sent, exhausted=record.exhausted is not None)
    results = build_results(report, record, contract, facts, coverage)
    return RunOutcome(prepared, record, judgements, report, results)
