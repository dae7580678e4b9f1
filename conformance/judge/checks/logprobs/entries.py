"""TODO."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from conformance.check import Applicability, Context, Finding, NotExercised, check, relation
from conformance.judge.answer_fields import iterate_choices
from conformance.judge.applicability import ANSWER, STREAMED_ANSWER, not_generated, requests_logprobs, why_unanswered
from conformance.judge.checks.reasoning import TAGS
from conformance.judge.logprob_entries import CUT, LogprobEntry, all_entries, entries_by_choice
from conformance.judge.token_counts import completion_count

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

BROKEN = re.compile(f"{CUT}+")

ROUNDING = 1e-3  # of sums and comparisons: servers write float32, some of them rounded

ASKED = Applicability(
    lambda scenario, step, contract: (
        (scenario.subject is None or scenario.subject.expect == "accept")
        and ANSWER.applies_to(scenario, step, contract)
        and requests_logprobs(step)
        and not {"logprob_token_ids", "return_tokens_as_token_ids"} & set(step.body or {})  # vLLM's own forms
        and not (step.streams and "logprobs-in-streams" in contract.rules)
    ),
    why_unanswered,
)

UNASKED = Applicability(
    lambda scenario, step, contract: (
        not_generated(ANSWER).applies_to(scenario, step, contract)
        and not {"logprobs", "top_logprobs"} & set(step.body or {})
    ),
    why_unanswered,
)

STREAM_ASKED = Applicability(
    lambda scenario, step, contract: (
        STREAMED_ANSWER.applies_to(scenario, step, contract) and ASKED.applies_to(scenario, step, contract)
    ),
    why_unanswered,
)


@check("logprobs.entries-well-formed", on=ASKED)
def entries_are_well_formed(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every entry has a token, a log-probability, its bytes or null, and a list of alternatives."""
    for place, choice in iterate_choices(exchange):
        told = choice.get("logprobs")
        if isinstance(told, dict) and not isinstance(told.get("content"), list) and told.get("refusal") is None:
            yield Finding(f"{place}/logprobs/content", "a list", repr(told.get("content"))[:80])
    for entry in all_entries(exchange):
        told = entry.fields
        if not isinstance(told.get("token"), str):
            yield Finding(f"{entry.where}/token", "a text", repr(told.get("token"))[:80])
        if math.isnan(entry.logprob):
            yield Finding(f"{entry.where}/logprob", "a number", repr(told.get("logprob"))[:80])
        if told.get("bytes") is not None and entry.data is None:
            yield Finding(f"{entry.where}/bytes", "a list of bytes, or null", repr(told.get("bytes"))[:80])
        if not isinstance(told.get("top_logprobs"), list):
            yield Finding(f"{entry.where}/top_logprobs", "a list", repr(told.get("top_logprobs"))[:80])


