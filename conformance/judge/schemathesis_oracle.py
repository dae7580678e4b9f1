"""Judge the responses to generated requests with the checks of schemathesis, from the recorded exchange alone.

Each of its checks becomes a check of the topic `drawn`. The keyword is that of the dialect's requirement that says the
same, or else SHOULD.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from conformance.check import Applicability, Check, Finding
from conformance.plan.assertion import Assertion
from openapi.contract.contract import Keyword, Requirement

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping

    from conformance.check import Context
    from conformance.exchange import Exchange
    from conformance.scenario import Scenario
    from openapi.contract.contract import Contract

MAX_LENGTH: Final = 300  # characters of a finding

ORACLES: Final[Mapping[str, tuple[str, str, str | None]]] = {
    # id -> name of the schemathesis check, claim, id of our requirement that has the keyword
    "drawn.no-server-error": (
        "not_a_server_error",
        "No generated request makes the server fail.",
        "errors.client-fault-is-4xx",
    ),
    "drawn.status-documented": (
        "status_code_conformance",
        "The status is one that the description lists.",
        "errors.status-as-documented",
    ),
    "drawn.content-type-documented": (
        "content_type_conformance",
        "The media type is one that the description lists.",
        "errors.json-content-type",
    ),
    "drawn.body-fits-description": (
        "response_schema_conformance",
        "The body is valid against the description, and so is each event of a stream.",
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
    """Return an assertion for every check of schemathesis on every generated scenario."""
    planned = []
    for scenario in scenarios:
        if scenario.case is None or scenario.subject is None:
            continue
        for identity, check in CHECKS.items():
            if identity == scenario.subject.check:
                subject = scenario.subject
                row = Requirement(subject.requirement, subject.keyword, subject.source, subject.interpretation)
                planned.append(Assertion(check, scenario, scenario.steps[0], row, subject.summary))
            elif (equivalent := ORACLES[identity][2]) is not None:
                known = contract.requirements.get(equivalent)
                keyword = known.keyword if known else Keyword.SHOULD
                source = known.source if known else f"{contract.document.id}#response"
                row = Requirement(identity, keyword, source)
                planned.append(Assertion(check, scenario, scenario.steps[0], row, check.claim))
    return tuple(planned)


def _check(identity: str, name: str, claim: str) -> Check:
    help_text = f"Name in schemathesis: {name}."
    return Check(identity, claim, help_text, Applicability(lambda *_: True, _why_incomplete), _judge(name))


def _why_incomplete(exchange: Exchange) -> str | None:
    if exchange.complete:
        return None
    return f"{exchange.id} has no complete response: {exchange.failure.detail if exchange.failure else 'none arrived'}"


def _judge(name: str) -> Callable[[Exchange, Context], Iterator[Finding]]:
    def judge(exchange: Exchange, context: Context) -> Iterator[Finding]:
        from schemathesis.checks import CHECKS, CheckContext, load_all_checks
        from schemathesis.core.failures import Failure, FailureGroup

        load_all_checks()
        case: Any = context.scenario.case
        operation = case.operation
        config = operation.schema.config.checks_config_for(operation=operation)
        check_context = CheckContext(None, None, None, config, None, response_checks=None)
        try:
            CHECKS.get_one(name)(check_context, _response(exchange), case)
        except FailureGroup as group:
            yield from (_finding(exception, exchange) for exception in group.exceptions)
        except Failure as failure:
            yield _finding(failure, exchange)

    return judge


def _finding(failure: Any, exchange: Exchange) -> Finding:
    message = " ".join(str(failure.message).split())
    got = f"{exchange.status}: {' '.join(exchange.text[:MAX_LENGTH].split())}"
    where = "/body" if "schema" in message.lower() else "/status"
    return Finding(where, f"not: {failure.title}. {message}"[:MAX_LENGTH], got[:MAX_LENGTH])


def _response(exchange: Exchange) -> Any:
    """Convert the recorded response to the response class of schemathesis."""
    import requests
    from schemathesis.core.transport import Response

    sent, received = exchange.request, exchange.response
    if received is None:
        raise ValueError("cannot judge an exchange without a response")
    request = requests.Request(sent.method, sent.url, headers=dict(sent.headers), data=sent.body).prepare()
    headers: dict[str, list[str]] = {}
    for name, value in received.headers:
        headers.setdefault(name.lower(), []).append(value)
    return Response(
        received.status, headers, exchange.body, request, received.ended_at_s, True, message=received.reason
    )


CHECKS: Final[Mapping[str, Check]] = {identity: _check(identity, *row[:2]) for identity, row in ORACLES.items()}
