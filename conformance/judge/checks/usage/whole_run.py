"""Checks of the counts of every answer of a run by the others: what is equal is counted alike."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NotExercised, check
from conformance.judge.applicability import ANSWER, not_generated
from conformance.judge.evidence.run_answers import require_answers
from conformance.judge.token_counts import comparable_counts, usage_counts, visible_count
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from conformance.exchange import Exchange
    from conformance.judge.evidence.answer_text import AnswerText
    from conformance.judge.evidence.run_answers import RunAnswers


@check("usage.prompt-counted-alike", on=ANSWER)
def the_same_prompt_is_counted_alike_everywhere(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The same prompt counts the same number of tokens in every answer of the run, whatever else a request contains.

    Sampling parameters, limits, the form of the answer, earlier and concurrent requests do not change the prompt.
    """
    prompt = _count_prompt(exchange)
    answers = require_answers(context)
    usual = _find_usual(answers, answers.with_prompt_of(exchange), _count_prompt)
    if usual is None:
        raise NotExercised("no other answer counts the same prompt")
    if prompt != usual:
        yield Finding("/usage/prompt_tokens", f"{usual}, as for the same prompt in other answers", f"{prompt}")


@check("usage.text-counted-alike", on=ANSWER)
def the_same_text_is_counted_alike_everywhere(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """Answers with the same text to requests with the same meaning count the same number of completion tokens.

    Judged for greedy and seeded requests, whose answers consist of the same tokens. Reasoning that is counted but not
    shown may differ.
    """
    completion = _count_text(exchange)
    answers = require_answers(context)
    group = answers.with_text_of(exchange)
    own = next((text for text in group if text.exchange.id == exchange.id), None)
    if own is None or len(exchange.choices) > 1:
        raise NotExercised("no other answer has the same text")
    same = [text.exchange for text in group if _is_same_answer(text, own)]
    alone = [other for other in same if answers.number_of(other, _count_choices) == 1]
    usual = _find_usual(answers, alone, _count_text)
    if usual is None:
        raise NotExercised("no other answer counts the same text")
    if completion != usual:
        yield Finding("/usage/completion_tokens", f"{usual}, as for the same text in other answers", f"{completion}")


@check("usage.tools-counted", on=ANSWER)
def tools_are_counted_with_the_prompt(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A prompt with tools counts more tokens than without them: they reach the model."""
    prompt, _completion, _total = comparable_counts(exchange)
    sent: Any = exchange.request_json
    if not isinstance(sent, dict) or not sent.get("tools") or sent.get("tool_choice") == "none":
        raise NotExercised("the request offers no tools")
    if "tools" not in context.contract.parameters:
        raise NotExercised("the document has no tools, so a server may ignore them")
    bare = require_answers(context).without_tools(exchange)
    if bare is None:
        raise NotExercised("the run has no answer to the same prompt without tools")
    if prompt <= (least := comparable_counts(bare)[0]):
        yield Finding("/usage/prompt_tokens", f"more than {least}, as without tools", f"{prompt}")


@check("usage.turns-counted", on=ANSWER)
def a_continued_conversation_counts_more(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A prompt that continues the conversation of another request counts more tokens: earlier messages, tools and
    later turns reach the model.
    """
    prompt = _count_prompt(exchange)
    earlier = require_answers(context).continued_by(exchange)
    if earlier is None:
        raise NotExercised("the request continues the conversation of no other one")
    if prompt <= (least := _count_prompt(earlier)):
        yield Finding("/usage/prompt_tokens", f"more than {least}, as before the later messages", f"{prompt}")


@check("usage.tokens-shown", on=not_generated(ANSWER))
def several_tokens_show_something(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """An answer that counts several completion tokens has text, reasoning or a call.

    Not judged if many answers show nothing, as those of a server that hides what its model thinks.
    """
    _prompt, completion, _total = usage_counts(exchange)
    if exchange.id in require_answers(context).silent:
        yield Finding("/choices/0/message/content", f"the text of {format_quantity(completion, 'token')}", "nothing")


def _is_same_answer(text: AnswerText, own: AnswerText) -> bool:
    """Return whether both consist of the same tokens. The last ones of a cut answer may not be visible."""
    same = text.text == own.text and text.finish_reason == own.finish_reason
    return same and (own.finish_reason != "length" or text.limit == own.limit)


def _count_choices(exchange: Exchange) -> int:
    return len(exchange.choices)


def _count_prompt(exchange: Exchange) -> int:
    return comparable_counts(exchange)[0]


def _count_text(exchange: Exchange) -> int:
    """Return the completion tokens, without those of reasoning that is not shown."""
    shown = any(choice.reasoning for choice in exchange.choices.values())
    return comparable_counts(exchange)[1] if shown else visible_count(exchange)


def _find_usual(answers: RunAnswers, exchanges: Iterable[Exchange], count: Callable[[Exchange], int]) -> int | None:
    """Return the count of most answers, the earliest of several; None if fewer than two answers count something."""
    numbers = [answers.number_of(exchange, count) for exchange in exchanges]
    counts = Counter(number for number in numbers if number is not None)
    return counts.most_common(1)[0][0] if counts.total() > 1 else None
