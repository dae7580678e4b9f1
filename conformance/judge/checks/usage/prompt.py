"""Checks of prompt_tokens: whether every part of a conversation is counted and therefore reaches the model."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NotExercised, NotObserved, relation, series
from conformance.judge.applicability import why_unanswered
from conformance.judge.token_counts import LIMITED_STEPS, comparable_counts
from conformance.plan.scenarios.combinations.tool_conversations import HISTORY, MAIN, SHORTER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

LEAST_CONTEXT = 256
"""Tokens. Prompts that count no more beyond a greater number have met the context of a small server."""
SPARE_TOKENS = 4  # which the end of the shorter text may need alone
LEAST_SHARE = 0.8  # of what the same JSON adds in another place: templates write JSON with other spaces and escapes
LEAST_GROWTH = 0.85  # of what the same text added before: longer runs of it may need fewer tokens


def _prompt_tokens(exchange: Exchange) -> int:
    """Return the prompt_tokens of an answer."""
    return comparable_counts(exchange)[0]


def _counts_more(exchanges: Mapping[str, Exchange], less: str, more: str) -> Iterator[Finding]:
    """Yield a finding unless one step's prompt counts more tokens than the other's."""
    known, found = _prompt_tokens(exchanges[less]), _prompt_tokens(exchanges[more])
    if found <= known:
        yield Finding(f"/{more}/usage/prompt_tokens", f"more than {known}", f"{found}")


@relation("usage.prompt-grows", over=("short", "long"), unmet=why_unanswered)
def prompt_tokens_grow_with_the_prompt(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A prompt that contains another one and much more counts more tokens."""
    yield from _counts_more(exchanges, "short", "long")


