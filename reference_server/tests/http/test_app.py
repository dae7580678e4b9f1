"""Tests of the application over sockets with a scripted engine: routes, responses, refusals, keys and pages."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from dataclasses import replace
from hashlib import sha256
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from openapi.contract.contract import load
from openapi.description.description import describe
from openapi.description.validation import Validator
from openapi.stream.event_order import walk
from reference_server.http.served_contract import TEXT_ONLY, UNSUPPORTED_CAPABILITIES, served_contract
from reference_server.tests.app_client import DIALECTS, KEY, body, client, events
from reference_server.tests.scripted_engine import ScriptedEngine

LONG_PROMPT = "word " * 60  # the scripted engine accepts 49 words


def text_of(events: list[str]) -> str:
    return walk(events).choices[0].content


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_plain_response_and_a_stream_have_the_same_content(dialect: str) -> None:
    validator = Validator(served_contract(load(dialect), bearer=False, lacking=TEXT_ONLY))
    with client(dialect) as (http, path):
        plain = http.post(path, json=body())
        streamed = http.post(path, json=body(stream=True))
    assert (plain.status_code, plain.headers["content-type"]) == (200, "application/json")
    assert validator.problems("ChatCompletion", plain.json()) == ()
    assert plain.json()["choices"][0]["message"]["content"] == "Hello world"
    assert plain.json()["model"] == "tiny"
    streamed_events = events(streamed)
    assert (streamed.status_code, streamed.headers["content-type"]) == (200, "text/event-stream; charset=utf-8")
    assert (streamed.headers["cache-control"], streamed.headers["x-accel-buffering"]) == ("no-cache", "no")
    assert walk(streamed_events).breaches == ()
    assert text_of(streamed_events) == "Hello world"
    for chunk in streamed_events[:-1]:
        assert validator.problems("ChatCompletionChunk", json.loads(chunk)) == ()


def test_ids_differ_between_responses_but_not_within_a_stream() -> None:
    with client() as (http, path):
        first = http.post(path, json=body()).json()["id"]
        chunks = [json.loads(event)["id"] for event in events(http.post(path, json=body(stream=True)))[:-1]]
    assert len(set(chunks)) == 1
    assert first != chunks[0]


def test_full_text_streams_repeat_the_text_so_far() -> None:
    with client(full_text=True) as (http, path):
        walked = walk(events(http.post(path, json=body(stream=True))))
    assert walked.full_texts == {0: "Hello world"}
    assert walked.choices[0].deltas == ("Hello", "Hello world", "Hello world")


def test_usage_on_request_is_the_only_content_of_the_last_chunk() -> None:
    with client("ovms") as (http, path):
        streamed = events(http.post(path, json=body(stream=True, stream_options={"include_usage": True})))
    assert json.loads(streamed[-2])["usage"] == {"prompt_tokens": 2, "completion_tokens": 3, "total_tokens": 5}
    assert json.loads(streamed[-2])["choices"] == []


@pytest.mark.parametrize(("dialect", "shown"), [("mindie", False), ("ovms", True)])
def test_each_dialect_has_its_own_default_for_stop_strings_in_streams(dialect: str, shown: bool) -> None:
    engine = ScriptedEngine()
    with client(dialect, engine) as (http, path):
        http.post(path, json=body(stop="x"))
        http.post(path, json=body(stop="x", stream=True))
    assert [params.include_stop_str_in_output for _, _, params in engine.requests] == [False, shown]


REFUSALS: dict[str, dict[str, Any]] = {
    "invalid_json": {"content": b"{"},
    "invalid_request": {"json": body(temperature=-1)},
    "unknown_model": {"json": {**body(), "model": "other"}},
    "prompt_too_long": {"json": body(LONG_PROMPT)},
    "too_large": {"content": b" " * 2001},
    "unsupported_media_type": {"content": b"<x/>", "headers": {"Content-Type": "application/xml"}},
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_refusal_has_the_status_and_envelope_of_its_dialect(dialect: str) -> None:
    table = load(dialect).errors
    validator = Validator(load(dialect))
    with client(dialect, body_limit_bytes=2000) as (http, path):
        answers = {kind: http.post(path, **request) for kind, request in REFUSALS.items()}
        streamed = http.post(path, json=body(LONG_PROMPT, stream=True))
        answers["not_found"] = http.get("/nowhere")
        answers["method_not_allowed"] = http.get(path)
    for kind, answer in answers.items():
        assert (kind, answer.status_code) == (kind, table.kinds[kind].status)
        assert answer.headers["content-type"] == "application/json"
        assert validator.problems("ErrorEnvelope", answer.json()) == ()
    assert answers["method_not_allowed"].headers["allow"] == "OPTIONS, POST"
    assert (streamed.status_code, streamed.content) == (
        answers["prompt_too_long"].status_code,
        answers["prompt_too_long"].content,
    )


@pytest.mark.parametrize("dialect", DIALECTS)
def test_unsupported_capabilities_are_refused_by_name_and_not_declared(dialect: str) -> None:
    lacking = [
        parameter
        for parameter in load(dialect).without(UNSUPPORTED_CAPABILITIES).parameters.values()
        if parameter.lacking
    ]
    values: dict[str, Any] = {"logprobs": True, "use_beam_search": True, "tool_choice": "required"}
    values["tools"] = [{"type": "function", "function": {"name": "f"}}]
    with client(dialect) as (http, path):
        described = http.get("/openapi.json").json()
        answers = {item.name: http.post(path, json=body(**{item.name: values.get(item.name, 2)})) for item in lacking}
    assert UNSUPPORTED_CAPABILITIES.isdisjoint(described["info"]["x-capabilities"])
    for name, answer in answers.items():
        assert answer.status_code == load(dialect).errors.kinds["invalid_request"].status
        assert name in answer.text


@pytest.mark.parametrize("dialect", DIALECTS)
def test_invalid_input_does_not_reach_the_engine(dialect: str) -> None:
    engine = ScriptedEngine()
    wrong: tuple[Any, ...] = ({"no": ["such"]}, [[[]]])
    bad: list[Any] = [body(**{name: value}) for name in load(dialect).parameters for value in wrong]
    bad += [
        body(**{name: probe.value})
        for name, parameter in load(dialect).parameters.items()
        for probe in parameter.probes
        if probe.expect == "reject" and probe.keyword == "MUST" and isinstance(probe.value, (int, float, str, list))
    ]
    with client(dialect, engine) as (http, path):
        accepted = [request for request in bad if http.post(path, json=request).is_success]
        accepted += [refusal for refusal in REFUSALS.values() if http.post(path, **refusal).is_success]
    assert len(bad) > 20
    assert len(accepted) == len(engine.requests)  # in some dialects a few of these values are neutral
    assert len(bad) > 5 * len(accepted)


def test_capabilities_that_the_model_lacks_are_refused_by_name_and_not_declared() -> None:
    engine = ScriptedEngine()
    engine.lacking = frozenset({"tools"})
    tools = [{"type": "function", "function": {"name": "get_time"}}]
    with client(engine=engine) as (http, path):
        described = http.get("/openapi.json").json()
        answer, plain = (http.post(path, json=body(tools=value)) for value in (tools, []))
    assert "tools" not in described["info"]["x-capabilities"]
    assert (400 <= answer.status_code < 500, "tools" in answer.text, plain.status_code) == (True, True, 200)


def test_a_parameter_that_the_document_excludes_is_refused_by_name() -> None:
    with client("ovms") as (http, path):
        refused = http.post(path, json=body(stop_token_ids=[2]))
        neutral = http.post(path, json=body(tools=[], user=None))
    assert (refused.status_code, neutral.status_code) == (400, 200)
    assert "stop_token_ids" in refused.text


def test_a_body_far_beyond_the_limit_is_refused_while_it_arrives() -> None:
    with client(body_limit_bytes=1000) as (http, path):
        known = http.post(path, content=b"x" * 30_000_000)
        unknown = http.post(path, content=(b"x" * 100_000 for _ in range(300)))
        after = http.post(path, json=body())
    assert (known.status_code, unknown.status_code, after.status_code) == (413, 413, 200)


def test_the_description_matches_the_served_contract() -> None:
    with client() as (http, _):
        described = http.get("/openapi.json").json()
    served = replace(served_contract(load("mindie"), bearer=False, lacking=TEXT_ONLY), default_model="tiny")
    expected = json.loads(json.dumps(describe(served.with_server_limits())))
    expected["components"]["schemas"]["ChatCompletionRequest"]["properties"]["model"]["enum"] = ["tiny"]
    assert described == expected


def test_a_form_that_the_server_refuses_is_not_described() -> None:
    grammar = {"type": "grammar", "grammar": {"syntax": "lark", "definition": "start: /a/"}}
    tools = [{"type": "custom", "custom": {"name": "f", "format": grammar}}]
    with client("openai") as (http, path):
        described = http.get("/openapi.json").json()
        refused = http.post(path, json=body(tools=tools)).json()["error"]["message"]
    tool = json.dumps(described["components"]["schemas"]["CustomTool"])
    assert 'must be one of "regex", got "lark"' in refused
    assert '"enum": ["regex"]' in tool
    assert "lark" not in tool


def test_the_documentation_loads_nothing_from_other_hosts() -> None:
    with client() as (http, _):
        page = http.get("/docs")
        links = [part.split('"')[0] for mark in ('src="', 'href="') for part in page.text.split(mark)[1:]]
        assets = [http.get(link) for link in links]
        assert http.get("/docs/secrets.txt").status_code == 404
    assert len(links) == 3
    assert [urlsplit(link).netloc for link in links] == [""] * 3
    assert [asset.status_code for asset in assets] == [200] * 3
    assert "://" not in page.text


def test_the_models_endpoint_lists_and_returns_the_model() -> None:
    validator = Validator(load("mindie"))
    with client() as (http, _):
        listed = http.get("/v1/models").json()
        one = http.get("/v1/models/tiny").json()
        other = http.get("/v1/models/other")
    assert validator.problems("ModelList", listed) == ()
    assert listed["data"] == [one]
    assert one["id"] == "tiny"
    assert other.status_code == 404


def test_responses_to_head_and_options_have_no_body() -> None:
    with client() as (http, path):
        got, head = http.get("/health"), http.head("/health")
        options = http.options(path)
        refused = http.head(path)
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["content-length"] == got.headers["content-length"]
    assert (options.status_code, options.headers["allow"], options.content) == (204, "OPTIONS, POST", b"")
    assert (refused.status_code, refused.content) == (405, b"")


def test_only_pages_of_an_allowed_origin_may_read_responses_and_refusals() -> None:
    page, other = {"Origin": "https://pages.example"}, {"Origin": "https://other.example"}
    preflight_headers = {
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "authorization, content-type",
    }
    with client("siliconstorm", origins=("https://pages.example",)) as (http, path):
        keyless = httpx.Client(base_url=http.base_url)
        preflight = keyless.options(path, headers={**page, **preflight_headers})
        allowed = [http.post(path, json=body(), headers=page), keyless.post(path, json=body(), headers=page)]
        denied = [
            http.post(path, json=body(), headers=other),
            keyless.options(path, headers={**other, **preflight_headers}),
        ]
        keyless.close()
    assert (200, "https://pages.example") == (preflight.status_code, preflight.headers["access-control-allow-origin"])
    assert {"authorization", "content-type"} <= set(preflight.headers["access-control-allow-headers"].split(", "))
    assert [200, 401] == [response.status_code for response in allowed]
    assert ["https://pages.example"] * 2 == [response.headers["access-control-allow-origin"] for response in allowed]
    assert ["Origin"] * 2 == [response.headers["vary"] for response in allowed]
    assert [None, None] == [response.headers.get("access-control-allow-origin") for response in denied]


@pytest.mark.parametrize("path", ["/v1/chat/completions/", "//v1/chat/completions", "/V1/chat/completions"])
def test_only_the_documented_path_is_served(path: str) -> None:
    with client() as (http, _):
        assert http.post(path, json=body()).status_code == 404


def test_the_key_is_checked_before_anything_else() -> None:
    with client("siliconstorm", body_limit_bytes=1000) as (http, path):
        for headers, code in (({"Authorization": ""}, 702), ({"Authorization": "Bearer wrong"}, 801)):
            for method, target in (("POST", path), ("GET", path), ("GET", "/v1/models"), ("GET", "/nowhere")):
                answer = http.request(method, target, headers=headers, content=b"x" * 2000)
                assert (answer.status_code, answer.json()["code"]) == (401, code)
                assert answer.headers["www-authenticate"].startswith("Bearer")
            for target in ("/health", "/openapi.json", "/docs", "/docs/swagger-ui.css"):
                assert http.get(target, headers=headers).status_code == 200
        assert http.get("/v1/models").status_code == 200


def test_a_key_can_be_required_in_every_dialect_and_is_then_described() -> None:
    with client(api_key=KEY) as (http, path):
        described = http.get("/openapi.json").json()
        refused = http.post(path, json=body(), headers={"Authorization": ""})
        accepted = http.post(path, json=body())
    assert described["paths"][path]["post"]["security"] == [{"bearer": []}]
    assert (refused.status_code, accepted.status_code) == (401, 200)


@pytest.mark.parametrize("path", ["/docs", "/docs/swagger-ui-bundle.js", "/openapi.json"])
def test_pages_cannot_be_framed_or_taken_for_another_type(path: str) -> None:
    with client() as (http, _):
        headers = http.get(path).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"


def test_the_documentation_runs_no_script_but_its_own() -> None:
    with client() as (http, _):
        page = http.get("/docs")
    policy = dict(part.split(" ", 1) for part in page.headers["content-security-policy"].split("; "))
    assert policy["default-src"] == policy["frame-ancestors"] == "'none'"
    inline = re.findall("<script>(.*?)</script>", page.text, re.DOTALL)
    hashes = [f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in inline]
    assert policy["script-src"].split() == ["'self'", *hashes]
    assert "http" not in policy["script-src"]
