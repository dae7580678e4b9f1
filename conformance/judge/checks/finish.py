"""TODO."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NoOccasion, NotObserved, check, relation
from conformance.judge.answer_fields import KNOWN, choices_of
from conformance.judge.applicability import ANSWER, PLAIN_ANSWER, scenario, unsuccessful
from conformance.judge.token_counts import CERTAIN, CUTS, completion_of, limit_of
from openapi.stream.strict_json import read_json

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange

HARDLY_ANY = 2  # tokens: no server's own limit is so low


@check("finish.null-limits-nothing", on=scenario("max_tokens-null-accepted"))
def a_limit_of_null_limits_nothing(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With `max_tokens: null` an answer is not cut off after a token or two: null is no limit, and not 0 or 1."""
    if exchange.status is not None and 400 <= exchange.status < 500:
        raise NoOccasion("null is refused")
    if lack := unsuccessful(exchange):
        raise NotObserved(lack)
    found = completion_of(exchange)
    if found <= HARDLY_ANY and exchange.finish_reason() == "length":
        yield Finding("/choices/0/finish_reason", "no limit, or the server's own", f"length after {found} tokens")


@check("finish.reason-known", on=PLAIN_ANSWER)
def reason_is_a_documented_one(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every choice of a plain answer ends with a documented reason: stop, length or tool_calls."""
    for index in exchange.choices:
        found = exchange.finish_reason(index)
        if found not in KNOWN:
            yield Finding(f"/choices/{index}/finish_reason", " or ".join(KNOWN), repr(found))


@check("finish.length-when-cut", on=scenario("cut-*"))
def reason_is_length_when_the_limit_cuts(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An answer that max_tokens cuts off ends with "length".

    The requests ignore the end-of-sequence token, so that nothing but the limit can end them.
    """
    if lack := unsuccessful(exchange):
        raise NotObserved(lack)
    found = exchange.finish_reason()
    if found != "length":
        yield Finding("/choices/0/finish_reason", "length", repr(found))


@check("finish.length-only-at-limit", on=ANSWER)
def length_means_that_the_limit_was_reached(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An answer that ends with "length" has used up max_tokens, unless the server's own limit is lower."""
    if exchange.finish_reason() != "length":
        raise NoOccasion("the answer did not end with length")
    if len(exchange.choices) > 1:
        raise NoOccasion("usage sums over several choices")
    limit, found = limit_of(exchange), completion_of(exchange)
    if found < limit and limit > CERTAIN:
        raise NoOccasion("the server's own limit may be lower than max_tokens")
    if found < limit:
        yield Finding("/choices/0/finish_reason", f"length only after {limit} tokens", f"length after {found} tokens")


@check("finish.stop-when-stopped", on=scenario("stop-*", "stopped*"))
def reason_is_stop_after_a_stop_text(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An answer that a stop text ends has the reason "stop"."""
    if lack := unsuccessful(exchange):
        raise NotObserved(lack)
    found = exchange.finish_reason()
    stop = exchange.request_json.get("stop")
    never = isinstance(stop, str) and stop not in (exchange.content() or "")
    if found == "length" and never and completion_of(exchange) >= limit_of(exchange):
        raise NoOccasion("the greedy answer did not repeat and came to its limit before the stop text")
    if found != "stop":
        yield Finding("/choices/0/finish_reason", "stop", repr(found))


@check("finish.tool-calls-when-called", on=ANSWER)
def tool_calls_means_that_a_tool_is_called(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An answer that ends with "tool_calls" calls a tool."""
    ended = [index for index in exchange.choices if exchange.finish_reason(index) == "tool_calls"]
    if not ended:
        raise NoOccasion("the answer did not end with tool_calls")
    for index in ended:
        if not exchange.choices[index].tool_calls:
            yield Finding(f"/choices/{index}", "a tool call", "none, for the reason tool_calls")


@relation("finish.streamed-as-plain", over=("plain", "streamed"), lacks=unsuccessful)
def streamed_reason_equals_the_plain_one(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same greedy request ends for the same reason, streamed and plain."""
    plain, streamed = exchanges["plain"], exchanges["streamed"]
    if plain.content() != streamed.content():
        raise NoOccasion("the texts differ, so they may end differently")
    if plain.finish_reason() != streamed.finish_reason():
        yield Finding("/choices/0/finish_reason", repr(plain.finish_reason()), repr(streamed.finish_reason()))


@check("finish.reason-given", on=PLAIN_ANSWER)
def every_choice_says_why_it_ended(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every choice of a plain answer says why it ended, with a text that is not empty."""
    for at, choice in enumerate(choices_of(exchange)):
        found = choice.get("finish_reason")
        if not isinstance(found, str) or not found:
            yield Finding(f"/choices/{at}/finish_reason", "a reason", repr(found))


@relation("finish.length-when-more-follows", over=CUTS, lacks=unsuccessful)
def reason_is_length_when_more_would_follow(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """An answer that is cut off by a small max_tokens, while the same greedy answer goes on, ends with "length"."""
    whole = exchanges["whole"].content() or ""
    for name in CUTS[1:]:
        text = (exchanges[name].content() or "").rstrip("\ufffd")
        if not whole.startswith(text):
            raise NoOccasion("the greedy answer did not repeat")
        found = exchanges[name].finish_reason()
        if len(text) < len(whole) and found != "length":
            yield Finding(f"/{name}/choices/0/finish_reason", "length", repr(found))


@relation("finish.stop-when-ended", over=("whole", "roomy"), lacks=unsuccessful)
def reason_is_stop_when_the_model_ends(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """An answer that stays the same when max_tokens grows has ended by itself, with "stop"."""
    whole, roomy = exchanges["whole"], exchanges["roomy"]
    if whole.content() != roomy.content() or completion_of(whole) >= limit_of(whole):
        raise NoOccasion("the answer may not have ended by itself")
    for name, exchange in exchanges.items():
        if exchange.finish_reason() != "stop":
            yield Finding(f"/{name}/choices/0/finish_reason", "stop", repr(exchange.finish_reason()))


@check("finish.calls-end-with-tool-calls", on=ANSWER)
def a_called_tool_ends_with_tool_calls(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """An answer that calls a tool, and is not cut off, ends with "tool_calls".

    Where one function is forced by name, OpenAI's own service ends with "stop": both reasons are taken then.
    """
    calling = [index for index, choice in exchange.choices.items() if choice.tool_calls]
    sent: Any = exchange.request_json
    if not calling or not isinstance(sent, dict) or isinstance(sent.get("tool_choice"), dict):
        raise NoOccasion("no tool is called, or one is forced by name")
    for index in calling:
        found = exchange.finish_reason(index)
        if found not in ("tool_calls", "length"):
            yield Finding(f"/choices/{index}/finish_reason", "tool_calls", repr(found))


@check("finish.length-when-call-cut", on=scenario("tool-choices", "cut*"))
def a_cut_call_ends_with_length(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A tool call whose arguments max_tokens has cut off ends with "length", not as if it could be carried out."""
    if lack := unsuccessful(exchange):
        raise NotObserved(lack)
    cut = [
        index
        for index, choice in exchange.choices.items()
        if any(read_json(call.arguments).error for call in choice.tool_calls)
    ]
    if not cut or completion_of(exchange) < limit_of(exchange):
        raise NoOccasion("no tool call was cut off")
    for index in cut:
        if exchange.finish_reason(index) != "length":
            yield Finding(f"/choices/{index}/finish_reason", "length", repr(exchange.finish_reason(index)))


@relation(
    "finish.length-when-choices-cut", over=("seeded-choices", "seeded-choices-again", "cut-choices"), lacks=unsuccessful
)
def each_choice_that_is_cut_ends_with_length(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Each of several choices that a small max_tokens cuts off, while it goes on with more room, ends with "length"."""
    whole, again, cut = (
        {at: folded.content for at, folded in exchanges[name].choices.items()}
        for name in ("seeded-choices", "seeded-choices-again", "cut-choices")
    )
    begun = {at: text.rstrip("\ufffd") for at, text in cut.items()}
    if whole != again or any(not whole.get(at, "").startswith(text) for at, text in begun.items()):
        raise NoOccasion("seeded answers of this server do not repeat")
    ended = [at for at, text in begun.items() if text and len(whole[at]) > len(text)]
    if not ended:
        raise NoOccasion("no choice was cut off")
    for index in ended:
        if (found := exchanges["cut-choices"].finish_reason(index)) != "length":
            yield Finding(f"/cut-choices/choices/{index}/finish_reason", "length", repr(found))


@relation("finish.length-when-form-cut", over=("person", "person-cut"), lacks=unsuccessful)
def a_cut_form_ends_with_length(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """JSON of a schema that max_tokens cuts off ends with "length", not as if it were whole."""
    whole, text = (exchanges[name].content() or "" for name in ("person", "person-cut"))
    if not text or not whole.startswith(text) or len(whole) <= len(text):
        raise NoOccasion("nothing was cut off, or greedy answers of this server do not repeat")
    found = exchanges["person-cut"].finish_reason()
    if found != "length":
        yield Finding("/person-cut/choices/0/finish_reason", "length", repr(found))