@relation("usage.prompt-repeats", over=("plain", "plain-again"), unmet=why_unanswered)
def same_prompt_counts_the_same(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same prompt counts the same number of tokens, however often it is sent and whatever the answer is."""
    first, second = (_prompt_tokens(exchanges[name]) for name in ("plain", "plain-again"))
    if first != second:
        yield Finding("/usage/prompt_tokens", f"{first} as before", f"{second}")


@relation("usage.prompt-counted-alone", over=LIMITED_STEPS, unmet=why_unanswered)
def prompt_tokens_do_not_depend_on_the_answer(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """prompt_tokens does not depend on max_tokens: it does not include the space reserved for the answer."""
    first, *others = (_prompt_tokens(exchanges[name]) for name in LIMITED_STEPS)
    for name, other in zip(LIMITED_STEPS[1:], others, strict=True):
        if other != first:
            yield Finding(f"/{name}/usage/prompt_tokens", f"{first}", f"{other}")


@relation("usage.system-counted", over=("bare", "instructed"), unmet=why_unanswered)
def system_message_is_counted(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A long system message in front of the same question adds to prompt_tokens: it reaches the model."""
    yield from _counts_more(exchanges, "bare", "instructed")


@relation("usage.history-counted", over=("bare", "second-turn", "third-turn"), unmet=why_unanswered)
def history_is_counted(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Every turn in front of the question adds to prompt_tokens: the whole conversation reaches the model."""
    for fewer, more in pairwise(("bare", "second-turn", "third-turn")):
        yield from _counts_more(exchanges, fewer, more)


@relation("usage.tool-results-counted", over=("answered", "answered-at-length"), unmet=why_unanswered)
def tool_results_are_counted(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A tool message with much more text adds to prompt_tokens: tool results reach the model."""
    yield from _counts_more(exchanges, "answered", "answered-at-length")


@series("usage.turns-with-tools-counted", scenario=HISTORY)
def every_turn_with_tools_is_counted(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """More text in any turn of a conversation with tools adds to prompt_tokens: next to calls, in one of several
    results that come in another order than their calls, and in a question right after a result.
    """
    whole = exchanges.get(MAIN)
    others = {name: exchange for name, exchange in exchanges.items() if name.startswith(SHORTER)}
    answered = {name: exchange for name, exchange in others.items() if exchange.succeeded}
    if whole is None or not whole.succeeded or not answered:
        raise NotExercised("the conversation is refused")
    known = _prompt_tokens(whole)
    for name, exchange in answered.items():
        found = _prompt_tokens(exchange)
        if found >= known:
            yield Finding(f"/{name}/usage/prompt_tokens", f"less than the {known} with more text", f"{found}")


@relation("usage.parts-counted-as-text", over=("answered", "answered-in-parts"))
def a_part_is_counted_as_its_text(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The result of a tool as a list of one text part counts about as many prompt tokens as the same text: the model
    reads the text, not JSON.
    """
    text, parts = exchanges.values()
    if parts.status is not None and 400 <= parts.status < 500:
        raise NotExercised("the result of a tool as a list of parts is refused")
    if reason := next(filter(None, map(why_unanswered, exchanges.values())), None):
        raise NotObserved(reason)
    known, found = (_prompt_tokens(exchange) for exchange in (text, parts))
    if abs(found - known) > SPARE_TOKENS:
        yield Finding("/answered-in-parts/usage/prompt_tokens", f"about {known}", f"{found}")


@relation("usage.tool-calls-counted", over=("answered", "answered-after-a-long-call"), unmet=why_unanswered)
def earlier_tool_calls_are_counted(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """An earlier tool call with much longer arguments adds to prompt_tokens: the arguments reach the model."""
    yield from _counts_more(exchanges, "answered", "answered-after-a-long-call")


@relation("usage.long-calls-counted", over=("answered", "answered-after-a-long-call", "answered-at-length"))
def long_calls_count_as_long_results(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same 2,900 characters of JSON add about as many prompt tokens as the arguments of an earlier call and as the
    result of a tool, unless the prompt is refused: neither is cut without notice.
    """
    require_accepted(exchanges)
    usual, *counts = (_prompt_tokens(exchange) for exchange in exchanges.values())
    added = [count - usual for count in counts]
    least = int(LEAST_SHARE * max(added))
    for name, growth in zip(list(exchanges)[1:], added, strict=True):
        if growth < least:
            yield Finding(f"/{name}/usage/prompt_tokens", f"at least {usual + least}", f"{usual + growth}")


@relation("usage.prompt-counted-once", over=("single", "seeded-choices"), unmet=why_unanswered)
def prompt_is_counted_once_for_all_choices(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """prompt_tokens counts the prompt once, however many choices the request asks for."""
    one, several = (_prompt_tokens(exchanges[name]) for name in ("single", "seeded-choices"))
    if one != several:
        yield Finding("/seeded-choices/usage/prompt_tokens", f"{one}", f"{several}")


@relation("usage.rare-characters-counted", over=("short", "rare"), unmet=why_unanswered)
def rare_characters_are_counted(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A prompt that continues with characters beyond the basic plane counts more tokens: they reach the model."""
    yield from _counts_more(exchanges, "short", "rare")


@relation("usage.marks-remove-nothing", over=("words", "words-and-marks"), unmet=why_unanswered)
def marks_remove_no_words(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Words between the marks of chat templates, of markup and of placeholders are counted as without the marks."""
    words, found = (_prompt_tokens(exchanges[name]) for name in ("words", "words-and-marks"))
    if found < words:
        yield Finding("/words-and-marks/usage/prompt_tokens", f"{words} or more", f"{found}")


@relation("usage.marks-add-nothing", over=("words", "words-and-quotes"), unmet=why_unanswered)
def marks_are_not_rewritten(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Quotes, angle brackets and ampersands count at most one token for each of their bytes: they are not rewritten as
    entities or escape sequences.
    """
    words, found = (_prompt_tokens(exchanges[name]) for name in ("words", "words-and-quotes"))
    shorter, longer = (_size(exchanges[name]) for name in ("words", "words-and-quotes"))
    most = words + longer - shorter + SPARE_TOKENS
    if found > most:
        yield Finding("/words-and-quotes/usage/prompt_tokens", f"at most {most}", f"{found}")


def _size(exchange: Exchange) -> int:
    """Return the bytes of the only message of a request."""
    sent: Any = exchange.request_json
    return len(sent["messages"][-1]["content"].encode())


@relation("usage.nul-ends-nothing", over=("short", "behind-nul"))
def what_follows_a_nul_is_counted(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Text behind a NUL character adds to prompt_tokens, unless the character is refused: it does
    not end the prompt.
    """
    if any(why_unanswered(exchange) for exchange in exchanges.values()):
        raise NotExercised("a NUL character is refused")
    short, found = (_prompt_tokens(exchanges[name]) for name in ("short", "behind-nul"))
    if found <= short + 2:  # the NUL itself may be a token, or two
        yield Finding("/behind-nul/usage/prompt_tokens", f"more than {short + 2}", f"{found}")


@relation("usage.answers-counted", over=("second-turn", "second-turn-at-length"), unmet=why_unanswered)
def earlier_answers_are_counted(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """An earlier answer with much more text adds to prompt_tokens: the assistant's messages reach the model."""
    yield from _counts_more(exchanges, "second-turn", "second-turn-at-length")


@relation("usage.parts-counted", over=("bare", "in-one", "in-parts"))
def all_parts_of_a_content_are_counted(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A content in three parts counts about as many tokens as the same text in one part, if parts are accepted."""
    if any(why_unanswered(exchange) for exchange in exchanges.values()):
        raise NotExercised("content in parts is refused")
    bare, whole, parts = (_prompt_tokens(exchanges[name]) for name in ("bare", "in-one", "in-parts"))
    least = whole - (whole - bare) // 4  # joining the parts may cost or save a token each
    if whole > bare and parts < least:
        yield Finding("/in-parts/usage/prompt_tokens", f"at least {least}", f"{parts}")


def require_accepted(exchanges: Mapping[str, Exchange]) -> None:
    """Raise NotExercised if a prompt is refused, which shows how long prompts may be, and NotObserved if one fails."""
    if any(400 <= (exchange.status or 0) < 500 for exchange in exchanges.values()):
        raise NotExercised("the server refuses prompts of this length")
    for exchange in exchanges.values():
        if reason := why_unanswered(exchange):
            raise NotObserved(reason)


def _grows_evenly(
    exchanges: Mapping[str, Exchange], names: tuple[str, str, str], amounts: tuple[int, int, int]
) -> Iterator[Finding]:
    """Yield a finding if the same amount of text adds clearly fewer tokens to a long prompt than to a short one."""
    require_accepted(exchanges)
    counts = [_prompt_tokens(exchanges[name]) for name in names]
    steps = [amount - before for before, amount in pairwise(amounts)]
    first, second = (after - before for before, after in pairwise(counts))
    least = int(LEAST_GROWTH * first * steps[1] / steps[0])
    if first <= 0 and counts[0] < LEAST_CONTEXT:
        yield Finding(f"/{names[1]}/usage/prompt_tokens", f"more than {counts[0]}", f"{counts[1]}")
    elif first > 0 and second < least:
        yield Finding(f"/{names[-1]}/usage/prompt_tokens", f"at least {counts[1] + least}", f"{counts[2]}")


LENGTHS = ("few-hundred", "thousand", "two-thousand")
HISTORIES = ("four-turns", "eight-turns", "twelve-turns")


@relation("usage.long-prompts-counted", over=LENGTHS)
def long_prompts_are_counted_whole(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """prompt_tokens grows evenly up to 2,000 tokens, unless the prompt is refused: nothing is cut without notice."""
    yield from _grows_evenly(exchanges, LENGTHS, (30, 100, 200))


@relation("usage.long-histories-counted", over=HISTORIES)
def long_histories_are_counted_whole(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Each turn of a conversation of twelve adds to prompt_tokens as the first ones do: none is left out."""
    yield from _grows_evenly(exchanges, HISTORIES, (4, 8, 12))


@relation("usage.long-prompt-repeats", over=("thousand", "thousand-again", "thousand-streamed"))
def a_long_prompt_counts_the_same(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A long prompt counts the same number of tokens each time, also if it is cached or the answer is streamed."""
    require_accepted(exchanges)
    first, *others = exchanges
    for name in others:
        if exchanges[name].is_stream and exchanges[name].usage is None:
            continue
        if (known := _prompt_tokens(exchanges[first])) != (found := _prompt_tokens(exchanges[name])):
            yield Finding(f"/{name}/usage/prompt_tokens", f"{known}", f"{found}")


@relation("usage.cached-in-streams", over=("thousand", "thousand-again", "thousand-streamed"), unmet=why_unanswered)
def cached_tokens_are_counted_in_streams(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """If usage counts cached tokens of a long prompt that is repeated, it also counts them in a stream after that."""
    again, streamed = (_count_cached(exchanges[name]) for name in ("thousand-again", "thousand-streamed"))
    if not again or not exchanges["thousand-streamed"].usage:
        raise NotExercised("usage counts no cached tokens")
    if not streamed:
        where = "/thousand-streamed/usage/prompt_tokens_details/cached_tokens"
        yield Finding(where, f"about {again}, as in the plain answer before", f"{streamed}")


def _count_cached(exchange: Exchange) -> int:
    """Return how many tokens of a prompt were cached; 0 if that is unknown."""
    details = (exchange.usage or {}).get("prompt_tokens_details")
    count = details.get("cached_tokens") if isinstance(details, dict) else None
    return count if type(count) is int else 0
