"""Whether an answer fits what its request demands."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.exchange import Exchange, Request, Response, Segment
from conformance.judge.evidence.requested_schema import fits_its_schema, schema_of_text

CODE = {"type": "integer", "enum": [5, 7]}
FORM = {"response_format": {"type": "json_schema", "json_schema": {"name": "code", "schema": CODE}}}
OBJECT = {"type": "object", "properties": {"code": CODE}, "required": ["code"]}
CALL = {
    "tools": [
        {"type": "function", "function": {"name": "other"}},
        {"type": "function", "function": {"name": "store", "parameters": OBJECT}},
    ],
    "tool_choice": {"type": "function", "function": {"name": "store"}},
}


def _exchange(sent: dict[str, Any], message: dict[str, Any], finish: str = "stop") -> Exchange:
    answer = {"choices": [{"index": 0, "message": message, "finish_reason": finish}]}
    body = json.dumps(answer).encode()
    response = Response(200, "", "HTTP/1.1", (), (Segment(0.1, body),), 0.1, 0.1, complete=True)
    request = Request("POST", "http://h/", (), json.dumps(sent).encode())
    return Exchange("s", "s", "main", request, response, None, "2026-11-20T00:00:00+00:00")


def _call(arguments: str) -> dict[str, Any]:
    return {"tool_calls": [{"id": "1", "type": "function", "function": {"name": "store", "arguments": arguments}}]}


@pytest.mark.parametrize(
    ("sent", "message", "expected"),
    [
        (FORM, {"content": "5"}, True),
        (FORM, {"content": "6"}, False),
        (FORM, {"content": "5."}, False),
        (FORM, {"content": ""}, False),
        (CALL, _call('{"code": 7}'), True),
        (CALL, _call('{"code": 6}'), False),
        (CALL, {"content": "5"}, False),
        ({}, {"content": "5."}, True),
    ],
)
def test_an_answer_fits_the_schema_of_its_request(
    sent: dict[str, Any],
    message: dict[str, Any],
    expected: bool,
) -> None:
    assert expected == fits_its_schema(_exchange(sent, message))


def test_an_answer_that_was_cut_off_shows_no_misfit() -> None:
    assert fits_its_schema(_exchange(FORM, {"content": "["}, "length"))


def test_a_schema_may_be_text() -> None:
    assert CODE == schema_of_text({"structured_outputs": {"json": json.dumps(CODE)}})