@check("logprobs.bytes-are-the-token", on=ASKED)
def bytes_are_those_of_the_token(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The bytes of an entry are the UTF-8 form of its token, where the token is whole characters."""
    seen = False
    for entry in all_entries(exchange):
        for each in (entry, *entry.top):
            if each.data is None or CUT in each.token or not (each.token or _is_text(each.data)):
                continue
            seen = True
            if each.data != each.token.encode(errors="replace"):
                yield Finding(f"{each.where}/bytes", f"{list(each.token.encode())}"[:200], f"{list(each.data)}"[:200])
    if not seen:
        raise NotExercised("no entry tells its bytes")


def _is_text(data: bytes) -> bool:
    """Whether bytes are whole characters."""
    return CUT not in data.decode(errors="replace")


@check("logprobs.make-the-text", on=ASKED)
def tokens_make_the_text(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The tokens of the entries, one after the other, are the text of the choice: none is missing or told twice."""
    sent: Any = exchange.request_json
    if sent.get("stop") or sent.get("stop_token_ids") or sent.get("ignore_eos") or sent.get("tools"):
        raise NotExercised("some tokens do not become text")
    for index, kept in entries_by_choice(exchange).items():
        choice = exchange.choices[index]
        if choice.reasoning or choice.tool_calls:
            raise NotExercised("some tokens do not become text")
        if TAGS.search("".join(entry.token for entry in kept)) and not TAGS.search(choice.content):
            raise NotExercised("some tokens are thoughts, or mark them")
        text = choice.content.encode(errors="replace")
        whole = not choice.content.endswith(CUT) and choice.finish_reason != "length"
        made = b"".join(entry.token.encode(errors="replace") if entry.data is None else entry.data for entry in kept)
        spoken = b"".join(entry.data or b"" for entry in kept)
        if any(_fits(each, text, whole=whole) or _shown(each) == _shown(text) for each in (made, spoken)):
            continue
        if kept[-1].token and _fits(made[: len(made) - len(_data(kept[-1]))], text, whole=whole):
            continue  # the token that ends an answer has a name and no text
        yield Finding(f"/choices/{index}/logprobs/content", repr(choice.content)[:200], repr(made)[:200])


def _shown(data: bytes) -> str:
    """Bytes as text without its ends; what is no character, in whatever number of signs, is one sign."""
    return BROKEN.sub(CUT, data.decode(errors="replace")).strip()


def _data(entry: LogprobEntry) -> bytes:
    return entry.token.encode(errors="replace") if entry.data is None else entry.data


def _fits(made: bytes, text: bytes, *, whole: bool) -> bool:
    """Servers that cut white space from the ends of an answer are not blamed; a character may be cut at a limit."""
    made = made.strip()
    text = text.strip().removesuffix(CUT.encode())
    return made == text or (not whole and made.startswith(text) and len(made) - len(text) < 4)


@check("logprobs.one-entry-per-token", on=ASKED)
def entries_are_as_many_as_the_tokens(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An answer that max_tokens cuts off has an entry for each completion token."""
    found = entries_by_choice(exchange)
    if len(exchange.choices) > 1 or exchange.finish_reason() != "length":
        raise NotExercised("the answer has several choices, or ended by itself")
    completion, told = completion_count(exchange), len(found.get(0, ()))
    if told != completion:
        yield Finding("/choices/0/logprobs/content", f"{completion} entries", f"{told} entries")


@check("logprobs.in-every-chunk", on=STREAM_ASKED)
def every_chunk_with_text_has_its_entries(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """In a stream whose request asks for them, log-probabilities come for every choice that says something."""
    spoken = {index for index, folded in exchange.choices.items() if folded.content}
    told = {
        choice.get("index")
        for _place, choice in iterate_choices(exchange)
        if isinstance(choice.get("logprobs"), dict) and choice["logprobs"].get("content")
    }
    for index in sorted(spoken - told):
        yield Finding(f"/events/*/choices/{index}/logprobs", "entries", "none")


@check("logprobs.only-on-request", on=UNASKED)
def log_probabilities_are_not_sent_unasked(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Without a request for them there are no log-probabilities: null, or no such member."""
    for place, choice in iterate_choices(exchange):
        if choice.get("logprobs") is not None:
            yield Finding(f"{place}/logprobs", "null, or absent", repr(choice["logprobs"])[:80])
            return


@relation("logprobs.told-when-stopped", over=("told", "halted", "halted-streamed"), unmet=why_unanswered)
def tokens_before_a_stop_text_are_told(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """An answer that a stop text ends has entries for all of its text; those of the stop text may follow them."""
    for name in ("halted", "halted-streamed"):
        exchange = exchanges[name]
        for index, choice in exchange.choices.items():
            if choice.reasoning or TAGS.search(choice.content):
                raise NotExercised("some tokens are thoughts, or mark them")
            text = choice.content.encode(errors="replace")
            kept = entries_by_choice(exchange).get(index, [])
            made = b"".join(_data(entry) for entry in kept)
            if TAGS.search("".join(entry.token for entry in kept)):
                raise NotExercised("some tokens are thoughts, or mark them")
            if text.strip() and CUT not in choice.content and not made.lstrip().startswith(text.strip()):
                yield Finding(f"/{name}/choices/{index}/logprobs/content", repr(choice.content)[:200], repr(made)[:200])
