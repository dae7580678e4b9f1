"""Checks of the choices of a plain answer and of their messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, check
from conformance.judge.answer_fields import choices_of, possible_roles, requested_choices
from conformance.judge.applicability import LOGPROBS, PLAIN_ANSWER, SEVERAL_CHOICES, at_temperature_0, not_generated
from conformance.judge.evidence.cut_characters import require_cut_by_server
from conformance.judge.logprob_entries import CUT
from openapi.schema.quantity import format_quantity
from openapi.stream.accumulated_choice import INPUT_FIELDS, kind_of_call
from openapi.stream.strict_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange


@check("answer.messages-not-deltas", on=PLAIN_ANSWER)
def answer_holds_messages_alone(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A choice of a plain answer has its text in `message`, not in the `delta` or `text` of other interfaces."""
    for index, choice in enumerate(choices_of(exchange)):
        if others := [name for name in ("delta", "text") if choice.get(name) is not None]:
            yield Finding(f"/choices/{index}", "only message", ", ".join(others))


@check("answer.indices-from-zero", on=PLAIN_ANSWER)
def indices_count_from_zero(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The indices of the choices are 0, 1, ... without a gap."""
    found = [choice.get("index") for choice in choices_of(exchange)]
    if {index for index in found if type(index) is int} != set(range(len(found))):
        yield Finding("/choices/*/index", f"{list(range(len(found)))}", f"{found}")


@check("answer.one-choice-by-default", on=PLAIN_ANSWER)
def one_choice_when_none_is_asked_for(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """There is one choice if `n` is not given or is 1."""
    if isinstance(exchange.request_json, dict) and requested_choices(exchange, context) not in (None, 1):
        raise NotExercised("the request asks for more than one choice")
    found = len(choices_of(exchange))
    if found != 1:
        yield Finding("/choices", "1 choice", format_quantity(found, "choice"))


@check("answer.as-many-choices-as-asked", on=SEVERAL_CHOICES)
def choices_are_as_many_as_asked(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """There are `n` choices if `n` is greater than one."""
    requested, found = requested_choices(exchange, context), len(choices_of(exchange))
    if found != requested:
        yield Finding("/choices", format_quantity(requested, "choice"), format_quantity(found, "choice"))


@check("answer.logprobs-when-asked", on=LOGPROBS)
def logprobs_are_given_when_asked_for(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every choice has log-probabilities if the request asks for them."""
    for index, choice in enumerate(choices_of(exchange)):
        if not isinstance(choice.get("logprobs"), dict):
            yield Finding(f"/choices/{index}/logprobs", "an object", repr(choice.get("logprobs"))[:80])


@check("answer.role-assistant", on=PLAIN_ANSWER)
def role_is_assistant(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The message's role is "assistant".

    In some dialects it is the role of the last message if the request adds no prompt for the assistant.
    """
    possible = possible_roles(exchange, context)
    for index, choice in enumerate(choices_of(exchange)):
        message = choice.get("message")
        role = message.get("role") if isinstance(message, dict) else None
        if role not in possible:
            yield Finding(f"/choices/{index}/message/role", " or ".join(possible), repr(role))


@check("answer.content-is-text", on=PLAIN_ANSWER, invalidates=("field",))
def content_is_a_text(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The message's content is a string unless the message calls tools or has reasoning."""
    for index, choice in enumerate(choices_of(exchange)):
        message = choice.get("message")
        if not isinstance(message, dict):
            yield Finding(f"/choices/{index}/message", "an object", repr(message))
        elif not isinstance(message.get("content"), str) and not (
            message.get("tool_calls") or message.get("reasoning_content") or message.get("reasoning")
        ):
            yield Finding(f"/choices/{index}/message/content", "a string", repr(message.get("content")))


@check("answer.tool-calls-well-formed", on=PLAIN_ANSWER)
def tool_calls_are_well_formed(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Tool calls, if any, have an id, the type of their tool, a name, and arguments that are a string of JSON.

    A call of a custom tool has any string as its input. Absent, null and an empty list all mean that no tool is called.
    Arguments that the length limit cut off may be incomplete.
    """
    for index, choice in enumerate(choices_of(exchange)):
        message = choice.get("message")
        calls = message.get("tool_calls") if isinstance(message, dict) else None
        where = f"/choices/{index}/message/tool_calls"
        if calls is None:
            continue
        if not isinstance(calls, list):
            yield Finding(where, "a list or null", repr(calls)[:80])
            continue
        for at, call in enumerate(calls):
            yield from _call_findings(call, f"{where}/{at}", cut=choice.get("finish_reason") == "length")


def _call_findings(call: object, where: str, *, cut: bool) -> Iterator[Finding]:
    """Yield a finding for each part of a tool call that is missing or has the wrong type."""
    kind = kind_of_call(call) if isinstance(call, dict) else None
    if not isinstance(call, dict) or kind is None:
        yield Finding(where, "an object with a function", repr(call)[:80])
        return
    tool, field = call[kind], INPUT_FIELDS[kind]
    if not isinstance(call.get("id"), str) or not call["id"]:
        yield Finding(f"{where}/id", "a string", repr(call.get("id")))
    if call.get("type") != kind:
        yield Finding(f"{where}/type", kind, repr(call.get("type")))
    if not isinstance(tool.get("name"), str) or not tool["name"]:
        yield Finding(f"{where}/{kind}/name", "a string", repr(tool.get("name")))
    text = tool.get(field)
    if not isinstance(text, str) or (kind == "function" and read_json(text).error and not cut):
        expected = "a string of JSON" if kind == "function" else "a string"
        yield Finding(f"{where}/{kind}/{field}", expected, repr(text)[:80])


@check("answer.text-well-encoded", on=at_temperature_0(not_generated(PLAIN_ANSWER)))
def text_holds_no_replacement_character(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The text has no U+FFFD, which replaces a character that was cut.

    Not judged if the model may generate invalid UTF-8 itself, or if biases make it choose unlikely tokens.
    """
    if exchange.request_json.get("logit_bias"):
        raise NotExercised("biases may make the model choose parts of characters")
    require_cut_by_server(exchange, context)
    for index, choice in exchange.choices.items():
        if CUT in choice.content:
            yield Finding(f"/choices/{index}/message/content", "whole characters", repr(choice.content)[:80])
