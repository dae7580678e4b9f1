"""Streams: the order of events, and what each dialect puts where. `sse.py` judges their bytes.

The order is stated once, as tables, in `openapi/stream.py`; the checks here name its rules. Where the dialects differ
(usage, roles) the walk gives the facts and the check compares them with the dialect's form.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NoOccasion, NotObserved, check, relation
from conformance.checks.answer import asked_choices, created_faults
from conformance.checks.finish import KNOWN
from conformance.occasion import EXPECTED_STREAM, STREAM, STREAMED_ANSWER, greedy, shown, unsuccessful, written

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange


def breaches(exchange: Exchange, *rules: str) -> Iterator[Finding]:
    """The breaches of these rules of the stream's order, as findings."""
    for breach in exchange.walk.breaches:
        if breach.rule in rules:
            yield Finding(f"/events/{breach.at}", breach.expected, breach.got)


def chunks(exchange: Exchange) -> list[tuple[int, dict[str, Any]]]:
    """The chunks of the stream that are no errors; raises NotObserved when there are none."""
    errors = {at for at, _ in exchange.walk.errors}
    found = [(at, chunk) for at, chunk in exchange.walk.chunks if at not in errors]
    if not found:
        raise NotObserved("the stream has no chunks")
    return found


def choices(chunk: dict[str, Any]) -> list[dict[str, Any]]:
    """The choices of a chunk that are objects."""
    found = chunk.get("choices")
    return [choice for choice in found if isinstance(choice, dict)] if isinstance(found, list) else []


def deltas(exchange: Exchange) -> Iterator[tuple[str, dict[str, Any]]]:
    """Every delta that is an object, with its place."""
    for at, chunk in chunks(exchange):
        for choice in choices(chunk):
            if isinstance(choice.get("delta"), dict):
                yield f"/events/{at}/choices/{choice.get('index')}/delta", choice["delta"]


def _constant(exchange: Exchange, name: str) -> Iterator[Finding]:
    values = [(at, chunk.get(name)) for at, chunk in chunks(exchange)]
    first = values[0][1]
    for at, value in values:
        if value != first:
            yield Finding(f"/events/{at}/{name}", f"{first!r} as in the first chunk", repr(value))
            return


def _asks_for_usage(exchange: Exchange) -> bool:
    sent: Any = exchange.request_json
    options = sent.get("stream_options") if isinstance(sent, dict) else None
    return isinstance(options, dict) and options.get("include_usage") is True


