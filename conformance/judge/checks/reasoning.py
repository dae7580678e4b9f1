"""Checks of reasoning: it is separate from the answer, precedes it, and appears only on request."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from conformance.check import Applicability, Context, Finding, NotExercised, NotObserved, check, relation
from conformance.judge.answer_fields import REASONING_TAGS
from conformance.judge.applicability import (
    ANSWER,
    STREAMED_ANSWER,
    at_temperature_0,
    either,
    in_scenario,
    not_generated,
    why_unanswered,
)
from conformance.judge.logprob_entries import any_entries
from conformance.plan.scenarios.combinations.crowds import CROWDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange
    from conformance.scenario import Scenario, Step
    from openapi.contract.contract import Contract


def _asks_for_no_effort(scenario: Scenario, step: Step, contract: Contract) -> bool:
    """Tell whether a request that must be answered turns reasoning off by its effort."""
    return (step.body or {}).get("reasoning_effort") == "none" and ANSWER.applies_to(scenario, step, contract)


SHORT: Final = 6
"""Characters of reasoning that an answer may begin with by chance."""
FORCING = (b"ignore_eos", b"min_tokens", b"logit_bias", b"allowed_token_ids", b"bad_words")


@check("reasoning.no-tags", on=at_temperature_0(not_generated(ANSWER)))
def tags_of_thoughts_do_not_leak(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The tags around a model's reasoning are neither in the answer nor in the reasoning.

    Only greedy answers are judged: a model that samples may generate a tag by chance.
    """
    sent = exchange.request.body.decode(errors="replace")
    if any(name in exchange.request.body for name in FORCING):
        raise NotExercised("the request forces tokens that the model would not choose")
    for index, choice in exchange.choices.items():
        for name, text in (("content", choice.content), ("reasoning", choice.reasoning)):
            found = REASONING_TAGS.search(text)
            if found and found.group() not in sent:
                yield Finding(f"/choices/{index}/message/{name}", f"no {found.group()}", repr(text)[-200:])


