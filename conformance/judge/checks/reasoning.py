"""Thoughts: apart from the answer, before it, and only when they are wanted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NotExercised, NotObserved, check, relation
from conformance.judge.applicability import (
    ANSWER,
    STREAMED_ANSWER,
    at_temperature_0,
    in_scenario,
    not_generated,
    why_unanswered,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

FORCING = (b"ignore_eos", b"min_tokens", b"logit_bias", b"allowed_token_ids", b"bad_words")
TAGS = re.compile(r"</?(?:think|thinking|thought|reasoning)>|<\|/?think\|>|◁/?think▷", re.IGNORECASE)


@check("reasoning.no-tags", on=at_temperature_0(not_generated(ANSWER)))
def tags_of_thoughts_do_not_leak(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The marks around a model's thoughts stand neither in the answer nor in the thoughts.

    Only greedy answers are judged: a model that draws its tokens may draw a mark where none belongs.
    """
    sent = exchange.request.body.decode(errors="replace")
    if any(name in exchange.request.body for name in FORCING):
        raise NotExercised("the request makes the model say what it would not")
    for index, choice in exchange.choices.items():
        for name, text in (("content", choice.content), ("reasoning", choice.reasoning)):
            found = TAGS.search(text)
            if found and found.group() not in sent:
                yield Finding(f"/choices/{index}/message/{name}", f"no {found.group()}", repr(text)[-200:])


@check("reasoning.shown-when-on", on=in_scenario("thinking", "plain*"))
def thoughts_are_shown_when_wanted(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With thinking turned on the thoughts stand apart from the answer."""
    if reason := why_unanswered(exchange):
        raise NotObserved(reason)
    for index, choice in exchange.choices.items():
        if not choice.reasoning:
            yield Finding(f"/choices/{index}/message/reasoning_content", "thoughts", "none")


@check("reasoning.none-when-off", on=in_scenario("thinking", "thoughtless*"))
def no_thoughts_when_turned_off(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With thinking turned off an answer holds no thoughts."""
    if reason := why_unanswered(exchange):
        raise NotObserved(reason)
    for index, choice in exchange.choices.items():
        if choice.reasoning.strip():
            yield Finding(f"/choices/{index}/message/reasoning_content", "none", repr(choice.reasoning)[:200])


@check("reasoning.answer-follows", on=not_generated(ANSWER))
def thoughts_are_followed_by_an_answer(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Where thoughts ended by themselves an answer follows them: a text, or a call of a tool."""
    thinking = {index: choice for index, choice in exchange.choices.items() if choice.reasoning}
    if not thinking:
        raise NotExercised("the answer holds no thoughts")
    for index, choice in thinking.items():
        if choice.finish_reason != "length" and not (choice.content or choice.tool_calls):
            yield Finding(f"/choices/{index}/message/content", "an answer", "thoughts alone")


@check("reasoning.before-the-answer", on=not_generated(STREAMED_ANSWER))
def thoughts_are_streamed_before_the_answer(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """No thought is streamed after the answer has begun."""
    begun: set[str] = set()
    seen = False
    for at, chunk in exchange.walk.chunks:
        choices = chunk.get("choices")
        for choice in choices if isinstance(choices, list) else []:
            delta = choice.get("delta") if isinstance(choice, dict) else None
            if not isinstance(delta, dict):
                continue
            thought = delta.get("reasoning_content") or delta.get("reasoning")
            seen = seen or bool(thought)
            index = repr(choice.get("index"))
            if thought and index in begun:
                yield Finding(f"/events/{at}", "thoughts before the answer", repr(thought)[:80])
                return
            if delta.get("content") and str(delta["content"]).strip():
                begun.add(index)
    if not seen:
        raise NotExercised("the stream holds no thoughts")


@relation(
    "reasoning.streamed-as-plain", over=("plain", "streamed", "plain-again", "streamed-again"), unmet=why_unanswered
)
def streamed_thoughts_are_the_plain_ones(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same greedy request has the same thoughts, streamed and plain."""
    said = {name: each.choices[0].reasoning if 0 in each.choices else "" for name, each in exchanges.items()}
    if not any(said.values()):
        raise NotExercised("the answers hold no thoughts")
    if said["plain"] != said["plain-again"] or said["streamed"] != said["streamed-again"]:
        raise NotExercised("greedy answers of this server do not repeat")
    if said["plain"].strip() != said["streamed"].strip():
        yield Finding("/choices/0/message/reasoning_content", repr(said["plain"])[:200], repr(said["streamed"])[:200])


@check("reasoning.tokens-counted", on=not_generated(ANSWER))
def tokens_of_thoughts_are_counted(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Where usage counts the tokens of thoughts, it counts some exactly where there are thoughts."""
    details = (exchange.usage or {}).get("completion_tokens_details")
    counted = details.get("reasoning_tokens") if isinstance(details, dict) else None
    if type(counted) is not int:
        raise NotExercised("usage does not count thoughts")
    if any(choice.reasoning for choice in exchange.choices.values()) and counted < 1:
        yield Finding("/usage/completion_tokens_details/reasoning_tokens", "at least 1", f"{counted}")
