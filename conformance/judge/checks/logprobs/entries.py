"""Checks of the entries of log-probabilities: their form, their number, and that they belong to the text."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from conformance.check import Applicability, Context, Finding, NotExercised, check, relation, series
from conformance.judge.answer_fields import REASONING_TAGS, iterate_choices
from conformance.judge.applicability import ANSWER, STREAMED_ANSWER, not_generated, requests_logprobs, why_unanswered
from conformance.judge.logprob_entries import (
    CUT,
    LogprobEntry,
    all_entries,
    any_entries,
    entries_by_choice,
    first_entries,
)
from conformance.judge.token_counts import completion_count
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange
    from conformance.judge.logprob_entries import LogprobEntry
    from openapi.stream.accumulated_choice import AccumulatedChoice

REPLACED = re.compile(f"{CUT}+")
SPECIAL_TOKEN = re.compile(r"<[^<>\s]+>")
ROUNDING = 1e-3  # tolerance of sums and comparisons: servers write float32 values, some of them rounded
REQUESTED = Applicability(
    lambda scenario, step, contract: (
        (scenario.subject is None or scenario.subject.expect == "accept")
        and ANSWER.applies_to(scenario, step, contract)
        and requests_logprobs(step)
        and not {"logprob_token_ids", "return_tokens_as_token_ids"} & set(step.body or {})  # forms that only vLLM has
        and not (step.streams and "logprobs-in-streams" in contract.rules)
    ),
    why_unanswered,
)

REQUESTED_IN_STREAM = Applicability(
    lambda scenario, step, contract: STREAMED_ANSWER.applies_to(scenario, step, contract) and requests_logprobs(step),
    why_unanswered,
)

NOT_REQUESTED = Applicability(
    lambda scenario, step, contract: (
        not_generated(ANSWER).applies_to(scenario, step, contract)
        and not {"logprobs", "top_logprobs"} & set(step.body or {})
    ),
    why_unanswered,
)

STREAM_REQUESTED = Applicability(
    lambda scenario, step, contract: (
        STREAMED_ANSWER.applies_to(scenario, step, contract) and REQUESTED.applies_to(scenario, step, contract)
    ),
    why_unanswered,
)


@series("logprobs.given-with-text", scenario="logprobs")
def every_plain_answer_with_text_has_entries(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Every choice with text has log-probabilities if they are requested, with alternatives or without.

    Not judged if no answer has any, nor for choices with reasoning. Another check judges streams.
    """
    plain = {name: item for name, item in exchanges.items() if item.succeeded and not item.is_stream}
    missing = {name: list(_list_choices_without_entries(exchange)) for name, exchange in plain.items()}
    if not any(any_entries(exchange) for exchange in plain.values()):
        raise NotExercised("no answer has log-probabilities")
    for name, places in missing.items():
        for place in places:
            yield Finding(f"/{name}{place}/logprobs/content", "an entry for each token", "none")


def _list_choices_without_entries(exchange: Exchange) -> Iterator[str]:
    entries = any_entries(exchange)
    for index, choice in exchange.choices.items():
        if choice.content.strip() and not choice.reasoning and not choice.tool_calls and index not in entries:
            yield f"/choices/{index}"


