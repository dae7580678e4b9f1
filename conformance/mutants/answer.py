"""Plain answers, broken."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.mutants.editing import (
    edit_answer,
    edit_choice,
    edit_message,
    edit_text,
    refuse,
    with_body,
    with_header,
    with_json,
)
from conformance.mutants.mutant import mutant
from openapi import sse

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("answer.accepted")
def valid_request_is_refused(exchange: Exchange) -> Exchange:
    """A valid request is refused with 422."""
    return refuse(exchange, 422)


@mutant("answer.no-error-inside")
def error_comes_with_success(exchange: Exchange) -> Exchange:
    """An error comes with status 200."""
    return with_json(exchange, {"error": "the model failed"})


@mutant("answer.json-content-type")
def answer_is_sent_as_text(exchange: Exchange) -> Exchange:
    """A plain answer is sent as text/plain."""
    return with_header(exchange, "content-type", "text/plain")


@mutant("answer.fits-schema")
def logprobs_are_a_text(exchange: Exchange) -> Exchange:
    """`logprobs` of a choice is an empty text instead of null."""
    return edit_choice(exchange, lambda choice: choice.update(logprobs=""))


@mutant("answer.object-named")
def object_is_of_the_older_api(exchange: Exchange) -> Exchange:
    """`object` is "text_completion", the name of the older API."""
    return edit_answer(exchange, lambda answer: answer.update(object="text_completion"))


@mutant("answer.id-given")
def id_is_empty(exchange: Exchange) -> Exchange:
    """`id` is an empty text."""
    return edit_answer(exchange, lambda answer: answer.update(id=""))


@mutant("answer.created-now")
def created_is_in_milliseconds(exchange: Exchange) -> Exchange:
    """`created` is in milliseconds."""
    return edit_answer(exchange, lambda answer: answer.update(created=answer["created"] * 1000))


@mutant("answer.model-echoed")
def model_is_another(exchange: Exchange) -> Exchange:
    """The answer names another model than the request."""
    return edit_answer(exchange, lambda answer: answer.update(model="another-model"))


@mutant("answer.indices-from-zero")
def index_starts_at_one(exchange: Exchange) -> Exchange:
    """The index of the only choice is 1."""
    return edit_choice(exchange, lambda choice: choice.update(index=1))


@mutant("answer.one-choice-by-default")
def second_choice_comes_unasked(exchange: Exchange) -> Exchange:
    """A second choice comes unasked."""
    return edit_answer(exchange, lambda answer: answer["choices"].append({**answer["choices"][0], "index": 1}))


@mutant("answer.as-many-choices-as-asked")
def last_choice_is_missing(exchange: Exchange) -> Exchange:
    """The last of the choices that were asked for is missing."""
    return edit_answer(exchange, lambda answer: answer["choices"].pop())


@mutant("answer.logprobs-when-asked")
def logprobs_are_null(exchange: Exchange) -> Exchange:
    """`logprobs` of the first choice is null although the request asks for them."""
    return edit_choice(exchange, lambda choice: choice.update(logprobs=None))


@mutant("answer.role-assistant")
def role_is_user(exchange: Exchange) -> Exchange:
    """The message's role is "user"."""
    return edit_message(exchange, lambda message: message.update(role="user"))


@mutant("answer.content-is-text")
def content_is_null(exchange: Exchange) -> Exchange:
    """The content is null, and neither calls of tools nor thoughts stand beside it."""

    def silence(message: dict[str, Any]) -> None:
        message.update(content=None)
        for name in ("tool_calls", "reasoning_content", "reasoning"):
            message.pop(name, None)

    return edit_message(exchange, silence)


@mutant("answer.tool-calls-well-formed")
def arguments_are_no_text(exchange: Exchange) -> Exchange:
    """The arguments of a tool call are an object, not its text."""
    function = {"name": "get_weather", "arguments": {"city": "Rome"}}
    calls: list[dict[str, Any]] = [{"id": "call-1", "type": "function", "function": function}]
    return edit_message(exchange, lambda message: message.update(tool_calls=calls))


@mutant("answer.usage-present")
def usage_is_absent(exchange: Exchange) -> Exchange:
    """A plain answer has no usage."""
    return edit_answer(exchange, lambda answer: answer.pop("usage"))


@mutant("answer.timings-non-negative")
def prefill_time_is_negative(exchange: Exchange) -> Exchange:
    """`prefill_time` is negative."""
    return edit_answer(exchange, lambda answer: answer.update(prefill_time=-1))


@mutant("answer.text-well-encoded")
def character_is_cut(exchange: Exchange) -> Exchange:
    """The text ends with U+FFFD in place of a character."""
    return edit_text(exchange, lambda text: f"{text}\ufffd")


@mutant("answer.utf8")
def answer_starts_with_a_mark(exchange: Exchange) -> Exchange:
    """A byte order mark comes before the answer."""
    return with_body(exchange, b"\xef\xbb\xbf" + exchange.body)


@mutant("answer.json-unambiguous")
def member_is_named_twice(exchange: Exchange) -> Exchange:
    """The answer names its object twice."""
    return with_body(exchange, exchange.body.rstrip()[:-1] + b',"object":"chat.completion.chunk"}')


@mutant("answer.plain-unless-asked")
def answer_comes_as_an_event(exchange: Exchange) -> Exchange:
    """A request that asks for no stream is answered with one."""
    return with_header(with_body(exchange, sse.encode(exchange.body)), "content-type", sse.MEDIA_TYPE)


@mutant("answer.messages-not-deltas")
def text_stands_beside_the_message(exchange: Exchange) -> Exchange:
    """A choice holds a text beside its message, as in the interface before this one."""
    return edit_choice(exchange, lambda choice: choice.update(text="Hello!"))


@mutant("answer.members-known")
def answer_has_a_further_member(exchange: Exchange) -> Exchange:
    """The answer has a member that no document names."""
    return edit_answer(exchange, lambda answer: answer.update(x_note="extra"))
