"""Generate scenarios of rules for whole requests: missing and unknown fields, and fields that depend on one another."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from conformance.plan.scenarios.boundary_request import GREETING, expectation_of, limit_answer, shorten_value
from conformance.scenario import OMITTED, Scenario, Step, Subject
from openapi.contract.contract import Keyword

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.contract import Contract, Expect

LONG_ANSWER = 256  # tokens; a longer answer costs more than it shows


def generate(contract: Contract) -> Iterator[Scenario]:
    """Yield the scenarios of all rules of a contract for whole requests."""
    yield from _required(contract)
    yield from _unlimited(contract)
    yield from _rules(contract)
    yield _unknown(contract)


def _required(contract: Contract) -> Iterator[Scenario]:
    for parameter in contract.parameters.values():
        if parameter.required:
            body: dict[str, Any] = {"model": OMITTED} if parameter.name == "model" else {}
            body |= {} if parameter.name == "messages" else {"messages": GREETING}
            subject = Subject(
                requirement=f"parameters.{parameter.name}.required",
                check="parameters.required-demanded",
                parameter=parameter.name,
                keyword=parameter.acceptance("required"),
                source=parameter.source_of("required"),
                summary=f"{parameter.name}: a request without it is refused",
                value=None,
                expect="reject",
            )
            limits = {name: value for name, value in limit_answer(contract).items() if name != parameter.name}
            step = Step(body={**body, **limits}, expect="refusal")
            yield Scenario(f"{parameter.name}-missing-refused", subject.summary, (step,), subject=subject)


def _unlimited(contract: Contract) -> Iterator[Scenario]:
    """Yield a streamed request without max_tokens, which all other requests have.

    The client disconnects once the answer has begun. So the answer ends even if the model would not end it, and a
    server does not have to generate up to its own limit.
    """
    limit = contract.parameters.get("max_tokens")
    stream = contract.parameters.get("stream")
    if limit is None or limit.required or limit.lacking or stream is None:
        return
    subject = Subject(
        requirement="parameters.max_tokens.left-out",
        check="parameters.valid-accepted",
        parameter="max_tokens",
        keyword=limit.acceptance("required"),
        source=limit.source_of("required"),
        summary="max_tokens: a request without it is accepted",
        value=OMITTED,
        expect="accept",
    )
    step = Step(body={"messages": GREETING, "stream": True}, stop_after_events=2)
    yield Scenario("max_tokens-missing-accepted", subject.summary, (step,), subject=subject)


def _rules(contract: Contract) -> Iterator[Scenario]:
    for rule in contract.rules.values():
        for body, verb in ((rule.broken, "refused"), (rule.kept, "accepted")):
            if body is None or rule.trigger is None:
                continue
            expect: Expect = "reject" if verb == "refused" else "accept"
            level = rule.keyword if verb == "refused" else rule.kept_keyword
            expected = expectation_of(level, expect)
            subject = Subject(
                requirement=f"parameters.{rule.trigger}.{rule.id}{'' if verb == 'refused' else '-kept'}",
                check=f"parameters.rule-{'broken-refused' if verb == 'refused' else 'kept-accepted'}",
                parameter=rule.trigger,
                keyword=level,
                source=rule.source,
                summary=f"{rule.summary} {shorten_value(body)} is {verb}",
                value=dict(body),
                expect=expect,
                interpretation=rule.interpretation,
            )
            step = _leave_if_long(Step(body={"messages": GREETING, **limit_answer(contract), **body}, expect=expected))
            yield Scenario(f"{rule.id}-{verb}", subject.summary, (step,), subject=subject)


def _leave_if_long(step: Step) -> Step:
    """Stream a long answer and disconnect once it has begun: that it begins shows that the request is accepted."""
    if step.expect != "answer" or step.tokens <= LONG_ANSWER:
        return step
    return replace(step, body={**(step.body or {}), "stream": True}, stop_after_events=1)


def _unknown(contract: Contract) -> Scenario:
    subject = Subject(
        requirement="parameters.unknown-tolerated",
        check="parameters.unknown-tolerated",
        parameter="chatproof_unknown",
        keyword=Keyword.MAY,
        source="openai-api#request",
        summary="a field that is not in any document is ignored",
        value=1,
        expect="accept",
        interpretation="unknown-fields",
    )
    body = {"messages": GREETING, **limit_answer(contract), "chatproof_unknown": 1}
    return Scenario("unknown-member", subject.summary, (Step(body=body, expect="either"),), subject=subject)