@check("logprobs.entries-well-formed", on=REQUESTED)
def entries_are_well_formed(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every entry has a token, a log-probability, its bytes or null, and a list of alternatives."""
    for place, choice in iterate_choices(exchange):
        logprobs = choice.get("logprobs")
        if (
            isinstance(logprobs, dict)
            and not isinstance(logprobs.get("content"), list)
            and logprobs.get("refusal") is None
        ):
            yield Finding(f"{place}/logprobs/content", "a list", repr(logprobs.get("content"))[:80])
    for entry in all_entries(exchange):
        fields = entry.fields
        if not isinstance(fields.get("token"), str):
            yield Finding(f"{entry.where}/token", "a string", repr(fields.get("token"))[:80])
        if math.isnan(entry.logprob):
            yield Finding(f"{entry.where}/logprob", "a number", repr(fields.get("logprob"))[:80])
        if fields.get("bytes") is not None and entry.data is None:
            yield Finding(f"{entry.where}/bytes", "a list of bytes, or null", repr(fields.get("bytes"))[:80])
        if not isinstance(fields.get("top_logprobs"), list):
            yield Finding(f"{entry.where}/top_logprobs", "a list", repr(fields.get("top_logprobs"))[:80])


@check("logprobs.bytes-are-the-token", on=REQUESTED)
def bytes_are_those_of_the_token(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The bytes of an entry are the UTF-8 encoding of its token, if the token is whole characters."""
    seen = False
    for entry in all_entries(exchange):
        for item in (entry, *entry.top):
            if item.data is None or CUT in item.token or not (item.token or _is_text(item.data)):
                continue
            seen = True
            if item.data != item.token.encode(errors="replace"):
                yield Finding(f"{item.where}/bytes", f"{list(item.token.encode())}"[:200], f"{list(item.data)}"[:200])
    if not seen:
        raise NotExercised("no entry has bytes")


def _is_text(data: bytes) -> bool:
    """Tell whether bytes are whole characters."""
    return CUT not in data.decode(errors="replace")


@check("logprobs.make-the-text", on=REQUESTED)
def tokens_make_the_text(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The tokens of the entries add up to the text of the choice: none is missing or repeated."""
    sent: Any = exchange.request_json
    if sent.get("stop") or sent.get("stop_token_ids") or sent.get("ignore_eos") or sent.get("tools"):
        raise NotExercised("some tokens do not become text")
    comparable = {
        index: entries
        for index, entries in entries_by_choice(exchange).items()
        if index in exchange.choices and _all_become_text(exchange.choices[index], entries)
    }
    if not comparable:
        raise NotExercised("some tokens are special, or reasoning, and do not become text")
    for index, entries in comparable.items():
        choice = exchange.choices[index]
        text = choice.content.encode(errors="replace")
        whole = not choice.content.endswith(CUT) and choice.finish_reason != "length"
        made = b"".join(entry.token.encode(errors="replace") if entry.data is None else entry.data for entry in entries)
        known = b"".join(entry.data or b"" for entry in entries)
        if any(_matches(data, text, whole=whole) or _fits(data, text, whole=whole) for data in (made, known)):
            continue
        ended = made[: len(made) - len(_data(entries[-1]))]  # the token that ends an answer is not part of the text
        if (
            choice.finish_reason != "length"
            and entries[-1].token
            and (_matches(ended, text, whole=whole) or _normalize(ended).removesuffix(CUT).strip() == _normalize(text))
        ):
            continue
        yield Finding(f"/choices/{index}/logprobs/content", repr(choice.content)[:200], repr(made)[:200])


def _all_become_text(choice: AccumulatedChoice, entries: list[LogprobEntry]) -> bool:
    """Tell whether all tokens of a choice but the last are part of its text: none is special, reasoning or a call."""
    if choice.reasoning or choice.tool_calls:
        return False
    if any(SPECIAL_TOKEN.fullmatch(entry.token) and entry.token not in choice.content for entry in entries[:-1]):
        return False
    tagged = REASONING_TAGS.search("".join(entry.token for entry in entries))
    return not tagged or REASONING_TAGS.search(choice.content) is not None


def _normalize(data: bytes) -> str:
    """Decode bytes, strip white space, and replace each run of undecodable bytes by one U+FFFD."""
    return REPLACED.sub(CUT, data.decode(errors="replace")).strip()


def _fits(made: bytes, text: bytes, *, whole: bool) -> bool:
    """Compare the bytes of the tokens with the text, both with undecodable bytes. A limit may cut a character."""
    one, other = _normalize(made), _normalize(text)
    return one == other or (not whole and one.removesuffix(CUT).strip() == other.removesuffix(CUT).strip())


def _data(entry: LogprobEntry) -> bytes:
    """Return the bytes of an entry, or else those of its token."""
    return entry.token.encode(errors="replace") if entry.data is None else entry.data


def _matches(made: bytes, text: bytes, *, whole: bool) -> bool:
    """Compare the bytes of the tokens with the text. Servers may strip white space, and a limit may cut a character."""
    made = made.strip()
    text = text.strip().removesuffix(CUT.encode())
    return made == text or (not whole and made.startswith(text) and _is_part_of_character(made[len(text) :]))


def _is_part_of_character(data: bytes) -> bool:
    return len(data) < 4 and CUT in data.decode(errors="replace")


@check("logprobs.one-entry-per-token", on=REQUESTED)
def entries_are_as_many_as_the_tokens(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An answer that max_tokens cuts off has an entry for each completion token."""
    if len(exchange.choices) > 1 or exchange.finish_reason() != "length":
        raise NotExercised("the answer has several choices, or ended by itself")
    completion, count = completion_count(exchange), len(first_entries(exchange))
    if count != completion:
        yield Finding(
            "/choices/0/logprobs/content",
            format_quantity(completion, "entry", "entries"),
            format_quantity(count, "entry", "entries"),
        )


@check("logprobs.in-every-chunk", on=STREAM_REQUESTED)
def every_chunk_with_text_has_its_entries(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """In a stream whose request asks for them, every choice with text has log-probabilities."""
    with_text = {index for index, choice in exchange.choices.items() if choice.content}
    with_entries = [
        choice.get("index")
        for _place, choice in iterate_choices(exchange)
        if isinstance(choice.get("logprobs"), dict) and choice["logprobs"].get("content")
    ]
    for index in sorted(index for index in with_text if index not in with_entries):
        yield Finding(f"/events/*/choices/{index}/logprobs", "entries", "none")


@check("logprobs.none-in-streams", on=REQUESTED_IN_STREAM)
def streams_have_no_log_probabilities(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A stream has no log-probabilities, although the request asks for them."""
    for place, choice in iterate_choices(exchange):
        if choice.get("logprobs") is not None:
            yield Finding(f"{place}/logprobs", "null, or absent", repr(choice["logprobs"])[:80])
            return


@check("logprobs.only-on-request", on=NOT_REQUESTED)
def log_probabilities_are_not_sent_unasked(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Without a request for them log-probabilities are left out: `logprobs` is null or absent."""
    for place, choice in iterate_choices(exchange):
        if choice.get("logprobs") is not None:
            yield Finding(f"{place}/logprobs", "null, or absent", repr(choice["logprobs"])[:80])
            return


@relation("logprobs.told-when-stopped", over=("told", "halted", "halted-streamed"), unmet=why_unanswered)
def tokens_before_a_stop_text_are_told(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """An answer that a stop string ends has entries for all of its text; those of the stop string may follow."""
    for name in ("halted", "halted-streamed"):
        exchange = exchanges[name]
        for index, choice in exchange.choices.items():
            if choice.reasoning or REASONING_TAGS.search(choice.content):
                raise NotExercised("some tokens are reasoning, or its tags")
            text = choice.content.encode(errors="replace")
            entries = entries_by_choice(exchange).get(index, [])
            made = b"".join(_data(entry) for entry in entries)
            if REASONING_TAGS.search("".join(entry.token for entry in entries)):
                raise NotExercised("some tokens are reasoning, or its tags")
            if text.strip() and CUT not in choice.content and not made.lstrip().startswith(text.strip()):
                yield Finding(f"/{name}/choices/{index}/logprobs/content", repr(choice.content)[:200], repr(made)[:200])


@relation("logprobs.end-with-the-stop", over=("told", "halted", "halted-streamed"), unmet=why_unanswered)
def entries_end_with_the_stop_text(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The entries of an answer that a stop string ends are those of its text, followed at most by those of the stop
    string: the token that completes it is the last one.
    """
    if any(choice.reasoning for exchange in exchanges.values() for choice in exchange.choices.values()):
        raise NotExercised("the entries are also those of the reasoning")
    whole = (exchanges["told"].content() or "").encode(errors="replace")
    for name in ("halted", "halted-streamed"):
        exchange = exchanges[name]
        stop, text = exchange.request_json["stop"].encode(), (exchange.content() or "").encode(errors="replace")
        text = text.removesuffix(stop)
        if not text.strip() or not whole.startswith(text + stop) or exchange.finish_reason() != "stop":
            raise NotExercised("no answer ends where its stop string begins")
        *before, last = [_data(entry) for entry in first_entries(exchange)]
        made = b"".join(before).lstrip()
        expected = text.lstrip() + stop
        if not expected.startswith((made + last).lstrip()[: len(expected)]) or len(made) >= len(expected):
            yield Finding(f"/{name}/choices/0/logprobs/content", repr(expected)[:200], repr(made + last)[:200])
