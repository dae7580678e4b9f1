"""Checks of structured output: the answer has the requested form, whatever the question is."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from conformance.check import Applicability, Context, Finding, NotExercised, check, relation
from conformance.judge.applicability import ANSWER, either, in_scenario, not_generated, why_unanswered
from conformance.judge.checks.tools.arguments import LONGEST_ESCAPE, read_cut_object
from conformance.judge.evidence.requested_schema import is_without_strict, schema_of_text
from conformance.plan.scenarios.combinations.schema_features import SCHEMAS
from openapi.stream.strict_json import quote, read_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange
    from conformance.scenario import Scenario, Step
    from openapi.contract.contract import Contract


def _requests(parameter: str, field: str, value: object = None) -> Applicability:
    """Include written requests in which a field of a parameter is set, or has a value."""

    def applies_to(scenario: Any, step: Any, contract: Contract) -> bool:
        form = (step.body or {}).get(parameter)
        found = form.get(field) if isinstance(form, dict) else None
        requested = found is not None if value is None else found == value
        whole = not (step.body or {}).get("stop")  # a stop string may end the answer in the middle of the form
        return requested and whole and not_generated(ANSWER).applies_to(scenario, step, contract)

    return Applicability(applies_to, why_unanswered)


def _texts(exchange: Exchange) -> Iterator[tuple[str, str]]:
    """Yield (path, text) of every complete answer. Raises NotExercised if all were cut off or refused."""
    complete = [
        (f"/choices/{index}/message/content", choice.content)
        for index, choice in exchange.choices.items()
        if choice.finish_reason == "stop"
    ]
    if not complete:
        raise NotExercised("no answer ended by itself")
    yield from complete


@check(
    "structured.json-object",
    on=either(
        _requests("response_format", "type", "json_object"), _requests("structured_outputs", "json_object", True)
    ),
)
def json_object_gives_one(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With the response_format json_object, or with structured_outputs.json_object, the text is one JSON object and
    nothing else.
    """
    for where, text in _texts(exchange):
        reading = read_json(text)
        if reading.error or not isinstance(reading.value, dict):
            yield Finding(where, "one JSON object", repr(text)[:200])


def _demands_a_schema(*, without_strict: bool) -> Applicability:
    """Include written requests for text that fits a schema, unless every value fits it or a stop string may end it.

    without_strict: whether it is the schema of a response_format whose `strict` is not true.
    """

    def applies_to(scenario: Scenario, step: Step, contract: Contract) -> bool:
        body = step.body or {}
        return (
            bool(schema_of_text(body))
            and is_without_strict(body) == without_strict
            and not body.get("stop")
            and not_generated(ANSWER).applies_to(scenario, step, contract)
        )

    return Applicability(applies_to, why_unanswered)


def _begun_string(text: str) -> str:
    """Return the JSON string that begins here; empty for anything else. An escape sequence that was cut is left out."""
    for length in range(len(text), max(1, len(text) - LONGEST_ESCAPE), -1):
        reading = read_json(f'{text[:length]}"')
        if not reading.error and isinstance(reading.value, str):
            return reading.value
    return ""


def _judge_schema(exchange: Exchange) -> Iterator[Finding]:
    """Judge every text against the schema that its request demands.

    Of an object that was cut off, each field that is complete is valid, and the next one not much too long.
    """
    schema = schema_of_text(exchange.request_json)
    validator = jsonschema_rs.validator_for(schema)
    begun = {
        f"/choices/{index}/message/content": read_cut_object(choice.content)
        for index, choice in exchange.choices.items()
        if choice.finish_reason == "length"
    }
    for where, (fields, name, rest) in begun.items():
        for problem in validator.iter_errors(fields):
            if problem.instance_path:  # not about the fields that are missing
                yield Finding(where, "fields that are valid against the schema", problem.message[:200])
        most = schema.get("properties", {}).get(name, {}).get("maxLength")
        if most is not None and len(_begun_string(rest)) > most:
            yield Finding(f"{where}/{name}", f"at most {most} characters", rest[:200])
    if any(fields for fields, _, _ in begun.values()):
        return
    for where, text in _texts(exchange):
        reading = read_json(text)
        if reading.error:
            yield Finding(where, "JSON", repr(text)[:200])
            continue
        for problem in validator.iter_errors(reading.value):
            yield Finding(where, "JSON that is valid against the schema", problem.message[:200])


