"""Errors of the compared interfaces."""

from __future__ import annotations

from typing import Any

import pytest

from openapi.contract.forms import ErrorKind, ErrorTable
from openapi.tests.contract.compared_dialects import COMPARED, CONTRACTS, VALIDATORS


def test_an_error_is_an_object_inside_the_body() -> None:
    wrong = {"message": "no", "type": "invalid_request_error", "param": None, "code": None}
    assert (400, {"error": wrong}) == CONTRACTS["openai"].errors.render("invalid_request", "no")
    assert (404, {"error": {**wrong, "code": "model_not_found"}}) == CONTRACTS["openai"].errors.render(
        "unknown_model", "no"
    )
    assert (401, {"error": {**wrong, "code": "invalid_api_key"}}) == CONTRACTS["openai"].errors.render(
        "invalid_key", "no"
    )
    missing = {"message": "no", "type": "NotFoundError", "param": None, "code": 404}
    assert (404, {"error": missing}) == CONTRACTS["vllm"].errors.render("unknown_model", "no")
    assert [
        CONTRACTS["vllm"].errors.render(kind, "no")[0]
        for kind in ("invalid_json", "invalid_request", "unsupported_media_type")
    ] == [400] * 3


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"error": "no"},
        {"error": {"message": "no"}},
        {"object": "error", "message": "no", "type": "BadRequestError", "param": None, "code": 400},
        {"error": {"message": "", "type": "t", "param": None, "code": None}},
        {"error": {"message": "no", "type": None, "param": None, "code": None}},
    ],
    ids=str,
)
def test_other_envelopes_are_invalid(body: dict[str, Any]) -> None:
    for dialect in COMPARED:
        assert VALIDATORS[dialect].problems("ErrorEnvelope", body) != ()


def test_placeholders_of_an_envelope_are_replaced_at_any_depth() -> None:
    template = {
        "a": {"b": {"c": "{message}", "d": [1, "{phrase}"]}},
        "e": "{phrase}",
        "f": "{code}",
        "g": "message",
        "h": None,
    }
    table = ErrorTable({}, template, {"invalid_json": ErrorKind(400, "phrase", "name")})
    assert table.render("invalid_json", "{code}") == (
        400,
        {"a": {"b": {"c": "{code}", "d": [1, "phrase"]}}, "e": "phrase", "f": "name", "g": "message", "h": None},
    )