@check("stream.accepted", on=EXPECTED_STREAM)
def stream_is_sent_when_asked_for(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request with `stream: true` is answered with an event stream, to its end."""
    if exchange.status != 200 or not exchange.complete:
        yield Finding("/status", "200 and a complete stream", shown(exchange))
    elif not exchange.is_stream:
        yield Finding("/body", "an event stream", f"{exchange.content_type or 'no content type'}, {shown(exchange)}")


@check("stream.done-last", on=STREAM)
def done_is_last(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The stream ends with the event `[DONE]`.

    Schemas cannot say this: a description models one event, never their order.
    """
    yield from breaches(exchange, "done-last")


@check("stream.done-once", on=STREAM)
def done_is_sent_once(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """`[DONE]` is sent no more than once."""
    yield from breaches(exchange, "done-once")


@check("stream.nothing-after-done", on=STREAM)
def nothing_follows_done(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """No chunk follows `[DONE]`; clients stop reading there."""
    yield from breaches(exchange, "nothing-after-done")


@check("stream.events-are-json", on=STREAM)
def events_hold_json_objects(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The data of every event but `[DONE]` is one JSON object."""
    yield from breaches(exchange, "events-are-json", "events-are-objects")


@check("stream.chunks-fit-schema", on=STREAM)
def chunks_fit_the_description(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """Every chunk is valid against the description of the dialect."""
    for at, chunk in chunks(exchange):
        for problem in context.validator.problems("ChatCompletionChunk", chunk):
            yield Finding(f"/events/{at}{problem.where}", f"{problem.keyword} {problem.bound}", problem.message)


@check("stream.object-named", on=STREAM)
def object_is_chat_completion_chunk(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """`object` of every chunk is "chat.completion.chunk"."""
    for at, chunk in chunks(exchange):
        if chunk.get("object") != "chat.completion.chunk":
            yield Finding(f"/events/{at}/object", "chat.completion.chunk", repr(chunk.get("object")))


@check("stream.id-constant", on=STREAM)
def id_is_the_same_in_every_chunk(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every chunk has the same `id`, a text that is not empty."""
    first = chunks(exchange)[0][1].get("id")
    if not isinstance(first, str) or not first:
        yield Finding("/events/0/id", "a text", repr(first))
    yield from _constant(exchange, "id")


@check("stream.created-constant", on=STREAM)
def created_is_the_same_in_every_chunk(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every chunk has the same `created`."""
    yield from _constant(exchange, "created")


@check("stream.created-now", on=STREAM)
def created_of_chunks_is_the_time_of_the_answer(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """`created` of the chunks is the Unix time of the answer in seconds, as in plain answers."""
    at, first = chunks(exchange)[0]
    yield from created_faults(f"/events/{at}/created", first.get("created"), exchange)


@check("stream.model-constant", on=STREAM)
def model_is_the_same_in_every_chunk(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every chunk names the same model."""
    yield from _constant(exchange, "model")


@check("stream.role-assistant", on=STREAM)
def role_is_assistant_where_given(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A role, where a delta has one, is "assistant"."""
    for where, delta in deltas(exchange):
        if delta.get("role") not in (None, "assistant"):
            yield Finding(f"{where}/role", "assistant", repr(delta["role"]))


@check("stream.role-in-every-delta", on=STREAM)
def role_is_in_every_delta(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every delta carries the role, as the dialect's examples do."""
    for where, delta in deltas(exchange):
        if delta.get("role") != "assistant":
            yield Finding(f"{where}/role", "assistant", repr(delta.get("role")))
            return


@check("stream.index-integer", on=STREAM)
def index_is_an_integer(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """`choices` of every chunk is a list, and every choice has an integer `index`."""
    yield from breaches(exchange, "index-is-an-integer", "choices-is-a-list")


@check("stream.one-choice-by-default", on=STREAM)
def one_choice_is_streamed_when_none_is_asked_for(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """Only the choice with index 0 is streamed when `n` is not given or is 1."""
    sent: Any = exchange.request_json
    if isinstance(sent, dict) and asked_choices(exchange, context) not in (None, 1):
        raise NoOccasion("the request asks for more choices")
    found = sorted(exchange.choices)
    if found != [0]:
        yield Finding("/events/*/choices/*/index", "[0]", f"{found}")


@check("stream.one-choice-per-chunk", on=STREAM)
def chunk_carries_one_choice(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every chunk carries exactly one choice, as the dialect's examples do."""
    for at, chunk in chunks(exchange):
        if len(choices(chunk)) != 1:
            yield Finding(f"/events/{at}/choices", "1 choice", f"{len(choices(chunk))} choices")
            return


@check("stream.one-finish-per-choice", on=STREAM)
def choice_finishes_once(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every choice gets exactly one finish_reason that is not null."""
    yield from breaches(exchange, "one-finish-per-choice")


@check("stream.nothing-after-finish", on=STREAM)
def choice_is_silent_after_its_finish(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A choice says nothing more after its finish_reason."""
    yield from breaches(exchange, "nothing-after-finish")


@check("stream.finish-reason-known", on=STREAM)
def streamed_reason_is_a_documented_one(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A finish_reason in a stream is stop, length, tool_calls, or null before the end.

    An empty text is none of them; clients take it for the end.
    """
    for at, chunk in chunks(exchange):
        for choice in choices(chunk):
            found = choice.get("finish_reason")
            if found is not None and found not in KNOWN:
                where = f"/events/{at}/choices/{choice.get('index')}/finish_reason"
                yield Finding(where, f"{', '.join(KNOWN)} or null", repr(found))


@check("stream.no-error-event", on=STREAM)
def stream_reports_no_error(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The stream of a valid request reports no error."""
    for at, chunk in exchange.walk.errors:
        yield Finding(f"/events/{at}", "a chunk", repr(chunk)[:120])


@check("stream.usage-with-finish", on=STREAMED_ANSWER)
def usage_comes_with_the_finish_reason(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Usage stands in the chunk that carries the finish_reason."""
    finished = {
        at for at, chunk in chunks(exchange) for choice in choices(chunk) if choice.get("finish_reason") is not None
    }
    given = {at for at, _ in exchange.walk.usages}
    if not finished & given:
        yield Finding("/events/*/usage", f"in event {sorted(finished)}", f"in events {sorted(given)}")


@check("stream.usage-once", on=STREAMED_ANSWER)
def usage_is_sent_once_per_choice(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Usage is sent once for each choice, not with every chunk."""
    given = [at for at, _ in exchange.walk.usages]
    if len(given) > max(1, len(exchange.choices)):
        yield Finding("/events/*/usage", f"{max(1, len(exchange.choices))} times", f"{len(given)} times")


@check("stream.usage-on-request", on=STREAMED_ANSWER)
def usage_chunk_is_sent_when_asked_for(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With include_usage the last chunk before `[DONE]` holds usage and an empty list of choices."""
    if not _asks_for_usage(exchange):
        raise NoOccasion("the request does not ask for usage")
    at, last = chunks(exchange)[-1]
    if not isinstance(last.get("usage"), dict):
        yield Finding(f"/events/{at}/usage", "an object", repr(last.get("usage")))
    if last.get("choices") != []:
        yield Finding(f"/events/{at}/choices", "[]", repr(last.get("choices"))[:80])


@check("stream.usage-null-elsewhere", on=STREAMED_ANSWER)
def usage_is_null_in_all_other_chunks(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """With include_usage every other chunk has `usage: null`."""
    if not _asks_for_usage(exchange):
        raise NoOccasion("the request does not ask for usage")
    for at, chunk in chunks(exchange)[:-1]:
        if "usage" not in chunk or chunk["usage"] is not None:
            yield Finding(f"/events/{at}/usage", "null", repr(chunk.get("usage", "absent"))[:80])
            return


@check("stream.usage-only-on-request", on=STREAMED_ANSWER)
def usage_is_not_sent_unasked(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Without include_usage no chunk holds usage."""
    if _asks_for_usage(exchange):
        raise NoOccasion("the request asks for usage")
    for at, usage in exchange.walk.usages:
        yield Finding(f"/events/{at}/usage", "no usage", repr(usage)[:80])
        return


@check("stream.full-text-is-whole", on=STREAMED_ANSWER)
def full_text_is_the_whole_answer(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """`full_text`, where a server sends it, is what the deltas add up to."""
    whole = exchange.walk.full_text
    folded = exchange.choices.get(0)
    if whole is None or folded is None:
        return
    last = folded.deltas[-1] if folded.deltas else ""
    if whole not in (last, folded.content_incremental):
        yield Finding("/events/*/full_text", repr(last)[:80], repr(whole)[:80])


@check("stream.text-well-encoded", on=greedy(written(STREAM)))
def streamed_text_holds_no_replacement_character(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """No delta holds U+FFFD, which stands where a character was cut between two chunks."""
    for index, folded in exchange.choices.items():
        for at, text in zip(folded.delta_at, folded.deltas, strict=True):
            if "\ufffd" in text:
                yield Finding(f"/events/{at}/choices/{index}/delta/content", "whole characters", repr(text)[:80])


@relation("stream.text-as-plain", over=("plain", "streamed", "plain-again", "streamed-again"), lacks=unsuccessful)
def streamed_text_equals_the_plain_one(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """The same greedy request gives the same text, streamed and plain.

    Both are asked for twice: only a server whose plain answers agree with each other, and whose streamed ones do,
    is blamed for a difference between the two.
    """
    texts = {name: exchange.content() or "" for name, exchange in exchanges.items()}
    if texts["plain"] != texts["plain-again"] or texts["streamed"] != texts["streamed-again"]:
        raise NoOccasion("greedy answers of this server do not repeat")
    if texts["plain"] != texts["streamed"]:
        yield Finding(
            "/choices/0/message/content", repr(texts["plain"])[:200], f"streamed: {texts['streamed']!r}"[:200]
        )
