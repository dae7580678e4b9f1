"""Checks of finish reasons: whether they agree with how the answer ended."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NotExercised, NotObserved, check, relation, series
from conformance.judge.answer_fields import FINISH_REASONS, choices_of
from conformance.judge.applicability import (
    ANSWER,
    PLAIN_ANSWER,
    STOPPED_BY_TEXT,
    STREAMED_ANSWER,
    UNENDING,
    in_scenario,
    why_unanswered,
)
from conformance.judge.evidence.repetition import require_repetition
from conformance.judge.token_counts import LIMITED_STEPS, SAFE_LIMIT, STREAMED_CUTS, completion_count, requested_limit
from openapi.schema.quantity import format_quantity
from openapi.stream.strict_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

FEW_CHARACTERS = 8  # a few characters less may be part of the last token
VERY_SHORT = 2  # tokens; every server's own limit is higher
UNLIMITED = ("unlimited", "nulled")


@check("finish.null-limits-nothing", on=in_scenario("max_tokens-null-accepted"))
def a_limit_of_null_limits_nothing(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With `max_tokens: null` an answer is not cut off after a token or two: null means no limit, not 0 or 1."""
    if exchange.status is not None and 400 <= exchange.status < 500:
        raise NotExercised("null is refused")
    if reason := why_unanswered(exchange):
        raise NotObserved(reason)
    found = completion_count(exchange)
    if found <= VERY_SHORT and exchange.finish_reason() == "length":
        yield Finding(
            "/choices/0/finish_reason",
            "no limit, or the server's own",
            f"length after {format_quantity(found, 'token')}",
        )


@series("finish.unlimited-goes-on", scenario="length-without-a-limit")
def an_answer_without_a_limit_goes_on(exchanges: Mapping[str, Exchange], context: Context) -> Iterator[Finding]:
    """Without max_tokens, or with null, a greedy answer is not shorter than with a limit of 100: no other limit
    replaces it, nor that of an earlier request.

    The stream is left where it is as long as the limited answer. Only a complete one, which the server ended, is
    compared. If it ends with "stop", two ends may be almost equally likely, so other greedy answers must repeat.
    """
    limited = exchanges.get("limited")
    if limited is None or "unlimited" not in exchanges:
        raise NotExercised("not all of its requests were sent")
    if reason := why_unanswered(limited):
        raise NotObserved(reason)
    text = _text_of(limited)
    for name, exchange in exchanges.items():
        if name not in UNLIMITED:
            continue
        failure = exchange.failure
        if exchange.response is not None and failure is not None and failure.kind == "disconnected-by-us":
            continue
        if reason := why_unanswered(exchange):
            if name == "nulled":
                continue  # other requirements judge whether null is accepted
            raise NotObserved(reason)
        found = _text_of(exchange)
        if text.startswith(found) and len(text) - len(found) > FEW_CHARACTERS:
            if exchange.finish_reason() != "length":
                require_repetition(context)
            yield Finding(f"/{name}/choices/0/message/content", repr(text)[:200], repr(found)[:200])


def _text_of(exchange: Exchange) -> str:
    """Return the reasoning and the text of an answer, without part of a character at its end."""
    whole = "".join(choice.reasoning + choice.content for choice in exchange.choices.values())
    return whole.strip().rstrip("\ufffd")


