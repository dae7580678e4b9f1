"""Test that every form of an error envelope is recognized by name, and that other bodies are described."""

from __future__ import annotations

import json
from typing import Any

import pytest

from conformance.exchange import Exchange, Request, Response, Segment
from conformance.judge.error_envelope import ENVELOPE_FORMS, envelope_of

BODIES: dict[str, Any] = {
    "Anthropic": {"type": "error", "error": {"type": "invalid_request_error", "message": "no"}},
    "Google": {"error": {"code": 400, "message": "no", "status": "INVALID_ARGUMENT"}},
    "OpenAI": {"error": {"message": "no", "type": "invalid_request_error", "param": None, "code": None}},
    "message under error": {"error": {"message": "no"}},
    "MindIE or TGI": {"error": "no", "error_type": "Input Validation Error"},
    "MindIE Motor": {"error": "no", "type": "Input Validation Error"},
    "Spring": {"timestamp": "2026-11-21", "status": 400, "error": "Bad Request", "path": "/v1"},
    "OVMS": {"error": "no"},
    "vLLM before 2025": {"object": "error", "message": "no", "type": "BadRequestError", "param": None, "code": 400},
    "Siliconstorm": {"code": 9999, "result": None, "message": "no"},
    "code and message": {"code": "bad", "message": "no"},
    "problem details of RFC 9457": {"type": "about:blank", "title": "no", "status": 400},
    "FastAPI": {"detail": [{"loc": ["body"], "msg": "no"}]},
    "Triton": {"message": "no"},
}


def refusal(body: bytes) -> Exchange:
    """Return a refusal with this body."""
    response = Response(400, "", "HTTP/1.1", (), (Segment(0.1, body),), 0.1, 0.1, complete=True)
    return Exchange("a", "a", "a", Request("POST", "http://a", (), b""), response, None, "2026-11-21T00:00:00+00:00")


@pytest.mark.parametrize("name", BODIES)
def test_every_form_is_recognized_by_name(name: str) -> None:
    found = envelope_of(refusal(json.dumps(BODIES[name]).encode()))
    assert name == found.name
    assert found.message


def test_every_form_has_an_example() -> None:
    assert [form.name for form in ENVELOPE_FORMS] == list(BODIES)


@pytest.mark.parametrize(
    ("body", "name"),
    [
        (b'{"ok": false}', "a JSON object of no known form"),
        (b'{"error": true}', "a JSON object of no known form"),
        (b'["no"]', "JSON but not an object"),
        (b" \n", "an empty body"),
        (b"<!DOCTYPE html><html>no</html>", "HTML"),
        (b"no", "plain text"),
    ],
)
def test_a_body_of_no_known_form_is_described(body: bytes, name: str) -> None:
    found = envelope_of(refusal(body))
    assert (name, None) == (found.name, found.message)


@pytest.mark.parametrize(("name", "code"), [("Google", 400), ("vLLM before 2025", 400), ("OVMS", None)])
def test_a_field_is_read_under_error_and_at_the_top_level(name: str, code: int | None) -> None:
    assert code == envelope_of(refusal(json.dumps(BODIES[name]).encode())).field("code")
