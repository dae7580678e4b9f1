"""Tests that constrained responses match their format at any temperature: JSON, schemas, choices, regexes, grammars."""

from __future__ import annotations

import asyncio
import json
import re
from typing import TYPE_CHECKING, Any

import jsonschema_rs
import pytest

from reference_server.engine import SamplingParams, UnusableGrammar
from reference_server.errors import ApiError
from reference_server.request.response_format import text_grammar
from reference_server.request.tool_choice import select_tools

if TYPE_CHECKING:
    from reference_server.engine import Delta, LocalEngine

CITY = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 8}, "size": {"enum": [1, 2]}},
    "required": ["city", "size"],
    "additionalProperties": False,
}
TIME: list[dict[str, Any]] = [{"type": "function", "function": {"name": "get_time"}}]


def answer(engine: LocalEngine, given: dict[str, Any], template_kwargs: Any = None, **params: Any) -> list[Delta]:
    """Return every delta of a constrained answer; the default temperature is 3."""
    grammar = text_grammar(given)
    sampling = SamplingParams(grammar=grammar, **{"temperature": 3.0, "max_tokens": 120, **params})

    async def read() -> list[Delta]:
        prompt = engine.encode_chat([{"role": "user", "content": "Hello!"}], None, template_kwargs)
        engine.prepare(prompt, sampling)
        return [delta async for delta in engine.submit(prompt, sampling)]

    return asyncio.run(read())


def answer_text(deltas: list[Delta]) -> str:
    assert "stop" == deltas[-1].finish_reason
    return "".join(delta.text for delta in deltas)


def schema(value: Any) -> dict[str, Any]:
    return {"response_format": {"type": "json_schema", "json_schema": {"name": "city", "schema": value}}}


def tagged(structures: list[dict[str, Any]]) -> dict[str, Any]:
    return {"response_format": {"type": "structural_tag", "structures": structures, "triggers": ["<f", "["]}}


def newer(form: dict[str, Any]) -> dict[str, Any]:
    return {"response_format": {"type": "structural_tag", "format": form}}


def nested(depth: int) -> dict[str, Any]:
    form: dict[str, Any] = {"type": "any_text"}
    for _ in range(depth):
        form = {"type": "sequence", "elements": [form]}
    return form


@pytest.mark.takes_turns
@pytest.mark.parametrize("seed", range(6))
def test_json_matches_its_schema(tiny_engine: LocalEngine, seed: int) -> None:
    for given in (
        schema(CITY),
        {"structured_outputs": {"json": CITY}},
        {"structured_outputs": {"json": json.dumps(CITY)}},
    ):
        jsonschema_rs.validate(CITY, json.loads(answer_text(answer(tiny_engine, given, seed=seed))))


def test_json_without_a_schema_is_an_object(tiny_engine: LocalEngine) -> None:
    for given in ({"response_format": {"type": "json_object"}}, {"structured_outputs": {"json_object": True}}):
        assert isinstance(json.loads(answer_text(answer(tiny_engine, given, temperature=0.0))), dict)


@pytest.mark.parametrize("seed", range(6))
def test_a_choice_a_regex_and_a_grammar_are_matched(tiny_engine: LocalEngine, seed: int) -> None:
    texts = ["yes", 'a "quoted"\nno\\', "你好"]
    assert answer_text(answer(tiny_engine, {"structured_outputs": {"choice": texts}}, seed=seed)) in texts
    pattern = r"^[a-c]{2,4}/\d+\.(x|y\"z)$"
    assert re.fullmatch(
        pattern,
        answer_text(
            answer(tiny_engine, {"structured_outputs": {"regex": r"^[a-c]{2,4}/\d{1,3}\.(x|y\"z)$"}}, seed=seed)
        ),
    )
    for grammar in ('root ::= "a" ("b" | "c")\n', 'start: "a" end\nend: "b" | "c"\n'):
        assert answer_text(answer(tiny_engine, {"structured_outputs": {"grammar": grammar}}, seed=seed)) in ("ab", "ac")


def test_white_space_is_as_requested(tiny_engine: LocalEngine) -> None:
    tight = {"structured_outputs": {"json": CITY, "disable_any_whitespace": True}}
    text = answer_text(answer(tiny_engine, tight, seed=2))
    assert json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False) == text

    patterned = {"structured_outputs": {"json": CITY, "whitespace_pattern": "\t"}}
    text = answer_text(answer(tiny_engine, patterned, seed=3))
    assert "\t" in text
    assert json.dumps(json.loads(text), separators=(",", ":"), ensure_ascii=False) == text.replace("\t", "")


@pytest.mark.parametrize("seed", range(2))
def test_every_trigger_begins_a_complete_tag(tiny_engine: LocalEngine, seed: int) -> None:
    size = {"begin": "<f=size>", "schema": {"enum": [1, 2]}, "end": "</f>"}
    given = tagged(
        [size, {"begin": "<f=on>", "schema": {"type": "boolean"}, "end": "!"}, {**size, "begin": "[", "end": "]"}]
    )
    inside = {key: given["response_format"][key] for key in ("structures", "triggers")}
    # A bias makes the triggers likely, so that the text has tags.
    opened = tuple(
        (tiny_engine._vocabulary.encode(text)[0], bias) for text, bias in (("<", 22.0), ("f", 22.0), ("[", 20.0))
    )
    for request in (given, {"structured_outputs": {"structural_tag": json.dumps(inside)}}):
        deltas = answer(tiny_engine, request, seed=seed, logit_bias=opened)
        text = "".join(delta.text for delta in deltas)
        begun = re.findall(r"<f|\[", text)
        whole = re.findall(r"<f=size>\s*[12]\s*</f>|<f=on>\s*(?:true|false)\s*!|\[\s*[12]\s*\]", text)
        assert begun
        assert len(begun) - len(whole) in ((0,) if deltas[-1].finish_reason == "stop" else (0, 1))


