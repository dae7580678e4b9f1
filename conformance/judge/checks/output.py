"""Checks of vLLM's parameters that add output to an answer or control it.

Examples: names of requests, token ids of prompt and answer, log-probabilities of the prompt, chunks of several tokens,
hidden reasoning.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from conformance.check import Applicability, Context, Finding, NotExercised, NotObserved, check, relation
from conformance.judge.answer_fields import iterate_choices, objects_of, prompt_field
from conformance.judge.applicability import ANSWER, PLAIN_ANSWER, STREAMED_ANSWER, not_generated, why_unanswered
from conformance.judge.logprob_entries import all_entries
from conformance.judge.token_counts import completion_count, prompt_count
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

FEW_WORDS, FEW_CHARACTERS = 4, 40  # shorter reasoning may be a single token

UNLIKELY = "scored"
"""The step whose prompt has tokens that are not among the likeliest."""
BY_ID = re.compile(r"token_id:[0-9]+")


def _sets(applicability: Applicability, name: str) -> Applicability:
    """Include requests that set this parameter. The number 0 sets it; false does not."""
    return Applicability(
        lambda scenario, step, contract: (
            not any((step.body or {}).get(name) is unset for unset in (None, False))
            and applicability.applies_to(scenario, step, contract)
        ),
        lambda exchange: why_unanswered(exchange) or applicability.unmet(exchange),
    )


def token_ids(exchange: Exchange) -> list[int] | None:
    """Return the token ids of the first choice, joined over all chunks; None if the answer has no token ids."""
    lists = [
        choice["token_ids"]
        for _, choice in iterate_choices(exchange)
        if choice.get("index") == 0 and isinstance(choice.get("token_ids"), list)
    ]
    return [identifier for ids in lists for identifier in ids] if lists else None


def _are_ids(value: Any) -> bool:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)


@check("output.name-in-id", on=_sets(not_generated(ANSWER), "request_id"))
def name_of_the_request_is_part_of_the_id(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The id of an answer, and of every chunk, contains the request_id of the request."""
    sent: Any = exchange.request_json
    for path, part in objects_of(exchange):
        if sent["request_id"] not in str(part.get("id")):
            yield Finding(f"{path}/id", f"an id with {sent['request_id']!r}", repr(part.get("id"))[:200])
            return


