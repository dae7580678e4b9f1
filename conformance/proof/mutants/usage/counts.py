"""Mutants of the token counts in usage."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import add_tokens, edit_usage
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("usage.counts-are-integers")
def count_is_a_text(exchange: Exchange) -> Exchange:
    """`prompt_tokens` is a string."""
    return edit_usage(exchange, lambda usage: usage.update(prompt_tokens=str(usage["prompt_tokens"])))


@mutant("usage.total-is-sum")
def total_is_off_by_one(exchange: Exchange) -> Exchange:
    """`total_tokens` is off by one."""
    return edit_usage(exchange, lambda usage: usage.update(total_tokens=usage["total_tokens"] + 1))


@mutant("usage.prompt-counted")
def prompt_is_not_counted(exchange: Exchange) -> Exchange:
    """`prompt_tokens` is 0."""
    return edit_usage(exchange, lambda usage: usage.update(prompt_tokens=0, total_tokens=usage["completion_tokens"]))


@mutant("usage.completion-counted")
def completion_is_not_counted(exchange: Exchange) -> Exchange:
    """`completion_tokens` is 0 although the answer has text."""
    return edit_usage(exchange, lambda usage: usage.update(completion_tokens=0, total_tokens=usage["prompt_tokens"]))


@mutant("usage.completion-within-limit")
def limit_is_passed(exchange: Exchange) -> Exchange:
    """`completion_tokens` is one more than max_tokens for every requested sequence."""
    sent = exchange.request_json
    width = max(len(exchange.choices), *(value for value in (1, sent.get("n"), sent.get("best_of")) if value))
    limit = int(sent.get("max_completion_tokens") or sent["max_tokens"]) * width

    def edit(usage: dict[str, Any]) -> None:
        usage.update(completion_tokens=limit + 1, total_tokens=usage["prompt_tokens"] + limit + 1)

    return edit_usage(exchange, edit)


@mutant("usage.completion-reaches-limit", scenario="cut-at-7")
def last_token_is_not_counted(exchange: Exchange) -> Exchange:
    """An answer that max_tokens cuts off counts one token less."""
    return add_tokens(exchange, completion=-1)


@mutant("usage.streamed-as-plain")
def streamed_prompt_counts_one_more(exchange: Exchange) -> Exchange:
    """The streamed answer counts one prompt token more than the plain one."""
    return add_tokens(exchange, prompt=1)


@mutant("usage.completion-grows", steps="at-6")
def longer_answer_counts_one_token(exchange: Exchange) -> Exchange:
    """completion_tokens is 1 for every answer, however long it is."""
    return add_tokens(exchange, completion=1 - exchange.usage["completion_tokens"] if exchange.usage else 0)


@mutant("usage.choices-summed")
def first_choice_alone_is_counted(exchange: Exchange) -> Exchange:
    """Only the first of several choices is counted, without its last token."""
    sent = exchange.request_json
    limit = int(sent.get("max_tokens") or sent["max_completion_tokens"]) - 1

    def edit(usage: dict[str, Any]) -> None:
        usage.update(completion_tokens=limit, total_tokens=usage["prompt_tokens"] + limit)

    return edit_usage(exchange, edit)


@mutant("usage.details-within-totals")
def more_is_cached_than_sent(exchange: Exchange) -> Exchange:
    """usage counts more cached prompt tokens than prompt tokens."""

    def edit(usage: dict[str, Any]) -> None:
        usage["prompt_tokens_details"] = {"cached_tokens": usage["prompt_tokens"] + 1}

    return edit_usage(exchange, edit)


@mutant("usage.one-entry-per-token")
def array_lacks_an_entry(exchange: Exchange) -> Exchange:
    """`batch_size` has one entry less than there are tokens."""
    return edit_usage(exchange, lambda usage: usage.update(batch_size=usage["batch_size"][:-1]))


@mutant("usage.streamed-choices-as-plain", steps="streamed-choices")
def streamed_choices_count_one_less(exchange: Exchange) -> Exchange:
    """One token of several streamed choices is not counted."""
    return add_tokens(exchange, completion=-1)


@mutant("usage.stopped-counts-no-more", steps="stopped")
def stopped_answer_counts_its_limit(exchange: Exchange) -> Exchange:
    """An answer that a stop string ends counts as many tokens as its limit allows."""
    return add_tokens(exchange, completion=int(exchange.request_json["max_tokens"]))
