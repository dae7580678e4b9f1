"""Checks of vLLM's parameters for how much of a prompt the model receives, and of the forms of conversations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NotExercised, NotObserved, check, relation
from conformance.judge.answer_fields import prompt_field
from conformance.judge.applicability import in_scenario, why_unanswered
from conformance.judge.token_counts import prompt_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

CUT_STEPS = ("uncut", "cut-right", "cut-left")


def _limit(exchange: Exchange) -> int:
    sent: Any = exchange.request_json
    limit: int = sent["truncate_prompt_tokens"]
    return limit


@relation("prompt.cut-to-length", over=CUT_STEPS, unmet=why_unanswered)
def longer_prompts_are_cut(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A prompt of more than truncate_prompt_tokens tokens is cut to that number, as usage counts them."""
    whole = prompt_count(exchanges["uncut"])
    for name in CUT_STEPS[1:]:
        limit, found = _limit(exchanges[name]), prompt_count(exchanges[name])
        if whole <= limit:
            raise NotExercised("the prompt is short")
        if found > limit:
            yield Finding(f"/{name}/usage/prompt_tokens", f"at most {limit}", f"{found}")


@relation("prompt.side-kept", over=CUT_STEPS, unmet=why_unanswered)
def the_other_side_is_kept(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A prompt that is cut on the right keeps its first tokens, one that is cut on the left its last."""
    tokens = {name: prompt_field(exchanges[name], "prompt_token_ids") for name in CUT_STEPS}
    if not all(isinstance(ids, list) and ids for ids in tokens.values()):
        raise NotExercised("the answers have no prompt_token_ids")
    whole, right, left = (tokens[name] for name in CUT_STEPS)
    if whole[: len(right)] != right:
        yield Finding("/cut-right/prompt_token_ids", repr(whole[: len(right)])[:200], repr(right)[:200])
    if whole[-len(left) :] != left:
        yield Finding("/cut-left/prompt_token_ids", repr(whole[-len(left) :])[:200], repr(left)[:200])


@check("prompt.last-message-continued", on=in_scenario("answers-continued", "continued"))
def prompt_ends_with_the_last_message(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With continue_final_message the prompt ends with the last message, left open, so that the answer continues it."""
    _require_answer(exchange)
    sent: Any = exchange.request_json
    found = prompt_field(exchange, "prompt_text")
    if not isinstance(found, str):
        raise NotExercised("the answer has no prompt_text")
    message = sent["messages"][-1]["content"]
    if not found.rstrip().endswith(message):
        yield Finding("/prompt_text", f"{message!r} at its end", repr(found[-80:]))


@relation("prompt.last-message-echoed", over=("continued", "echoed"), unmet=why_unanswered)
def last_message_stands_before_the_answer(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """With echo each choice begins with the last message if the assistant wrote it and the answer continues it."""
    sent: Any = exchanges["echoed"].request_json
    message = sent["messages"][-1]["content"]
    for index, choice in exchanges["echoed"].choices.items():
        if not choice.content.startswith(message):
            yield Finding(
                f"/choices/{index}/message/content", f"{message!r} at its beginning", repr(choice.content)[:200]
            )


@relation("prompt.no-echo-unasked", over=("continued", "echoed"), unmet=why_unanswered)
def last_message_is_not_repeated_unasked(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Without echo an answer that continues the last message does not begin with it: with echo it is a longer one."""
    sent: Any = exchanges["echoed"].request_json
    message = sent["messages"][-1]["content"]
    continued, echoed = (exchanges[name].content() or "" for name in ("continued", "echoed"))
    if continued.startswith(message) and continued == echoed:
        yield Finding("/continued/choices/0/message/content", f"not {message!r} again", repr(continued)[:200])


def _require_answer(exchange: Exchange) -> None:
    """Raise NotObserved if the request was not answered."""
    if reason := why_unanswered(exchange):
        raise NotObserved(reason)


@check("prompt.names-accepted", on=in_scenario("conversation-forms", "named"))
def messages_with_names_are_answered(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A conversation whose messages have a name is answered. The name may have no effect."""
    if reason := why_unanswered(exchange):
        yield Finding("/status", "200 and an answer", reason)


@check("prompt.developers-accepted", on=in_scenario("conversation-forms", "developer"))
def instructions_of_a_developer_are_answered(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A conversation that begins with a message of the role developer is answered."""
    if reason := why_unanswered(exchange):
        yield Finding("/status", "200 and an answer", reason)


@check("prompt.any-order-survived", on=in_scenario("conversation-forms", "unusual-*"))
def messages_in_any_order_are_no_failure(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A conversation that the model's template rejects is refused as a client error: in an unusual order, or whose text
    contains marks of templates, of images and of placeholders.
    """
    if exchange.status is not None and 400 <= exchange.status < 500:
        raise NotExercised("the order of the messages, or what they contain, may be refused")
    if reason := why_unanswered(exchange):
        yield Finding("/status", "an answer, or 4xx", reason)