@check(
    "reasoning.shown-when-on",
    on=either(
        in_scenario(f"{CROWDS}*", "*thoughts*"),
        either(in_scenario("thinking", "plain*"), in_scenario("thinking", "streamed*")),
    ),
)
def thoughts_are_shown_when_wanted(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With thinking turned on the reasoning of each choice is separate from the answer, also after instructions and
    earlier reasoning, next to tools and media, at any effort, and next to many other parameters.

    Next to many other parameters a model may not reason at all: only choices of which others reason are judged.
    """
    if reason := why_unanswered(exchange):
        raise NotObserved(reason)
    if exchange.scenario.startswith(CROWDS) and not any(choice.reasoning for choice in exchange.choices.values()):
        raise NotExercised("the model does not reason next to these parameters")
    for index, choice in exchange.choices.items():
        if not choice.reasoning:
            yield Finding(f"/choices/{index}/message/reasoning_content", "reasoning", "none")


@relation("reasoning.kept-in-forms", over=("plain", "formed"))
def thoughts_precede_a_form(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """With thinking turned on an answer that must be JSON has reasoning too: the form begins after it."""
    plain, formed = exchanges.values()
    if formed.status is not None and 400 <= formed.status < 500:
        raise NotExercised("reasoning and a format together are refused")
    if reason := next(filter(None, map(why_unanswered, exchanges.values())), None):
        raise NotObserved(reason)
    if not any(choice.reasoning for choice in plain.choices.values()):
        raise NotExercised("the answer without the format has no reasoning either")
    if not any(choice.reasoning for choice in formed.choices.values()):
        yield Finding("/formed/choices/0/message/reasoning_content", "reasoning, as without the format", "none")


@relation("reasoning.same-beside-others", over=("plain", "plain-again", "beside-others"))
def other_parameters_leave_the_thoughts_alone(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """With log-probabilities, a stop string that never occurs and a budget as large as the whole answer, reasoning and
    answer are those without, each in its field, and there are log-probabilities.

    Not judged if the combination is refused, or if the same request has two answers.
    """
    plain, again, beside = exchanges.values()
    if beside.status is not None and 400 <= beside.status < 500:
        raise NotExercised("the combination is refused")
    if reason := next(filter(None, map(why_unanswered, exchanges.values())), None):
        raise NotObserved(reason)
    known, repeated, found = (
        [(item.reasoning, item.content) for item in answer.choices.values()] for answer in (plain, again, beside)
    )
    if known != repeated:
        raise NotExercised("the reasoning of this server does not repeat")
    if found != known:
        yield Finding("/beside-others/choices/0/message", repr(known[:1])[:200], repr(found[:1])[:200])
    elif not any_entries(beside):
        yield Finding("/beside-others/choices/0/logprobs", "log-probabilities", "none")


@check(
    "reasoning.none-when-off",
    on=either(in_scenario("thinking", "thoughtless*"), in_scenario(f"{CROWDS}*", "*thoughtless*")),
)
def no_thoughts_when_turned_off(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With thinking turned off an answer has no reasoning."""
    if reason := why_unanswered(exchange):
        raise NotObserved(reason)
    for index, choice in exchange.choices.items():
        if choice.reasoning.strip():
            yield Finding(f"/choices/{index}/message/reasoning_content", "none", repr(choice.reasoning)[:200])


@check("reasoning.answer-follows", on=not_generated(ANSWER))
def thoughts_are_followed_by_an_answer(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Reasoning that ended by itself is followed by an answer, content or a tool call, and reasoning that the limit of
    tokens cut off is not sent again as content.

    Not judged if the request has stop strings or stop tokens, which may occur in the reasoning, or if answers are
    sampled: any token may be the last one.
    """
    sent: Any = exchange.request_json
    if not isinstance(sent, dict) or sent.get("stop") or sent.get("stop_token_ids"):
        raise NotExercised("a stop string may occur in the reasoning")
    if sent.get("temperature") != 0:
        raise NotExercised("the answer is sampled and may end anywhere")
    thinking = {index: choice for index, choice in exchange.choices.items() if choice.reasoning}
    if not thinking:
        raise NotExercised("the answer has no reasoning")
    for index, choice in thinking.items():
        if choice.finish_reason != "length" and not (choice.content or choice.tool_calls):
            yield Finding(f"/choices/{index}/message/content", "an answer", "only reasoning")
        again = choice.content.strip() == choice.reasoning.strip() and len(choice.content) > SHORT
        if choice.finish_reason == "length" and again:
            yield Finding(f"/choices/{index}/message/content", "no content", f"the reasoning: {choice.content!r}"[:200])


@check("reasoning.before-the-answer", on=not_generated(STREAMED_ANSWER))
def thoughts_are_streamed_before_the_answer(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """No reasoning is streamed after the answer has begun.

    In the full-text mode a delta that repeats the whole reasoning adds nothing.
    """
    begun: set[str] = set()
    thoughts: dict[str, str] = {}
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
            repeats = bool(exchange.walk.full_texts) and thought == thoughts.get(index)
            if thought and index in begun and not repeats:
                yield Finding(f"/events/{at}", "no reasoning after the answer has begun", repr(thought)[:80])
                return
            thoughts[index] = thought or thoughts.get(index, "")
            if delta.get("content") and str(delta["content"]).strip():
                begun.add(index)
    if not seen:
        raise NotExercised("the stream has no reasoning")


@relation(
    "reasoning.streamed-as-plain", over=("plain", "streamed", "plain-again", "streamed-again"), unmet=why_unanswered
)
def streamed_thoughts_are_the_plain_ones(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same greedy request has the same reasoning, streamed and plain."""
    reasoning = {
        name: exchange.first_choice.reasoning if exchange.first_choice else "" for name, exchange in exchanges.items()
    }
    if not any(reasoning.values()):
        raise NotExercised("the answers have no reasoning")
    if reasoning["plain"] != reasoning["plain-again"] or reasoning["streamed"] != reasoning["streamed-again"]:
        raise NotExercised("greedy answers of this server do not repeat")
    if reasoning["plain"].strip() != reasoning["streamed"].strip():
        yield Finding(
            "/choices/0/message/reasoning_content", repr(reasoning["plain"])[:200], repr(reasoning["streamed"])[:200]
        )


@check("reasoning.tokens-counted", on=not_generated(ANSWER))
def tokens_of_thoughts_are_counted(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """If usage counts reasoning tokens, the count is at least 1 for an answer with reasoning."""
    details = (exchange.usage or {}).get("completion_tokens_details")
    counted = details.get("reasoning_tokens") if isinstance(details, dict) else None
    if type(counted) is not int:
        raise NotExercised("usage does not count reasoning tokens")
    if any(choice.reasoning for choice in exchange.choices.values()) and counted < 1:
        yield Finding("/usage/completion_tokens_details/reasoning_tokens", "at least 1", f"{counted}")


@check("reasoning.none-without-effort", on=Applicability(_asks_for_no_effort, why_unanswered))
def no_effort_is_no_reasoning(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With a reasoning_effort of none an answer has no reasoning, and usage counts none."""
    details = (exchange.usage or {}).get("completion_tokens_details")
    counted = details.get("reasoning_tokens") if isinstance(details, dict) else None
    if type(counted) is int and counted > 0:
        yield Finding("/usage/completion_tokens_details/reasoning_tokens", "0", f"{counted}")
    for index, choice in exchange.choices.items():
        if choice.reasoning.strip():
            yield Finding(f"/choices/{index}/message/reasoning_content", "none", repr(choice.reasoning)[:200])
