"""Structured output: an answer whose form is demanded has it, whatever is asked."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from conformance.check import Applicability, Context, Finding, NotExercised, check, relation
from conformance.judge.applicability import ANSWER, not_generated, why_unanswered
from openapi.stream.strict_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange
    from openapi.contract.contract import Contract


def _demands(parameter: str, member: str, value: object = None) -> Applicability:
    """Requests in which a member of a parameter is there, or has a value."""

    def fits(scenario: Any, step: Any, contract: Contract) -> bool:
        demanded = (step.body or {}).get(parameter)
        found = demanded.get(member) if isinstance(demanded, dict) else None
        asked = found is not None if value is None else found == value
        whole = not (step.body or {}).get("stop")  # a stop text ends an answer wherever its form is then
        return asked and whole and not_generated(ANSWER).applies_to(scenario, step, contract)

    return Applicability(fits, why_unanswered)


def _texts(exchange: Exchange) -> Iterator[tuple[str, str]]:
    """The whole texts with their places; raises NotExercised where all were cut off or refused."""
    found = [
        (f"/choices/{index}/message/content", choice.content)
        for index, choice in exchange.choices.items()
        if choice.finish_reason == "stop"
    ]
    if not found:
        raise NotExercised("no answer ended by itself")
    yield from found


@check("structured.json-object", on=_demands("response_format", "type", "json_object"))
def json_object_gives_one(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With the response_format json_object the text is one JSON object, with nothing around it."""
    for where, text in _texts(exchange):
        reading = read_json(text)
        if reading.error or not isinstance(reading.value, dict):
            yield Finding(where, "one JSON object", repr(text)[:200])


@check("structured.fits-schema", on=_demands("response_format", "json_schema"))
def json_schema_is_imposed(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With the response_format json_schema the text is JSON that is valid against the schema, whatever is asked."""
    schema = exchange.request_json["response_format"]["json_schema"]["schema"]
    for where, text in _texts(exchange):
        reading = read_json(text)
        if reading.error:
            yield Finding(where, "JSON of the schema", repr(text)[:200])
            continue
        for problem in jsonschema_rs.validator_for(schema).iter_errors(reading.value):
            yield Finding(where, "what the schema demands", problem.message[:200])


@check("structured.one-of-the-choices", on=_demands("structured_outputs", "choice"))
def choice_gives_one_of_the_texts(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With structured_outputs.choice the text is one of those given."""
    choices = exchange.request_json["structured_outputs"]["choice"]
    for where, text in _texts(exchange):
        if text.strip() not in choices:
            yield Finding(where, " or ".join(choices), repr(text)[:200])


@check("structured.matches-expression", on=_demands("structured_outputs", "regex"))
def expression_is_matched(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With structured_outputs.regex the whole text matches the expression."""
    expression = exchange.request_json["structured_outputs"]["regex"]
    for where, text in _texts(exchange):
        if not re.fullmatch(expression, text.strip()):
            yield Finding(where, expression, repr(text)[:200])


@relation("structured.streamed-as-plain", over=("person", "person-streamed"), unmet=why_unanswered)
def streamed_json_is_the_plain_one(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same greedy request gives JSON both ways: a stream whose plain form is valid is valid, too."""
    readings = {name: read_json(each.content() or "") for name, each in exchanges.items()}
    if readings["person"].error or exchanges["person-streamed"].finish_reason() == "length":
        raise NotExercised("the plain answer is no JSON, or the stream was cut off")
    if readings["person-streamed"].error:
        text = exchanges["person-streamed"].content() or ""
        yield Finding("/choices/0/message/content", "JSON, as in the plain answer", repr(text)[:200])
