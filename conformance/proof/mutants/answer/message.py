"""Mutants of the choices and messages of a plain answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import edit_answer, edit_choice, edit_message, edit_text
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("answer.indices-from-zero")
def index_starts_at_one(exchange: Exchange) -> Exchange:
    """The index of the only choice is 1."""
    return edit_choice(exchange, lambda choice: choice.update(index=1))


@mutant("answer.one-choice-by-default")
def second_choice_comes_unasked(exchange: Exchange) -> Exchange:
    """The answer has a second choice that was not requested."""
    return edit_answer(exchange, lambda answer: answer["choices"].append({**answer["choices"][0], "index": 1}))


@mutant("answer.as-many-choices-as-asked")
def last_choice_is_missing(exchange: Exchange) -> Exchange:
    """The last of the requested choices is missing."""
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
    """The content is null, without tool calls or reasoning."""

    def silence(message: dict[str, Any]) -> None:
        message.update(content=None)
        for name in ("tool_calls", "reasoning_content", "reasoning"):
            message.pop(name, None)

    return edit_message(exchange, silence)


@mutant("answer.tool-calls-well-formed")
def arguments_are_no_text(exchange: Exchange) -> Exchange:
    """The arguments of a tool call are an object instead of a string."""
    function = {"name": "get_weather", "arguments": {"city": "Rome"}}
    calls: list[dict[str, Any]] = [{"id": "call-1", "type": "function", "function": function}]
    return edit_message(exchange, lambda message: message.update(tool_calls=calls))


@mutant("answer.text-well-encoded")
def character_is_cut(exchange: Exchange) -> Exchange:
    """The text ends with U+FFFD in place of a character."""
    return edit_text(exchange, lambda text: f"{text}\ufffd")


@mutant("answer.messages-not-deltas")
def text_stands_beside_the_message(exchange: Exchange) -> Exchange:
    """A choice has a `text` in addition to its message, as in the completions API."""
    return edit_choice(exchange, lambda choice: choice.update(text="Hello!"))
