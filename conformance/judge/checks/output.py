"""TODO."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from conformance.check import Applicability, Context, Finding, NotExercised, NotObserved, check, relation
from conformance.judge.answer_fields import prompt_field
from conformance.judge.applicability import ANSWER, PLAIN_ANSWER, STREAMED_ANSWER, not_generated, why_unanswered
from conformance.judge.logprob_entries import all_entries
from conformance.judge.token_counts import completion_count, prompt_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

FEW_WORDS, FEW_CHARACTERS = 4, 40  # in a shorter thought there may be a single token

BY_ID = re.compile(r"token_id:[0-9]+")


def _asks(applicability: Applicability, name: str) -> Applicability:
    """The same, where a written request asks for something by this member."""
    asked = not_generated(applicability)
    return Applicability(
        lambda scenario, step, contract: (
            (step.body or {}).get(name) not in (None, False) and asked.applies_to(scenario, step, contract)
        ),
        lambda exchange: why_unanswered(exchange) or asked.unmet(exchange),
    )


def token_ids(exchange: Exchange) -> list[int] | None:
    """The token ids of the first choice, those of all chunks one after the other; None where none are told."""
    chunks = [chunk for _, chunk in exchange.walk.chunks] if exchange.is_stream else [exchange.json]
    told = [
        choice["token_ids"]
        for chunk in chunks
        for choice in chunk.get("choices") or ()
        if isinstance(choice, dict) and choice.get("index") == 0 and isinstance(choice.get("token_ids"), list)
    ]
    return [identifier for ids in told for identifier in ids] if told else None


def _are_ids(found: Any) -> bool:
    return isinstance(found, list) and all(type(each) is int and each >= 0 for each in found)


@check("output.name-in-id", on=_asks(ANSWER, "request_id"))
def name_of_the_request_is_part_of_the_id(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The id of an answer, and of every chunk, holds the name that the client gave its request."""
    sent: Any = exchange.request_json
    chunks = exchange.walk.chunks if exchange.is_stream else [(0, exchange.json)]
    for at, chunk in chunks:
        if sent["request_id"] not in str(chunk.get("id")):
            place = f"/events/{at}/id" if exchange.is_stream else "/id"
            yield Finding(place, f"with {sent['request_id']!r} in it", repr(chunk.get("id"))[:200])
            return