@pytest.mark.parametrize("seed", range(3))
def test_text_matches_the_newer_form_of_structural_tags(tiny_engine: LocalEngine, seed: int) -> None:
    number = {"type": "json_schema", "json_schema": {"enum": [1, 2]}}
    tag = {"type": "tag", "begin": "<f>", "content": number, "end": "</f>"}
    other = {"type": "const_string", "value": "none"}
    given = newer({"type": "sequence", "elements": [{"type": "or", "elements": [tag, other]}, other]})
    text = answer_text(answer(tiny_engine, given, seed=seed))
    assert re.fullmatch(r"(<f>[12]</f>|none)none", text)


def test_both_forms_of_structural_tags_mean_the_same() -> None:
    older = tagged([{"begin": "<f>", "schema": {"enum": [1]}, "end": "</f>"}])
    content = {"type": "json_schema", "json_schema": {"enum": [1]}}
    tags = [{"begin": "<f>", "content": content, "end": "</f>"}]
    assert text_grammar(older) == text_grammar(newer({"type": "triggered_tags", "triggers": ["<f"], "tags": tags}))


def test_objects_are_closed_on_request() -> None:
    nested = {
        "type": "object",
        "properties": {"a": {"type": "object", "properties": {"enum": {"enum": [{"properties": 1}]}}}},
    }
    grammar = text_grammar({"structured_outputs": {"json": nested, "disable_additional_properties": True}})
    assert grammar is not None
    closed = json.loads(grammar.removeprefix("content: %json "))
    assert (False, False) == (closed["additionalProperties"], closed["properties"]["a"]["additionalProperties"])
    assert {"enum": [{"properties": 1}]} == closed["properties"]["a"]["properties"]["enum"]


def test_reasoning_comes_before_the_constrained_text(tiny_engine: LocalEngine) -> None:
    thinking = {"enable_thinking": True}
    deltas = answer(tiny_engine, schema(CITY), thinking, temperature=0.0, reasoning=True, max_tokens=200)
    jsonschema_rs.validate(CITY, json.loads(answer_text(deltas)))
    assert "".join(delta.reasoning for delta in deltas)


def test_with_tools_a_response_is_a_call_or_matches_the_format(tiny_engine: LocalEngine) -> None:
    for choice, called in (("auto", False), ("required", True)):
        use = select_tools({"tools": TIME, "tool_choice": choice}).use
        deltas = answer(tiny_engine, schema(CITY), tools=use, temperature=0.0)
        text = "".join(delta.text for delta in deltas)
        if called or any(delta.calls for delta in deltas):
            assert ("", "tool_calls") == (text, deltas[-1].finish_reason)
        else:
            jsonschema_rs.validate(CITY, json.loads(text))


def test_sampling_parameters_can_be_combined_with_a_format(tiny_engine: LocalEngine) -> None:
    deltas = answer(
        tiny_engine,
        {"structured_outputs": {"choice": ["yes", "no"]}},
        n=3,
        best_of=4,
        seed=5,
        repetition_penalty=1.5,
        logprobs=2,
        top_k=5,
        top_p=0.9,
    )
    for index in range(3):
        own = [delta for delta in deltas if delta.index == index]
        assert "".join(delta.text for delta in own) in ("yes", "no")
        for delta in own:
            assert delta.logprob is not None
            assert delta.logprob.top[0].logprob >= delta.logprob.logprob  # the model's own, not the grammar's


@pytest.mark.parametrize(
    ("given", "phrase"),
    [
        (schema({"uniqueItems": True, "type": "array"}), "the keyword uniqueItems is not supported"),
        ({"structured_outputs": {"regex": "(?=a)b"}}, "look-around"),
        ({"structured_outputs": {"grammar": "start: missing"}}, "missing"),
    ],
)
def test_a_format_that_no_grammar_can_express_is_refused(tiny_engine: LocalEngine, given: Any, phrase: str) -> None:
    with pytest.raises(UnusableGrammar, match=phrase):
        answer(tiny_engine, given)


@pytest.mark.parametrize(
    ("given", "phrase"),
    [
        ({"structured_outputs": {"choice": []}}, "choice is empty"),
        ({"structured_outputs": {"json": "[1"}}, "expected a JSON Schema object"),
        ({"structured_outputs": {"grammar": "root = 1"}}, "invalid structured_outputs.grammar"),
        ({"structured_outputs": {"structural_tag": "[]"}}, "expected a JSON object"),
        ({"structured_outputs": {"structural_tag": "{}"}}, "expected structures and triggers"),
        ({"response_format": {"type": "structural_tag", "format": {}}}, "expected a format"),
        (newer({"type": "const_string"}), "lacks its content"),
        (newer(nested(20)), "at most 16 deep"),
        (tagged([{"begin": "<f>"}]), "a begin, a schema or content, and an end"),
        (tagged([{"begin": "(f)", "schema": {}, "end": ""}]), "no trigger matches"),
        ({"response_format": {"type": "json_object"}, "structured_outputs": {"regex": "a"}}, "remove one"),
    ],
)
def test_an_invalid_or_ambiguous_format_is_refused(given: Any, phrase: str) -> None:
    with pytest.raises(ApiError, match=phrase):
        text_grammar(given)
