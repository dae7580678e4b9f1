"""Checks of the prompt: whether the model reads all of it, and vLLM's parameters for how much of it the model receives
and where its answer begins.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NotExercised, NotObserved, check, relation, series
from conformance.judge.answer_fields import prompt_field
from conformance.judge.applicability import in_scenario, why_unanswered
from conformance.judge.logprob_entries import are_same, precise_alternatives
from conformance.judge.token_counts import prompt_count
from conformance.plan.scenarios.mixed_parts import PICTURE_ALONE, PICTURES, THINKING, THINKING_ALONE
from conformance.plan.scenarios.prompt_parts import REPLACED, WITHOUT
from conformance.plan.scenarios.prompt_parts import SCENARIO as PARTS
from conformance.plan.scenarios.text_kinds import GROWING, OTHER
from conformance.plan.scenarios.text_kinds import SCENARIO as LOOK_ALIKE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

SHARE_OF_PICTURE = 3
"""A picture may take fewer tokens next to others: some servers divide fewer pictures into parts."""
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
    """With echo an answer begins with the last message if the assistant wrote it and the answer continues it."""
    sent: Any = exchanges["echoed"].request_json
    message, found = sent["messages"][-1]["content"], exchanges["echoed"].content() or ""
    if not found.startswith(message):
        yield Finding("/choices/0/message/content", f"{message!r} at its beginning", repr(found)[:200])


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


@series("prompt.every-word-read", scenario="prompts-that-differ-in-a-word")
def every_word_changes_the_answer(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A word that is replaced anywhere in a prompt changes the log-probabilities of the answer: the model reads it.

    The place is the start, the middle or the end of a long prompt, the instructions, or a turn of a conversation. Not
    judged if the same request has other log-probabilities each time, or if they are rounded.
    """
    bases = {name: precise_alternatives(exchange) for name, exchange in exchanges.items() if name in ("long", "turns")}
    compared = False
    for name, exchange in exchanges.items():
        base = bases.get(name.partition("-")[0])
        found = precise_alternatives(exchange)
        if name in bases or not base or not found:
            continue
        compared = True
        if are_same(base, found):
            got = f"the same log-probabilities: {', '.join(f'{token!r} {value:.4f}' for token, value in base.items())}"
            yield Finding(
                f"/{name}/choices/0/logprobs", "other log-probabilities than without the other word", got[:200]
            )
    if not compared:
        raise NotExercised("the answers have too few alternatives")


@series("prompt.every-character-read", scenario=LOOK_ALIKE)
def every_text_is_read_as_sent(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Another text of one kind in a message leads to other log-probabilities, and a longer one counts more tokens: no
    kind of text is masked, converted or dropped.

    The kinds are addresses, numbers and names that people keep secret, markup, escapes, placeholders, white space,
    letters and signs of other scripts, and values that are written in another notation. Log-probabilities that are
    rounded are not compared.
    """
    compared = False
    for name, exchange in exchanges.items():
        base, _found, kind = name.partition(OTHER)
        whole = exchanges.get(base)
        if whole is None or whole is exchange or why_unanswered(whole) or why_unanswered(exchange):
            continue
        fewer, count = (_count(answer) if kind in GROWING else 0 for answer in (whole, exchange))
        known, found = precise_alternatives(whole), precise_alternatives(exchange)
        compared = compared or bool(fewer and count) or bool(known and found)
        if fewer and count and count <= fewer:
            yield Finding(f"/{name}/usage/prompt_tokens", f"more than the {fewer} of {base}", f"{count}")
        elif known and found and are_same(known, found):
            yield Finding(f"/{name}/choices/0/logprobs", f"other log-probabilities than of {base}", "the same ones")
    if not compared:
        raise NotExercised("the requests are refused, or the answers have neither usage nor enough alternatives")


@series("prompt.every-part-read", scenario=PARTS)
def every_part_is_read(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Without a clause of any of its parts a long request counts fewer prompt tokens, and is answered differently.

    The parts are instructions, earlier turns, calls and their results, the descriptions and schemas of tools, pictures
    and sounds, and the switch of the reasoning, next to each other. A picture counts at least a third of the tokens
    that it counts alone. Where a clause is replaced instead of left out, the counts may be the same.
    """
    compared = False
    picture = _count_picture(exchanges)
    for name, exchange in exchanges.items():
        request, *part = name.split(WITHOUT)
        whole = exchanges.get(request)
        if whole is None or whole is exchange or why_unanswered(whole) or why_unanswered(exchange):
            continue
        if THINKING in part and (request == THINKING_ALONE or not _is_switched(exchanges)):
            continue
        most, count = (_count(answer) if REPLACED.isdisjoint(part) else 0 for answer in (whole, exchange))
        least = picture / SHARE_OF_PICTURE if not PICTURES.isdisjoint(part) else 1
        known, found = precise_alternatives(whole), precise_alternatives(exchange)
        compared = compared or bool(most and count and least) or bool(known and found)
        if most and count and least and most - count < least:
            expected = f"at most {math.floor(most - least)}, as the whole request counts {most}"
            yield Finding(f"/{name}/usage/prompt_tokens", expected, f"{count}")
        elif known and found and are_same(known, found):
            yield Finding(
                f"/{name}/choices/0/logprobs", "other ones than with the clause", "the same log-probabilities"
            )
    if not compared:
        raise NotExercised("the requests are refused, or the answers have neither usage nor enough alternatives")


def _count_picture(exchanges: Mapping[str, Exchange]) -> int:
    """Return the prompt tokens of a picture alone; 0 if they are not counted."""
    pair = [exchanges.get(name) for name in (PICTURE_ALONE, f"{PICTURE_ALONE}{WITHOUT}picture")]
    shown, bare = (_count(exchange) if exchange and not why_unanswered(exchange) else 0 for exchange in pair)
    return max(0, shown - bare) if shown and bare else 0


def _is_switched(exchanges: Mapping[str, Exchange]) -> bool:
    """Return whether the switch of the reasoning reaches the model in a request without anything else."""
    pair = [exchanges.get(name) for name in (THINKING_ALONE, f"{THINKING_ALONE}{WITHOUT}{THINKING}")]
    on, off = (precise_alternatives(exchange) if exchange else {} for exchange in pair)
    return bool(on and off) and not are_same(on, off)


def _count(exchange: Exchange) -> int:
    """Return the prompt_tokens of an answer, or else 0."""
    try:
        return prompt_count(exchange)
    except NotObserved:
        return 0
