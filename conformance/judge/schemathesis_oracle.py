"""Oracle: what schemathesis says of the answers to drawn scenarios. Pure: it sees the recorded exchange alone.

Its checks judge beside ours, each as a check of the topic `drawn`. How binding they are follows from the row of the
dialect that says the same in our words; where there is none they are SHOULD.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from conformance.check import Check, Finding, Occasion
from conformance.plan.plan import Assertion
from openapi.contract.contract import Keyword, Requirement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from conformance.check import Context
    from conformance.exchange import Exchange
    from conformance.scenario import Scenario
    from openapi.contract.contract import Contract

LONGEST: Final = 300

ORACLES: Final[Mapping[str, tuple[str, str, str | None]]] = {  # ours -> its check, the claim, our row with the keyword
    "drawn.no-server-error": (
        "not_a_server_error",
        "No drawn request makes the server fail.",
        "errors.client-fault-is-4xx",
    ),
    "drawn.status-documented": (
        "status_code_conformance",
        "The status is one that the description names.",
        "errors.status-as-documented",
    ),
    "drawn.content-type-documented": (
        "content_type_conformance",
        "The media type is one that the description names.",
        "errors.json-content-type",
    ),
    "drawn.body-fits-description": (
        "response_schema_conformance",
        "The body is valid against the description, each event of a stream too.",
        "answer.fits-schema",
    ),
    "drawn.invalid-refused": (
        "negative_data_rejection",
        "A request that the description does not allow is refused.",
        None,
    ),
    "drawn.valid-accepted": (
        "positive_data_acceptance",
        "A request that the description allows is accepted.",
        None,
    ),
}


def assertions(contract: Contract, scenarios: Iterable[Scenario]) -> tuple[Assertion, ...]:
    """What schemathesis judges: all of its checks on every drawn scenario."""
    found = []
    for scenario in scenarios:
        if scenario.case is None or scenario.subject is None:
            continue
        for identity, check in CHECKS.items():
            if identity == scenario.subject.check:
                subject = scenario.subject
                row = Requirement(subject.requirement, subject.keyword, subject.source, subject.interpretation)
                found.append(Assertion(check, scenario, scenario.steps[0], row, subject.summary))
            elif (same := ORACLES[identity][2]) is not None:
                known = contract.requirements.get(same)
                keyword = known.keyword if known else Keyword.SHOULD
                source = known.source if known else f"{contract.document.id}#response"
                row = Requirement(identity, keyword, source)
                found.append(Assertion(check, scenario, scenario.steps[0], row, check.claim))
    return tuple(found)


def _check(identity: str, name: str, claim: str) -> Check:
    help_text = f"schemathesis calls it {name}."
    return Check(identity, claim, help_text, Occasion(lambda *_: True, _unanswered), _judge(name))


def _unanswered(exchange: Exchange) -> str | None:
    if exchange.complete:
        return None
    return f"{exchange.id} has no whole answer: {exchange.failure.detail if exchange.failure else 'none came'}"


def _judge(name: str) -> Callable[[Exchange, Context], Iterator[Finding]]:
    def judge(exchange: Exchange, context: Context) -> Iterator[Finding]:
        from schemathesis.checks import CHECKS, CheckContext, load_all_checks
        from schemathesis.core.failures import Failure, FailureGroup

        load_all_checks()
        case: Any = context.scenario.case
        operation = case.operation
        config = operation.schema.config.checks_config_for(operation=operation)
        asked = CheckContext(None, None, None, config, None, response_checks=None)
        try:
            CHECKS.get_one(name)(asked, _response(exchange), case)
        except FailureGroup as group:
            yield from (_finding(exception, exchange) for exception in group.exceptions)
        except Failure as failure:
            yield _finding(failure, exchange)

    return judge


def _finding(failure: Any, exchange: Exchange) -> Finding:
    says = " ".join(str(failure.message).split())
    got = f"{exchange.status}: {' '.join(exchange.text[:LONGEST].split())}"
    return Finding(
        "/body" if "schema" in says.lower() else "/status", f"not: {failure.title}. {says}"[:LONGEST], got[:LONGEST]
    )


def _response(exchange: Exchange) -> Any:
    """The recorded answer as schemathesis knows answers."""
    import requests
    from schemathesis.core.transport import Response

    sent, came = exchange.request, exchange.response
    if came is None:
        raise ValueError("an exchange without an answer is not judged")
    request = requests.Request(sent.method, sent.url, headers=dict(sent.headers), data=sent.body).prepare()
    headers: dict[str, list[str]] = {}
    for name, value in came.headers:
        headers.setdefault(name.lower(), []).append(value)
    return Response(came.status, headers, exchange.body, request, came.ended_at_s, True, message=came.reason)


CHECKS: Final[Mapping[str, Check]] = {identity: _check(identity, *row[:2]) for identity, row in ORACLES.items()}
