"""Judge the responses that a page prints: wrapped as an exchange, none may be reported by any check.

The exchange has what a page does not print: the headers, a status, and a time at which `created` is now.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import format_datetime
from typing import TYPE_CHECKING, Any, Final

from conformance.exchange import Exchange, Request, Response, Segment
from conformance.judge.check_registry import gather_checks
from conformance.judge.judgement import judge
from conformance.plan.plan import make_plan
from conformance.scenario import Scenario, Step
from openapi.contract.contract import Keyword
from openapi.contract.page.page_coverage import load_page_coverage, mapped_documents
from openapi.contract.page.printed_examples import find_request, load_printed_examples
from openapi.description.validation import Validator
from openapi.stream import sse

if TYPE_CHECKING:
    from conformance.judge.judgement import Judgement
    from conformance.scenario import Expectation
    from openapi.contract.contract import Contract
    from openapi.contract.page.printed_examples import PrintedExample

URL: Final = "http://printed.example"
GREETING: Final = {"messages": [{"role": "user", "content": "Hello!"}]}
DURATION_S: Final = 10.0
"""Time for a whole answer, longer than the latencies that the pages print."""
REFUSED: Final = 400
"""Status of a printed error, for which the pages print none."""


@dataclass(frozen=True, slots=True)
class PrintedWitness:
    """A response that a page prints, and what the checks report about it: nothing, if they follow the page."""

    line: int
    kind: str
    complaints: tuple[str, ...]


def judge_printed(contract: Contract) -> dict[str, tuple[PrintedWitness, ...]]:
    """Return the printed responses by the sentences that their lines state; empty for a page that is not mapped."""
    document = contract.document.id
    if document not in mapped_documents():
        return {}
    coverage = load_page_coverage(document)
    witnesses: dict[str, tuple[PrintedWitness, ...]] = {}
    for example in list_witnesses(contract):
        witness = PrintedWitness(example.line, example.kind, list_complaints(example, contract))
        for sentence in coverage.find_sentences(example.line):
            witnesses[sentence] = (*witnesses.get(sentence, ()), witness)
    return witnesses


def list_witnesses(contract: Contract) -> tuple[PrintedExample, ...]:
    """Return the responses that the contract's document prints."""
    return tuple(item for item in load_printed_examples(contract.document.id) if item.kind != "request")


def judge_witness(example: PrintedExample, contract: Contract) -> tuple[Judgement, ...]:
    """Judge a printed response with every check that applies to such an exchange."""
    body = build_request(example, contract)
    expect: Expectation = "refusal" if example.kind == "error" else "answer"
    scenario = Scenario(
        f"printed-{example.name}", "a response that the document prints", (Step(body=body, expect=expect),)
    )
    exchange = build_exchange(example, body, contract)
    plan = make_plan(contract, [scenario], gather_checks())
    recorded = {(scenario.id, step.name): exchange for step in scenario.steps}
    return judge(plan.assertions, recorded, contract, Validator(contract), body["model"], {})


def list_complaints(example: PrintedExample, contract: Contract) -> tuple[str, ...]:
    """Return what the checks report about a printed response, one line for each finding that fails a strict run."""
    return tuple(
        f"line {example.line}: {item.assertion.requirement.keyword.value} {item.assertion.requirement.id}: {problem}"
        for item in judge_witness(example, contract)
        if item.assertion.requirement.keyword is not Keyword.MAY
        for problem in _problems(item)
    )


def _problems(judgement: Judgement) -> tuple[str, ...]:
    if judgement.error:
        return (judgement.error,)
    return tuple(f"{item.where}: expected {item.expected}, got {item.got}" for item in judgement.findings)


def build_request(example: PrintedExample, contract: Contract) -> dict[str, Any]:
    """Return the request that a printed response answers, by default a greeting."""
    examples = load_printed_examples(contract.document.id)
    request = find_request(examples, example.request) if example.request else None
    body = dict(request.body) if request else {"model": contract.default_model, **GREETING}
    return {**body, **example.asks}


def build_exchange(example: PrintedExample, body: dict[str, Any], contract: Contract) -> Exchange:
    """Return the exchange in which a server answers a request as printed."""
    streamed = example.kind == "stream"
    parts = _stream(example.body) if streamed else (_encode(example.body),)
    created = example.body[0]["created"] if streamed else example.body.get("created", 0)
    step_s = DURATION_S / len(parts)
    at = datetime.fromtimestamp(int(created), UTC)
    headers = [("date", format_datetime(at, usegmt=True))]
    headers += [("content-type", sse.MEDIA_TYPE if streamed else "application/json")]
    headers += [] if streamed else [("content-length", str(len(parts[0])))]
    refused = example.kind == "error"
    return Exchange(
        id="printed",
        scenario=f"printed-{example.name}",
        step="main",
        request=Request("POST", URL + contract.path, (("content-type", "application/json"),), _encode(body)),
        response=Response(
            status=REFUSED if refused else 200,
            reason="Bad Request" if refused else "OK",
            http_version="1.1",
            headers=tuple(headers),
            segments=tuple(Segment(step_s * number, part) for number, part in enumerate(parts, 1)),
            headers_at_s=step_s / 2,
            ended_at_s=DURATION_S,
            complete=True,
        ),
        failure=None,
        started_at=at.isoformat(),
    )


def _stream(chunks: list[Any]) -> tuple[bytes, ...]:
    return (*(sse.encode(_encode(chunk)) for chunk in chunks), sse.encode(b"[DONE]"))


def _encode(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode()