@check("output.token-ids-told", on=_asks(ANSWER, "return_token_ids"))
def tokens_of_the_answer_are_told(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With return_token_ids a choice holds its token ids, as many as usage counts completion tokens."""
    found = token_ids(exchange)
    if found is None or not _are_ids(found):
        yield Finding("/choices/0/token_ids", "token ids", repr(found)[:200])
    elif len(exchange.choices) == 1 and (completion := completion_count(exchange)) != len(found):
        yield Finding("/choices/0/token_ids", f"{completion} token ids", f"{len(found)}")


@check("output.prompt-ids-told", on=_asks(ANSWER, "return_token_ids"))
def tokens_of_the_prompt_are_told(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With return_token_ids an answer holds the prompt's token ids, as many as usage counts prompt tokens."""
    found = prompt_field(exchange, "prompt_token_ids")
    if not _are_ids(found):
        yield Finding("/prompt_token_ids", "token ids", repr(found)[:200])
    elif exchange.usage is not None and (counted := prompt_count(exchange)) != len(found):
        yield Finding("/prompt_token_ids", f"{counted} token ids", f"{len(found)}")


@relation("output.token-ids-streamed-as-plain", over=("told", "told-streamed", "told-again"), unmet=why_unanswered)
def streamed_token_ids_are_the_plain_ones(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The token ids of a greedy answer's chunks, one after the other, are those of the plain answer."""
    plain, streamed, again = (token_ids(exchanges[name]) for name in ("told", "told-streamed", "told-again"))
    if plain is None or streamed is None:
        raise NotExercised("the answers tell no token ids")
    if plain != again or exchanges["told"].content() != exchanges["told-streamed"].content():
        raise NotExercised("greedy answers of this server do not repeat")
    if plain != streamed:
        yield Finding("/told-streamed/choices/0/token_ids", repr(plain)[:200], repr(streamed)[:200])


@check("output.prompt-text-told", on=_asks(ANSWER, "return_prompt_text"))
def prompt_is_told_as_text(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With return_prompt_text an answer holds the prompt as text, and in it what the user said."""
    sent: Any = exchange.request_json
    found = prompt_field(exchange, "prompt_text")
    said = next(message["content"] for message in sent["messages"] if message["role"] == "user")
    if not isinstance(found, str) or said not in found:
        yield Finding("/prompt_text", f"a text with {said!r} in it", repr(found)[:200])


@check("output.tokens-named-by-id", on=_asks(PLAIN_ANSWER, "return_tokens_as_token_ids"))
def tokens_are_named_by_their_ids(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With return_tokens_as_token_ids log-probabilities name each token `token_id:` and its id."""
    for entry in all_entries(exchange):
        for each in (entry, *entry.top):
            if BY_ID.fullmatch(each.token) is None:
                yield Finding(f"{each.where}/token", "token_id: and a number", repr(each.token)[:80])
                return


@check("output.named-tokens-listed", on=_asks(PLAIN_ANSWER, "logprob_token_ids"))
def tokens_asked_for_are_listed(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The tokens that logprob_token_ids names are among the alternatives of every token.

    Only where log-probabilities name tokens by their ids can they be known again.
    """
    sent: Any = exchange.request_json
    if sent.get("return_tokens_as_token_ids") is not True:
        raise NotExercised("the tokens are told by their texts")
    wanted = {f"token_id:{identifier}" for identifier in sent["logprob_token_ids"]}
    for entry in all_entries(exchange):
        if missing := wanted - {each.token for each in entry.top}:
            yield Finding(f"{entry.where}/top_logprobs", f"{sorted(missing)} among them", f"{len(entry.top)} others")
            return


@check("output.prompt-scored", on=_asks(PLAIN_ANSWER, "prompt_logprobs"))
def tokens_of_the_prompt_are_scored(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """prompt_logprobs tells of each token of the prompt as many alternatives as asked for, and the token itself.

    The first token follows nothing, so its entry is null. The token is one of the alternatives or one more.
    """
    sent: Any = exchange.request_json
    asked, found = sent["prompt_logprobs"], exchange.json.get("prompt_logprobs")
    tokens = prompt_count(exchange)
    if not isinstance(found, list) or len(found) != tokens:
        shown = f"{len(found)}" if isinstance(found, list) else repr(found)[:80]
        yield Finding("/prompt_logprobs", f"{tokens} entries", shown)
        return
    if found[0] is not None:
        yield Finding("/prompt_logprobs/0", "null", repr(found[0])[:80])
    for at, each in enumerate(found[1:], 1):
        scored = sum(name.isdigit() for name in each) if isinstance(each, dict) else 0  # by the ids of the tokens
        if scored not in (asked, asked + 1):
            yield Finding(f"/prompt_logprobs/{at}", f"{asked} tokens, or one more", repr(each)[:200])
            return


@check("output.interval-kept", on=_asks(STREAMED_ANSWER, "stream_interval"))
def chunks_hold_as_many_tokens_as_asked(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With stream_interval a stream has no more chunks with text than its tokens need: the first and the last may be
    smaller.
    """
    sent: Any = exchange.request_json
    tokens = completion_count(exchange)
    most = tokens // sent["stream_interval"] + 2  # the first token comes alone, and the last ones when they are there
    found = sum(len(choice.deltas) for choice in exchange.choices.values())
    if found > most:
        yield Finding("/events", f"at most {most} chunks with text for {tokens} tokens", f"{found}")


@check("output.repetition-ends", on=_asks(PLAIN_ANSWER, "repetition_detection"))
def text_that_repeats_itself_ends(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An answer that can only repeat one token ends before its limit where repetition_detection says so."""
    sent: Any = exchange.request_json
    if len(sent.get("allowed_token_ids") or ()) != 1:
        raise NotExercised("the answer need not repeat itself")
    found = completion_count(exchange)
    if found >= sent["max_tokens"]:
        yield Finding("/usage/completion_tokens", f"fewer than {sent['max_tokens']}", f"{found}")


@relation("output.thoughts-hidden", over=("thought", "hidden", "hidden-streamed"), unmet=why_unanswered)
def thoughts_are_hidden_on_request(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """With include_reasoning false an answer shows no thoughts, plain and streamed."""
    _look_for_thoughts(exchanges["thought"])
    for name in ("hidden", "hidden-streamed"):
        for index, choice in exchanges[name].choices.items():
            if choice.reasoning:
                yield Finding(f"/{name}/choices/{index}/message/reasoning", "none", repr(choice.reasoning)[:200])


@relation("output.thoughts-within-budget", over=("thought", "budgeted"))
def thoughts_keep_their_budget(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A thought that may have one token is not the thought of many words that comes without a limit.

    What a server writes to close a thought may be longer than the thought, and one that was not started for budgets
    refuses them; neither is blamed.
    """
    free, bound = exchanges["thought"], exchanges["budgeted"]
    if bound.status is not None and 400 <= bound.status < 500:
        raise NotExercised("a budget is refused")
    if reason := why_unanswered(free) or why_unanswered(bound):
        raise NotObserved(reason)
    words = _look_for_thoughts(free).split()
    if len(words) < FEW_WORDS and len("".join(words)) < FEW_CHARACTERS:
        raise NotExercised("the thoughts are short without a budget, too")
    found = bound.choices[0].reasoning if 0 in bound.choices else ""
    if found.split() == words:
        yield Finding("/choices/0/message/reasoning", "a thought cut short", repr(found)[:200])


def _look_for_thoughts(exchange: Exchange) -> str:
    """The thoughts of an answer. Raises NotExercised where it has none."""
    thoughts = exchange.choices[0].reasoning if 0 in exchange.choices else ""
    if not thoughts:
        raise NotExercised("the answer holds no thoughts without a limit, either")
    return thoughts
