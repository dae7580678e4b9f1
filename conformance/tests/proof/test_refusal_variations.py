"""Test that legal refusals are not reported: headers that repeat, plain text, and those of current servers."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from conformance.exchange import Exchange, Response, Segment
from conformance.proof.editing.responses import dump
from conformance.report.outcome import Outcome
from conformance.tests.proof.rejudged import judge
from conformance.tests.proof.variations import with_json, with_response

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.tests.conftest import Good


@pytest.mark.takes_turns
@pytest.mark.parametrize("value", ["gateway-tenant-0123456789", "[REDACTED-HEADER_X_API_KEY]"])
def test_a_repeated_gateway_header_does_not_count_as_a_key(read_good: Callable[[str], Good], value: str) -> None:
    def change(exchange: Exchange) -> Exchange:
        sent = exchange.request.headers
        added = () if "x-api-key" in {name.lower() for name, _ in sent} else (("X-Api-Key", value),)
        edited = with_json(exchange, lambda body: dump({**body, "message": f"no route for {value}"}))
        request = replace(exchange.request, headers=(*sent, *added))
        return replace(edited if exchange.status == 401 else exchange, request=request)

    good = read_good("siliconstorm")
    assert [] == judge(good, good.changed(change)).new_findings


@pytest.mark.parametrize(("step", "name"), [("elsewhere", "x-api-key"), ("basic", "authorization")])
def test_a_key_of_the_scenario_counts_in_any_header(read_good: Callable[[str], Good], step: str, name: str) -> None:
    good = read_good("siliconstorm")
    refused = good.exchanges["key-wrong-kinds", step]
    (sent,) = (value.rpartition(" ")[2] for header, value in refused.request.headers if header.lower() == name)
    echo = with_json(refused, lambda body: dump({**body, "message": f"wrong: {sent}"}))
    assert {"auth.key-not-repeated": Outcome.WARN} == judge(good, {("key-wrong-kinds", step): echo}).moved


def in_plain_text(exchange: Exchange) -> Exchange:
    """Replace a refusal by a line of plain text."""

    def change(response: Response) -> Response:
        headers = tuple((name, value) for name, value in response.headers if name.lower() != "content-type")
        segment = Segment(response.ended_at_s, exchange.text.translate(str.maketrans("{}[]", "    ")).encode())
        return replace(response, headers=(*headers, ("content-type", "text/plain")), segments=(segment,))

    return exchange if exchange.status is None or exchange.status < 400 else with_response(exchange, change)


def test_refusals_in_plain_text_fail_only_if_the_document_specifies_the_error_body(
    good: Good,
) -> None:
    found = judge(good, good.changed(in_plain_text)).moved
    both = ["errors.body-is-json-object", "errors.envelope-fits"]
    specified = dict.fromkeys(("siliconstorm", "openai", "vllm"), both)
    failed = [key for key, word in found.items() if word is Outcome.FAIL]
    assert specified.get(good.contract.name, []) == sorted(failed)
    assert found.keys() >= {"errors.body-is-json-object", "errors.envelope-fits", "errors.json-content-type"}


REFUSALS: dict[str, tuple[int, Any]] = {
    "vLLM": (400, {"error": {"message": "no", "type": "BadRequestError", "param": None, "code": 400}}),
    "vLLM, for a model": (404, {"error": {"message": "no", "type": "NotFoundError", "param": "model", "code": 404}}),
    "vLLM and SGLang, for a key": (401, {"error": "Unauthorized"}),
    "SGLang": (400, {"object": "error", "message": "no", "type": "BadRequestError", "param": None, "code": 400}),
    "llama.cpp": (400, {"error": {"code": 400, "message": "no", "type": "invalid_request_error"}}),
    "llama.cpp, for a key": (401, {"error": {"code": 401, "message": "no", "type": "authentication_error"}}),
    "LiteLLM": (400, {"error": {"message": "no", "type": None, "param": None, "code": "400"}}),
    "LiteLLM, for a key": (401, {"error": {"message": "no", "type": "auth_error", "param": "None", "code": "401"}}),
    "TGI": (422, {"error": "no", "error_type": "validation"}),
    "Ollama": (404, {"error": {"message": "no", "type": "api_error", "param": None, "code": None}}),
    "FastAPI": (422, {"detail": [{"type": "missing", "loc": ["body", "model"], "msg": "no", "input": {}}]}),
    "Azure's gateway": (401, {"statusCode": 401, "message": "no"}),
}
"""Status and body of refusals of current servers, from their sources and from reports of users."""


@pytest.mark.takes_turns
@pytest.mark.parametrize("server", REFUSALS)
def test_refusals_of_current_servers_are_known_and_do_not_fail_undocumented_dialects(
    goods: list[Good], server: str
) -> None:
    status, body = REFUSALS[server]

    def change(exchange: Exchange) -> Exchange:
        if exchange.status is None or not 400 <= exchange.status < 500:
            return exchange
        edited = with_json(exchange, lambda _: dump(body))
        return with_response(edited, lambda response: replace(response, status=status))

    for good in goods:
        if good.contract.document.id.startswith(("mindie-", "ovms-")):
            found = judge(good, good.changed(change)).moved
            assert [] == [key for key, word in found.items() if word is Outcome.FAIL], good
            assert "errors.envelope-known" not in found
