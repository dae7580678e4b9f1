"""Validation: openapi-core and single schemas agree, and hostile bodies are refused quickly and briefly."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any, cast

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from openapi_core.templating.paths.finders import APICallPathFinder

from openapi.contract.contract import load, names
from openapi.description.body_request import BodyRequest
from openapi.description.description import describe
from openapi.description.validation import Validator, compile_schema
from openapi.schema.excerpt import MAX_CUTS, MAX_ITEMS, MAX_VALUES, find_errors

if TYPE_CHECKING:
    from collections.abc import Iterator

DIALECTS = sorted(set(names().values()))
MINDIE = Validator(load("mindie").with_server_limits())
SCHEMA = compile_schema(describe(load("mindie").with_server_limits()), "#/components/schemas/ChatCompletionRequest")
USER = {"role": "user", "content": "x"}


def request(**fields: Any) -> dict[str, Any]:
    return {"model": "m", "messages": [{"role": "user", "content": "Hello!"}], **fields}


def sent(validator: Validator, body: Any, **fields: Any) -> BodyRequest:
    return BodyRequest(validator.contract.path, json.dumps(body).encode(), **fields)


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    "body",
    [request(), request(temperature=0.5, stream=True), request(top_p=0), {"model": "m"}, request(stop=[1, 2]), []],
    ids=str,
)
def test_requests_are_validated_alike_with_and_without_http(dialect: str, body: Any) -> None:
    validator = Validator(load(dialect))
    assert validator.refusals(sent(validator, body)) == validator.request_problems(body)


def test_an_unknown_path_method_or_media_type_is_refused() -> None:
    for changed in (
        BodyRequest("/v1/other", b"{}"),
        BodyRequest("/v1/chat/completions", b"{}", method="put"),
        BodyRequest("/v1/chat/completions", b"x=1", content_type="text/plain"),
        BodyRequest("/v1/chat/completions", None),
    ):
        [problem] = MINDIE.refusals(changed)
        assert problem.message == "the path, method or media type is not supported"


def test_openapi_core_is_imported_only_for_requests() -> None:
    script = (
        "import json, sys\n"
        "from openapi.contract.contract import load\n"
        "from openapi.description.validation import Validator\n"
        "validator = Validator(load('mindie'))\n"
        "assert validator.request_problems({}) and validator.problems('ChatCompletion', {})\n"
        "before = 'openapi_core' in sys.modules\n"
        "validator.prepare()\n"
        "print(json.dumps([before, 'openapi_core' in sys.modules]))"
    )
    shown = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert json.loads(shown.stdout) == [False, True]


def test_a_request_is_validated_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """openapi-core uses our validator of the body and never validates the body itself."""
    seen: list[Any] = []

    def counted(validator: jsonschema_rs.Validator, instance: Any) -> Iterator[jsonschema_rs.ValidationError]:
        seen.append(instance)
        return find_errors(validator, instance)

    monkeypatch.setattr("openapi.description.request_validation.find_errors", counted)
    monkeypatch.setattr("openapi.description.request_validation.OAS32Validator.iter_errors", None)
    body = request(temperature=0.5, tools=[])
    validator = Validator(load("mindie"))
    validator.prepare()
    seen.clear()
    assert validator.refusals(sent(MINDIE, body)) == ()
    assert seen == [body]


def test_operations_are_looked_up_before_the_first_request(monkeypatch: pytest.MonkeyPatch) -> None:
    validator = Validator(load("mindie"))
    validator.prepare()
    looked_up: list[str] = []
    find = APICallPathFinder.find

    def counted(finder: APICallPathFinder, method: str, name: str) -> object:
        looked_up.append(name)
        return find(finder, method, name)

    monkeypatch.setattr(APICallPathFinder, "find", counted)
    assert validator.refusals(sent(validator, request())) == ()
    assert looked_up == []
    for _ in range(2):  # unknown paths are looked up each time: caching them would fill the memory
        assert len(validator.refusals(BodyRequest("/v1/other", b"{}"))) == 1
    assert [name.rpartition("/")[2] for name in looked_up] == ["other", "other"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_operations_have_no_parameters_besides_their_body(dialect: str) -> None:
    """Only bodies are validated through openapi-core; parameters in headers or queries would not be."""
    for operations in describe(load(dialect))["paths"].values():
        for name, operation in operations.items():
            assert name in ("get", "post")
            assert ("requestBody" in operation, "parameters" in operation) != (True, True)


def test_api_keys_are_not_validated_here() -> None:
    """The server checks them before it reads the body; two checks could contradict each other."""
    hosted = Validator(load("siliconstorm"))
    assert hosted.refusals(sent(hosted, request())) == ()
    assert "security" in hosted.document["paths"][hosted.contract.path]["post"]


def test_integers_beyond_a_double_are_compared_exactly() -> None:
    assert MINDIE.refusals(sent(MINDIE, request(seed=2**64 - 1))) == ()
    assert len(MINDIE.refusals(sent(MINDIE, request(seed=2**64)))) == 1


def test_an_unknown_schema_name_raises_key_error() -> None:
    with pytest.raises(KeyError, match="no schema 'Chunk'"):
        MINDIE.problems("Chunk", {})


HOSTILE: dict[str, Any] = {
    "numbers as stop strings": request(stop=[1] * 300_000),
    "a number after many stop strings": request(stop=["x"] * 300_000 + [1]),
    "numbers after some stop strings": request(stop=["x"] * 1_000 + [1] * 299_000),
    "unknown roles": request(messages=[{"role": "wizard", "content": "x"}] * 300_000),
    "messages that are numbers": request(messages=[1] * 300_000),
    "parts without text": request(messages=[{"role": "user", "content": [{"type": "text"}] * 300_000}]),
    "tools that are empty": request(tools=[{}] * 300_000),
    "arguments that are numbers": request(
        tools=[
            {
                "type": "function",
                "function": {"name": "f", "parameters": {"properties": {str(i): 1 for i in range(300_000)}}},
            }
        ]
    ),
    "many long valid arrays next to the invalid one": request(
        **{f"d{i}": [1] * 30 for i in range(10_000)}, stop=[1] * 20
    ),
}


@pytest.mark.parametrize("body", HOSTILE.values(), ids=HOSTILE)
def test_a_body_with_many_invalid_items_is_refused_briefly(body: dict[str, Any]) -> None:
    """All of these together take a second; without cutting arrays, a single one took up to 46 s."""
    problems = MINDIE.request_problems(body)
    assert 1 <= len(problems) <= 5
    assert sum(len(problem.message.encode()) for problem in problems) < 4096


def test_a_late_invalid_item_keeps_its_index() -> None:
    [problem] = MINDIE.request_problems(request(messages=[USER] * 5_000 + [{"role": "wizard", "content": "x"}]))
    assert problem.where == "/messages/5000"
    parts = [{"type": "text", "text": "x"}] * 700 + [{"type": "text", "text": ""}]
    [problem] = MINDIE.request_problems(request(messages=[USER] * 300 + [{"role": "user", "content": parts}, USER]))
    assert problem.where == "/messages/300/content/700/text"


def test_an_array_that_is_only_too_long_is_reported_as_too_long() -> None:
    [problem] = MINDIE.request_problems(request(stop=["x"] * 5_000))
    assert (problem.keyword, problem.bound) == ("maxItems", 1024)
    [problem] = MINDIE.request_problems(request(messages=[{"role": "user", "content": "x" * 50_000}] * 100))
    assert (problem.keyword, problem.bound) == ("x-maxCharacters", 4 * 2**20)


@pytest.mark.parametrize(
    "messages",
    [
        [USER] * 40 + [{"role": "user", "content": []}],
        [{"role": "user", "content": [{"type": "text", "text": "x"}] * 40 + [1]}],
        [{"role": "user", "content": [[1] * 40]}],
    ],
    ids=["long", "long-in-short", "long-in-short-in-short"],
)
def test_describing_problems_does_not_change_the_body(messages: list[Any]) -> None:
    body = request(stop=["x"] * 40 + [1], messages=messages)
    before = json.dumps(body)
    assert MINDIE.request_problems(body) != ()
    assert json.dumps(body) == before


class Counting:
    """A validator that counts its validity checks."""

    def __init__(self) -> None:
        self.checks = 0
        self.searched: Any = None

    def iter_errors(self, instance: Any) -> Any:
        self.searched = instance
        return SCHEMA.iter_errors(instance)

    def validate(self, instance: Any) -> None:
        self.searched = instance
        SCHEMA.validate(instance)

    def is_valid(self, instance: Any) -> bool:
        self.checks += 1
        return SCHEMA.is_valid(instance)


@pytest.mark.parametrize(
    ("body", "limit"),
    [
        (request(), 1),
        (request(stop=[1] * 1_000), 2),
        (request(messages=[USER] * 1_000 + [1]), 13),
        (request(messages=[{"role": "user", "content": [{"type": "text", "text": "x"}] * 20}] * 1_000 + [1]), 13),
        (request(**{f"d{i}": [1] * 30 for i in range(1_000)}, stop=[1] * 20), MAX_CUTS + 1),
    ],
    ids=["valid", "invalid from the first item", "invalid at the end", "valid arrays first", "many valid arrays"],
)
def test_few_validity_checks_find_the_invalid_item(body: dict[str, Any], limit: int) -> None:
    validator = Counting()
    list(find_errors(cast("jsonschema_rs.Validator", validator), body))
    assert validator.checks <= limit


@pytest.mark.parametrize("depth", [100, 300, 900])
def test_deep_nesting_is_reported_as_a_problem(depth: int) -> None:
    nested: Any = []
    for _ in range(depth):
        nested = [nested]
    for problems in (
        MINDIE.request_problems(request(messages=nested)),
        MINDIE.refusals(sent(MINDIE, request(messages=nested))),
    ):
        assert len(problems) == 1
        assert problems[0].keyword == ("oneOf" if depth < 255 else "depth")


def test_items_after_the_invalid_one_are_cut_off() -> None:
    validator = Counting()
    body = request(messages=[USER] * 500 + [1] + [USER] * 500, stop_token_ids=[1] * 500)
    list(find_errors(cast("jsonschema_rs.Validator", validator), body))
    assert len(validator.searched["messages"]) == 501
    assert len(validator.searched["stop_token_ids"]) == MAX_ITEMS


item = st.sampled_from([1, "", "x", None, 2**31, "x" * 1025])
bodies = st.fixed_dictionaries(
    {"model": st.sampled_from(["m", 1])},
    optional={
        "stop": st.lists(item, max_size=60) | item,
        "stop_token_ids": st.lists(item, max_size=60) | item,
        "messages": st.lists(
            st.sampled_from([USER, {"role": "user", "content": [{"type": "text", "text": "x"}] * 20}])
            | st.fixed_dictionaries({"role": st.sampled_from(["user", "x"]), "content": st.lists(item, max_size=20)}),
            max_size=40,
        ),
        "n": st.sampled_from([1, 2, "x"]),
        "temperature": st.sampled_from([0, 1, 3]),
    },
)


@given(bodies)
@settings(max_examples=120, deadline=None, derandomize=True)
def test_an_excerpt_is_invalid_exactly_if_the_whole_is(body: dict[str, Any]) -> None:
    whole = {(tuple(error.instance_path), error.kind.name) for error in SCHEMA.iter_errors(body)}
    excerpt = {(tuple(error.instance_path), error.kind.name) for error in find_errors(SCHEMA, body)}
    assert excerpt <= whole
    assert bool(excerpt) == bool(whole)


def test_only_one_error_is_reported_for_an_excerpt_that_stays_large() -> None:
    schema = jsonschema_rs.validator_for({"additionalProperties": {"type": "string"}})
    assert len(list(find_errors(schema, dict.fromkeys(map(str, range(MAX_VALUES + 1)), 1)))) == 1
    assert len(list(find_errors(schema, dict.fromkeys(map(str, range(MAX_ITEMS)), 1)))) == MAX_ITEMS
