"""Tests that every failure reaches the client in the dialect's envelope, without internal details."""

from __future__ import annotations

import logging

import orjson
import pytest
from starlette.exceptions import HTTPException

from openapi.contract.contract import load, names
from openapi.description.examples import KIND_SUMMARY
from openapi.description.validation import Validator
from reference_server.engine import ChatTemplateError, EngineError, PromptTooLong
from reference_server.errors import ApiError, error_response, render_error, to_api_error
from reference_server.http.served_contract import TEXT_ONLY, served_contract
from reference_server.request.chat_request import RequestReader

DIALECTS = sorted(set(names().values()))


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize("kind", sorted(KIND_SUMMARY))
def test_every_error_kind_fits_the_envelope_of_every_dialect(dialect: str, kind: str) -> None:
    contract = load(dialect)
    status, body = render_error(contract.errors, ApiError(kind, "what is wrong"))
    assert 400 <= status < 600
    assert Validator(contract).problems("ErrorEnvelope", orjson.loads(body)) == ()
    assert b"what is wrong" in body


@pytest.mark.parametrize(
    ("dialect", "kind", "status", "body"),
    [
        ("mindie", "invalid_request", 422, {"error": "no", "error_type": "Input Validation Error"}),
        ("mindie-vllm", "not_found", 404, {"error": "no", "error_type": "NotFoundError"}),
        ("siliconstorm", "unauthorized", 401, {"code": 702, "result": None, "message": "no"}),
        ("siliconstorm", "invalid_key", 401, {"code": 801, "result": None, "message": "no"}),
        ("siliconstorm", "engine_failure", 500, {"code": 9999, "result": None, "message": "no"}),
        ("ovms", "invalid_json", 412, {"error": "no"}),
        ("ovms", "unknown_model", 404, {"error": "no"}),
    ],
)
def test_an_error_has_the_status_and_the_fields_of_its_dialect(
    dialect: str, kind: str, status: int, body: object
) -> None:
    rendered_status, raw = render_error(load(dialect).errors, ApiError(kind, "no"))
    assert (rendered_status, orjson.loads(raw)) == (status, body)


@pytest.mark.parametrize("dialect", ["openai", "vllm"])
@pytest.mark.parametrize(
    ("sent", "param"),
    [
        ({"temperature": 2.1}, "temperature"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user", "content": 7}]}, "messages"),
        ({"model": "another"}, "model"),
        ({"tool_choice": "required"}, "tool_choice"),
        ({"top_logprobs": 2, "logprobs": False}, "top_logprobs"),
        ({"logit_bias": {"5": "much"}}, "logit_bias"),
    ],
)
def test_an_error_names_the_invalid_parameter(dialect: str, sent: dict[str, object], param: str) -> None:
    contract = served_contract(load(dialect), bearer=False, lacking=TEXT_ONLY)
    body = {"model": "m", "messages": [{"role": "user", "content": "Hello!"}], **sent}
    with pytest.raises(ApiError) as refused:
        RequestReader(contract, "m").read(orjson.dumps(body))
    assert param == refused.value.param
    assert param == orjson.loads(render_error(contract.errors, refused.value)[1])["error"]["param"]


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (PromptTooLong(90, 49), "prompt_too_long"),
        (ChatTemplateError("the chat template cannot render the messages: secret"), "invalid_request"),
        (EngineError("the engine died: RuntimeError: secret"), "engine_failure"),
        (RuntimeError("secret"), "engine_failure"),
        (HTTPException(404), "not_found"),
        (HTTPException(405, headers={"Allow": "HEAD, GET"}), "method_not_allowed"),
        (ApiError("too_large", "too large"), "too_large"),
    ],
)
def test_every_failure_has_a_kind_and_reveals_no_internal_details(error: Exception, kind: str) -> None:
    refusal = to_api_error(error)
    assert refusal.kind == kind
    assert "secret" not in refusal.message
    assert "Error" not in refusal.message


def test_the_error_for_an_oversized_prompt_has_both_numbers() -> None:
    message = to_api_error(PromptTooLong(90, 49)).message
    assert "90" in message
    assert "49" in message


def test_an_unexpected_failure_is_logged_with_its_cause(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR):
        to_api_error(ZeroDivisionError("division of seven by zero"))
    assert "division of seven by zero" in caplog.text


@pytest.mark.parametrize("letter", ["x", "é", "好", "😀"])
def test_a_long_message_is_cut_between_characters_at_1_kib(letter: str) -> None:
    _, body = render_error(load("ovms").errors, ApiError("invalid_request", letter * 5000))
    message = orjson.loads(body)["error"]
    assert message.rstrip(".") == letter * (1021 // len(letter.encode()))
    assert len(message.encode()) <= 1024


def test_allowed_methods_are_sorted() -> None:
    response = error_response(load("mindie").errors, HTTPException(405, headers={"Allow": "HEAD, GET"}))
    assert (response.status_code, response.headers["allow"]) == (405, "GET, HEAD, OPTIONS")