@check("finish.reason-known", on=PLAIN_ANSWER)
def reason_is_a_documented_one(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every choice of a plain answer ends with a documented reason: stop, length or tool_calls."""
    for index in exchange.choices:
        found = exchange.finish_reason(index)
        if found not in FINISH_REASONS:
            yield Finding(f"/choices/{index}/finish_reason", " or ".join(FINISH_REASONS), repr(found))


@check("finish.length-when-cut", on=UNENDING)
def reason_is_length_when_the_limit_cuts(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every choice that a limit cuts off ends with "length", streamed and plain.

    The requests ignore the end-of-sequence token, so only max_tokens or the server's own limit can end them.
    """
    for index in exchange.choices:
        found = exchange.finish_reason(index)
        if found != "length":
            yield Finding(f"/choices/{index}/finish_reason", "length", repr(found))


@check("finish.length-only-at-limit", on=ANSWER)
def length_means_that_the_limit_was_reached(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An answer that ends with "length" has max_tokens tokens, unless the server's own limit is lower."""
    if exchange.finish_reason() != "length":
        raise NotExercised("the answer did not end with length")
    if len(exchange.choices) > 1:
        raise NotExercised("usage sums over several choices")
    limit, found = requested_limit(exchange), completion_count(exchange)
    if SAFE_LIMIT <= found < limit:
        raise NotExercised("the server's own limit may be lower than max_tokens")
    if found < limit:
        expected = f"length only after {min(limit, SAFE_LIMIT)} tokens"
        yield Finding("/choices/0/finish_reason", expected, f"length after {format_quantity(found, 'token')}")


@check("finish.stop-when-stopped", on=STOPPED_BY_TEXT)
def reason_is_stop_after_a_stop_text(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every choice that a stop string ends has the reason "stop", streamed and plain."""
    stop = exchange.request_json.get("stop")
    for index, choice in exchange.choices.items():
        found = choice.finish_reason
        absent = not any(text in choice.content for text in ([stop] if isinstance(stop, str) else stop or ()))
        if found == "length" and absent and _has_reached_limit(exchange):
            raise NotExercised("the greedy answer did not repeat, and reached its limit before the stop string")
        if found != "stop":
            yield Finding(f"/choices/{index}/finish_reason", "stop", repr(found))


@relation("finish.stop-when-stream-stopped", over=("baseline", "stopped-streamed"), unmet=why_unanswered)
def reason_is_stop_after_a_streamed_stop_text(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A stream that ends where its stop string is in the unstopped answer has the reason "stop".

    The end is the evidence, because streams of many servers have no usage.
    """
    whole, streamed = exchanges["baseline"].content() or "", exchanges["stopped-streamed"]
    stop = streamed.request_json.get("stop")
    if not isinstance(stop, str) or streamed.content() not in (
        whole[: whole.find(stop)],
        whole[: whole.find(stop) + len(stop)],
    ):
        raise NotExercised("the stream does not end with its stop string")
    if streamed.finish_reason() != "stop":
        yield Finding("/stopped-streamed/choices/0/finish_reason", "stop", repr(streamed.finish_reason()))


def _has_reached_limit(exchange: Exchange) -> bool:
    """Tell whether the choices of an answer have as many tokens as the request allows."""
    return completion_count(exchange) >= requested_limit(exchange) * len(exchange.choices)


@check("finish.tool-calls-when-called", on=ANSWER)
def tool_calls_means_that_a_tool_is_called(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An answer that ends with "tool_calls" calls a tool."""
    ended = [index for index in exchange.choices if exchange.finish_reason(index) == "tool_calls"]
    if not ended:
        raise NotExercised("the answer did not end with tool_calls")
    for index in ended:
        if not exchange.choices[index].tool_calls:
            yield Finding(f"/choices/{index}", "a tool call", "none, although the reason is tool_calls")


@relation("finish.streamed-as-plain", over=("plain", "streamed"), unmet=why_unanswered)
def streamed_reason_equals_the_plain_one(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same greedy request ends for the same reason, streamed and plain.

    Answers that call tools have a requirement of their own for streams.
    """
    plain, streamed = exchanges["plain"], exchanges["streamed"]
    if any(choice.tool_calls for exchange in (plain, streamed) for choice in exchange.choices.values()):
        raise NotExercised("a tool is called")
    if plain.content() != streamed.content():
        raise NotExercised("the texts differ, so their finish reasons may differ")
    if plain.finish_reason() != streamed.finish_reason():
        yield Finding("/choices/0/finish_reason", repr(plain.finish_reason()), repr(streamed.finish_reason()))


@check("finish.reason-given", on=PLAIN_ANSWER)
def every_choice_says_why_it_ended(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every choice of a plain answer has a finish reason that is a string and not empty."""
    for at, choice in enumerate(choices_of(exchange)):
        found = choice.get("finish_reason")
        if not isinstance(found, str) or not found:
            yield Finding(f"/choices/{at}/finish_reason", "a reason", repr(found))


@relation("finish.length-when-more-follows", over=LIMITED_STEPS, unmet=why_unanswered)
def reason_is_length_when_more_would_follow(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """An answer that a small max_tokens cuts off, although the same greedy answer continues, ends with "length"."""
    yield from _cut_with_another_reason(exchanges)


@relation("finish.length-when-stream-cut", over=("whole", *STREAMED_CUTS), unmet=why_unanswered)
def reason_is_length_when_more_would_be_streamed(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """A stream that a small max_tokens cuts off, although the same greedy answer continues, ends with "length"."""
    yield from _cut_with_another_reason(exchanges)


def _cut_with_another_reason(exchanges: Mapping[str, Exchange]) -> Iterator[Finding]:
    """Yield a finding for each answer that lacks the end of the whole one, and ends with another reason than length."""
    whole = exchanges["whole"].content() or ""
    for name in exchanges:
        text = (exchanges[name].content() or "").rstrip("\ufffd")
        if not whole.startswith(text):
            raise NotExercised("the greedy answer did not repeat")
        found = exchanges[name].finish_reason()
        if len(text) < len(whole) and found != "length":
            yield Finding(f"/{name}/choices/0/finish_reason", "length", repr(found))


@relation("finish.stop-when-ended", over=("whole", "roomy"), unmet=why_unanswered)
def reason_is_stop_when_the_model_ends(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """An answer that stays the same with a greater max_tokens has ended by itself, with "stop"."""
    whole, roomy = exchanges["whole"], exchanges["roomy"]
    if whole.content() != roomy.content() or completion_count(whole) >= requested_limit(whole):
        raise NotExercised("the answer may not have ended by itself")
    for name, exchange in exchanges.items():
        if exchange.finish_reason() != "stop":
            yield Finding(f"/{name}/choices/0/finish_reason", "stop", repr(exchange.finish_reason()))


@check("finish.calls-end-with-tool-calls", on=PLAIN_ANSWER)
def a_called_tool_ends_with_tool_calls(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A plain answer that calls a tool, and is not cut off, ends with "tool_calls".

    If one function is forced by name, OpenAI's own service ends with "stop"; then both reasons are allowed.
    """
    yield from _calls_with_another_reason(exchange)


@check("finish.streamed-calls-end-with-tool-calls", on=STREAMED_ANSWER)
def a_streamed_call_ends_with_tool_calls(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A streamed answer that calls a tool, and is not cut off, ends with "tool_calls", as a plain answer does.

    Tables of streams may list fewer reasons than those of plain answers, so this is a requirement of its own.
    """
    yield from _calls_with_another_reason(exchange)


def _calls_with_another_reason(exchange: Exchange) -> Iterator[Finding]:
    calling = [index for index, choice in exchange.choices.items() if choice.tool_calls]
    sent: Any = exchange.request_json
    if not calling or not isinstance(sent, dict) or isinstance(sent.get("tool_choice"), dict):
        raise NotExercised("no tool is called, or one is forced by name")
    for index in calling:
        found = exchange.finish_reason(index)
        if found not in ("tool_calls", "length"):
            yield Finding(f"/choices/{index}/finish_reason", "tool_calls", repr(found))


@check("finish.length-when-call-cut", on=in_scenario("tool-choices", "cut*"))
def a_cut_call_ends_with_length(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A tool call whose arguments max_tokens has cut off ends with "length", so that no client executes it."""
    if reason := why_unanswered(exchange):
        raise NotObserved(reason)
    cut = [
        index
        for index, choice in exchange.choices.items()
        if any(read_json(call.arguments).error for call in choice.tool_calls)
    ]
    if not cut or completion_count(exchange) < requested_limit(exchange):
        raise NotExercised("no tool call was cut off")
    for index in cut:
        if exchange.finish_reason(index) != "length":
            yield Finding(f"/choices/{index}/finish_reason", "length", repr(exchange.finish_reason(index)))


@relation(
    "finish.length-when-choices-cut",
    over=("seeded-choices", "seeded-choices-again", "cut-choices"),
    unmet=why_unanswered,
)
def each_choice_that_is_cut_ends_with_length(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Each of several choices that a small max_tokens cuts off, and that continues with a greater one, ends with
    "length".
    """
    whole, again, cut = (
        {at: choice.content for at, choice in exchanges[name].choices.items()}
        for name in ("seeded-choices", "seeded-choices-again", "cut-choices")
    )
    stable = {at: text.rstrip("\ufffd") for at, text in cut.items()}
    if whole != again or any(not whole.get(at, "").startswith(text) for at, text in stable.items()):
        raise NotExercised("seeded answers of this server do not repeat")
    ended = [at for at, text in stable.items() if text and len(whole[at]) > len(text)]
    if not ended:
        raise NotExercised("no choice was cut off")
    for index in ended:
        if (found := exchanges["cut-choices"].finish_reason(index)) != "length":
            yield Finding(f"/cut-choices/choices/{index}/finish_reason", "length", repr(found))


@relation("finish.length-when-form-cut", over=("person", "person-cut"), unmet=why_unanswered)
def a_cut_form_ends_with_length(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """JSON of a schema that max_tokens cuts off ends with "length", so that no client takes it as complete."""
    whole, text = (exchanges[name].content() or "" for name in ("person", "person-cut"))
    if not text or not whole.startswith(text) or len(whole) <= len(text):
        raise NotExercised("nothing was cut off, or greedy answers of this server do not repeat")
    found = exchanges["person-cut"].finish_reason()
    if found != "length":
        yield Finding("/person-cut/choices/0/finish_reason", "length", repr(found))