@check("structured.fits-schema", on=_demands_a_schema(without_strict=False))
def json_schema_is_imposed(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With a response_format json_schema that is strict, or a schema in structured_outputs, the text is JSON that is
    valid against the schema, whatever the question is.
    """
    yield from _judge_schema(exchange)


@check("structured.fits-schema-without-strict", on=_demands_a_schema(without_strict=True))
def json_schema_is_followed(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With a response_format json_schema, the text is JSON that is valid against the schema also without `strict`."""
    yield from _judge_schema(exchange)


@check("structured.objects-without-the-word", on=in_scenario("structured", "object-wordless"))
def no_word_is_needed(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With the response_format json_object a request is answered even if no message contains the word JSON."""
    if reason := why_unanswered(exchange):
        yield Finding("/status", "200 and an answer", reason)


def _has_a_usual_schema(scenario: Scenario, step: Step, _: Contract) -> bool:
    """Tell whether a request demands JSON of a schema as clients generate it, which the server may refuse."""
    may_be_refused = scenario.id.startswith(SCHEMAS) or (scenario.id == "structured" and step.expect == "either")
    return may_be_refused and schema_of_text(step.body or {}) is not None


@check("structured.schemas-taken", on=Applicability(_has_a_usual_schema))
def usual_schemas_are_taken(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A schema as clients generate it is answered: with bounds, patterns, formats, constants, defaults, null, maps,
    lists of fixed length, unions, references to itself, hundreds of values, and roots of every type.
    """
    if reason := why_unanswered(exchange):
        yield Finding("/status", "200 and an answer", reason)


def _requests_an_object(scenario: Scenario, step: Step, contract: Contract) -> bool:
    """Tell whether a written request demands a JSON object, whatever may end it."""
    form = (step.body or {}).get("response_format")
    form = form if isinstance(form, dict) else {}
    schema = (form.get("json_schema") or {}).get("schema") or {}
    demanded = form.get("type") == "json_object" or (
        form.get("type") == "json_schema" and schema.get("type") == "object" and not is_without_strict(step.body or {})
    )
    return demanded and not_generated(ANSWER).applies_to(scenario, step, contract)


@check("structured.begins-with-a-brace", on=Applicability(_requests_an_object, why_unanswered))
def text_of_an_object_begins_with_a_brace(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """If the response_format demands a JSON object, strictly if by a schema, each text begins with its brace, also if
    it is cut off, streamed, or preceded by reasoning.
    """
    texts = {index: choice.content.lstrip() for index, choice in exchange.choices.items()}
    if not any(texts.values()):
        raise NotExercised("the answers have no text")
    for index, text in texts.items():
        if text and not text.startswith("{"):
            yield Finding(f"/choices/{index}/message/content", "a brace first", repr(text)[:200])


@check("structured.one-of-the-choices", on=_requests("structured_outputs", "choice"))
def choice_gives_one_of_the_texts(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With structured_outputs.choice the text is one of the given choices."""
    choices = exchange.request_json["structured_outputs"]["choice"]
    for where, text in _texts(exchange):
        if text.strip() not in choices:
            yield Finding(where, " or ".join(map(quote, choices)), repr(text)[:200])


@check("structured.matches-expression", on=_requests("structured_outputs", "regex"))
def expression_is_matched(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With structured_outputs.regex the whole text matches the expression."""
    expression = exchange.request_json["structured_outputs"]["regex"]
    for where, text in _texts(exchange):
        if not re.fullmatch(expression, text.strip()):
            yield Finding(where, expression, repr(text)[:200])


@check("structured.follows-grammar", on=_requests("structured_outputs", "grammar"))
def grammar_is_followed(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With structured_outputs.grammar the text consists of the strings of the grammar."""
    grammar = exchange.request_json["structured_outputs"]["grammar"]
    strings = re.findall(r'"([^"]+)"', grammar)
    expression = f"(?:{'|'.join(map(re.escape, strings))})+"
    for where, text in _texts(exchange):
        if not re.fullmatch(expression, text.strip()):
            yield Finding(where, f"only {', '.join(map(repr, strings))}", repr(text)[:200])


@relation("structured.streamed-as-plain", over=("person", "person-streamed"), unmet=why_unanswered)
def streamed_json_is_the_plain_one(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same greedy request gives valid JSON streamed if it does plain."""
    readings = {name: read_json(exchange.content() or "") for name, exchange in exchanges.items()}
    if readings["person"].error or exchanges["person-streamed"].finish_reason() == "length":
        raise NotExercised("the plain answer is not JSON, or the stream was cut off")
    if readings["person-streamed"].error:
        text = exchanges["person-streamed"].content() or ""
        yield Finding("/choices/0/message/content", "JSON, as in the plain answer", repr(text)[:200])