@check("output.token-ids-told", on=_sets(ANSWER, "return_token_ids"))
def tokens_of_the_answer_are_told(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With return_token_ids a choice has its token ids, as many as usage counts completion tokens."""
    found = token_ids(exchange)
    if found is None or not _are_ids(found):
        yield Finding("/choices/0/token_ids", "token ids", repr(found)[:200])
    elif len(exchange.choices) == 1 and (completion := completion_count(exchange)) != len(found):
        yield Finding("/choices/0/token_ids", f"{completion} token ids", f"{len(found)}")


@check("output.prompt-ids-told", on=_sets(not_generated(ANSWER), "return_token_ids"))
def tokens_of_the_prompt_are_told(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With return_token_ids an answer has the prompt's token ids, as many as usage counts prompt tokens."""
    found = prompt_field(exchange, "prompt_token_ids")
    if not _are_ids(found):
        yield Finding("/prompt_token_ids", "token ids", repr(found)[:200])
    elif exchange.usage is not None and (counted := prompt_count(exchange)) != len(found):
        yield Finding("/prompt_token_ids", f"{counted} token ids", f"{len(found)}")


@relation("output.token-ids-streamed-as-plain", over=("told", "told-streamed", "told-again"), unmet=why_unanswered)
def streamed_token_ids_are_the_plain_ones(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The token ids of a greedy answer's chunks add up to those of the plain answer."""
    plain, streamed, again = (token_ids(exchanges[name]) for name in ("told", "told-streamed", "told-again"))
    if plain is None or streamed is None:
        raise NotExercised("the answers have no token ids")
    if plain != again or exchanges["told"].content() != exchanges["told-streamed"].content():
        raise NotExercised("greedy answers of this server do not repeat")
    if plain != streamed:
        yield Finding("/told-streamed/choices/0/token_ids", repr(plain)[:200], repr(streamed)[:200])


@check("output.prompt-text-told", on=_sets(not_generated(ANSWER), "return_prompt_text"))
def prompt_is_told_as_text(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With return_prompt_text an answer has the prompt as a string that contains the user's message."""
    sent: Any = exchange.request_json
    found = prompt_field(exchange, "prompt_text")
    message_text = next(message["content"] for message in sent["messages"] if message["role"] == "user")
    if not isinstance(found, str) or message_text not in found:
        yield Finding("/prompt_text", f"a string with {message_text!r}", repr(found)[:200])


@check("output.tokens-named-by-id", on=_sets(not_generated(PLAIN_ANSWER), "return_tokens_as_token_ids"))
def tokens_are_named_by_their_ids(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With return_tokens_as_token_ids log-probabilities name each token `token_id:` followed by its id."""
    for entry in all_entries(exchange):
        for item in (entry, *entry.top):
            if BY_ID.fullmatch(item.token) is None:
                yield Finding(f"{item.where}/token", "token_id: and a number", repr(item.token)[:80])
                return


@check("output.named-tokens-listed", on=_sets(not_generated(ANSWER), "logprob_token_ids"))
def tokens_asked_for_are_listed(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The tokens that logprob_token_ids lists are among the alternatives of every token.

    They can be recognized only if log-probabilities name tokens by their ids.
    """
    sent: Any = exchange.request_json
    if sent.get("return_tokens_as_token_ids") is not True:
        raise NotExercised("log-probabilities do not name tokens by their ids")
    requested = {f"token_id:{identifier}" for identifier in sent["logprob_token_ids"]}
    for entry in all_entries(exchange):
        if missing := requested - {item.token for item in entry.top}:
            yield Finding(f"{entry.where}/top_logprobs", f"{sorted(missing)}", format_quantity(len(entry.top), "other"))
            return


@check("output.prompt-scored", on=_sets(PLAIN_ANSWER, "prompt_logprobs"))
def tokens_of_the_prompt_are_scored(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """prompt_logprobs gives each token of the prompt as many alternatives as requested, and the token itself.

    The number 0 requests none, which is not the same as null.

    The first token follows no other, so its entry is null. The token is one of the alternatives or an additional one,
    also if it is unlikely: of a prompt whose words do not belong together, some tokens are not among the likeliest.
    """
    sent: Any = exchange.request_json
    requested, found = sent["prompt_logprobs"], prompt_field(exchange, "prompt_logprobs")
    if type(requested) is not int or requested < 0:
        raise NotExercised("the request names no number of alternatives")
    tokens = prompt_count(exchange)
    if not isinstance(found, list) or len(found) != tokens:
        got = f"{len(found)}" if isinstance(found, list) else repr(found)[:80]
        yield Finding("/prompt_logprobs", format_quantity(tokens, "entry", "entries"), got)
        return
    if found[0] is not None:
        yield Finding("/prompt_logprobs/0", "null", repr(found[0])[:80])
    ids = prompt_field(exchange, "prompt_token_ids")
    known = ids if isinstance(ids, list) and len(ids) == len(found) else [None] * len(found)
    longest = 0
    for at, (entry, token) in enumerate(zip(found[1:], known[1:], strict=True), 1):
        scored = sum(name.isdigit() for name in entry) if isinstance(entry, dict) else 0  # the names are token ids
        longest = max(longest, scored)
        if scored not in (requested, requested + 1) or (token is not None and str(token) not in entry):
            more = "one more" if token is None else f"the prompt's own, {token}"
            yield Finding(f"/prompt_logprobs/{at}", f"{requested} tokens, or {more}", repr(entry)[:200])
            return
    if longest == requested and exchange.step == UNLIKELY and ids is None:
        yield Finding(
            "/prompt_logprobs", "entries with the prompt's own tokens, which are unlikely", "likely ones only"
        )


@check("output.interval-kept", on=_sets(not_generated(STREAMED_ANSWER), "stream_interval"))
def chunks_hold_as_many_tokens_as_asked(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With stream_interval a stream has no more chunks with text than its tokens need; the first and the last of each
    choice may be smaller.
    """
    sent: Any = exchange.request_json
    tokens = completion_count(exchange)
    smaller = 2 * len(exchange.choices)  # the first token and the last ones
    most = tokens // sent["stream_interval"] + smaller
    found = sum(len(choice.deltas) for choice in exchange.choices.values())
    if found > most:
        yield Finding("/events", f"at most {most} chunks with text for {format_quantity(tokens, 'token')}", f"{found}")


@check("output.repetition-ends", on=_sets(not_generated(PLAIN_ANSWER), "repetition_detection"))
def text_that_repeats_itself_ends(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An answer that can only repeat one token ends before its limit if repetition_detection is set."""
    sent: Any = exchange.request_json
    if len(sent.get("allowed_token_ids") or ()) != 1:
        raise NotExercised("the answer may consist of different tokens")
    found = completion_count(exchange)
    if found >= sent["max_tokens"]:
        yield Finding("/usage/completion_tokens", f"fewer than {sent['max_tokens']}", f"{found}")


@relation("output.thoughts-hidden", over=("thought", "hidden", "hidden-streamed"), unmet=why_unanswered)
def thoughts_are_hidden_on_request(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """With include_reasoning false an answer has no reasoning, plain and streamed."""
    _require_reasoning(exchanges["thought"])
    for name in ("hidden", "hidden-streamed"):
        for index, choice in exchanges[name].choices.items():
            if choice.reasoning:
                yield Finding(f"/{name}/choices/{index}/message/reasoning", "none", repr(choice.reasoning)[:200])


@relation("output.thoughts-within-budget", over=("thought", "budgeted"))
def thoughts_keep_their_budget(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A reasoning budget of no tokens shortens a long reasoning text: 0 is a number, and not the same as null.

    The text that a server inserts to end the reasoning may be longer than the reasoning. A server that was not
    configured for budgets refuses them. Neither is reported.
    """
    unlimited, limited = exchanges["thought"], exchanges["budgeted"]
    if limited.status is not None and 400 <= limited.status < 500:
        raise NotExercised("a budget is refused")
    if reason := why_unanswered(unlimited) or why_unanswered(limited):
        raise NotObserved(reason)
    words = _require_reasoning(unlimited).split()
    if len(words) < FEW_WORDS and len("".join(words)) < FEW_CHARACTERS:
        raise NotExercised("the reasoning is short without a budget, too")
    found = limited.first_choice.reasoning if limited.first_choice else ""
    if found.split() == words:
        yield Finding("/choices/0/message/reasoning", "shorter reasoning", repr(found)[:200])


def _require_reasoning(exchange: Exchange) -> str:
    """Return the reasoning of an answer. Raises NotExercised if it is empty."""
    reasoning = exchange.first_choice.reasoning if exchange.first_choice else ""
    if not reasoning:
        raise NotExercised("the answer has no reasoning without a limit, either")
    return reasoning
