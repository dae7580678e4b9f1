"""Checks of the fields that chunks have, and of their choices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NotExercised, check, relation
from conformance.judge.answer_fields import check_created, names_model, requested_choices, requested_model
from conformance.judge.applicability import SEVERAL_STREAMED, STREAM, STREAMED_ANSWER, why_unanswered
from conformance.judge.schema_fields import unknown_fields
from conformance.judge.streams import choices, chunks, order_findings
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange


def _constant(exchange: Exchange, name: str) -> Iterator[Finding]:
    """Yield a finding for the first chunk whose field differs from that of the first chunk."""
    values = [(at, chunk.get(name)) for at, chunk in chunks(exchange)]
    first = values[0][1]
    for at, value in values:
        if value != first:
            yield Finding(f"/events/{at}/{name}", f"{first!r} as in the first chunk", repr(value))
            return


@check("stream.chunks-fit-schema", on=STREAM, invalidates=("field",))
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
    """Every chunk has the same `id`, a string that is not empty."""
    first = chunks(exchange)[0][1].get("id")
    if not isinstance(first, str) or not first:
        yield Finding("/events/0/id", "a string that is not empty", repr(first))
    yield from _constant(exchange, "id")


@check("stream.created-constant", on=STREAM)
def created_is_the_same_in_every_chunk(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every chunk has the same `created`."""
    yield from _constant(exchange, "created")


@check("stream.created-now", on=STREAM)
def created_of_chunks_is_the_time_of_the_answer(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """`created` of the chunks is the Unix time of the answer in seconds, as in plain answers."""
    at, first = chunks(exchange)[0]
    yield from check_created(f"/events/{at}/created", first.get("created"), exchange)


@check("stream.model-constant", on=STREAM)
def model_is_the_same_in_every_chunk(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every chunk names the same model."""
    yield from _constant(exchange, "model")


@check("stream.index-integer", on=STREAM, invalidates=("assembled", "field"))
def index_is_an_integer(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """`choices` of every chunk is a list, and every choice has an integer `index`."""
    yield from order_findings(exchange, "index-is-an-integer", "choices-is-a-list")


@check("stream.one-choice-by-default", on=STREAM)
def one_choice_is_streamed_when_none_is_asked_for(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """Only the choice with index 0 is streamed if `n` is not given or is 1."""
    sent: Any = exchange.request_json
    if isinstance(sent, dict) and requested_choices(exchange, context) not in (None, 1):
        raise NotExercised("the request asks for more than one choice")
    if exchange.walk.errors and not exchange.choices:
        raise NotExercised("the stream is an error")
    found = sorted(exchange.choices)
    if found != [0]:
        yield Finding("/events/*/choices/*/index", "[0]", f"{found}")


@check("stream.one-choice-per-chunk", on=STREAM)
def chunk_carries_one_choice(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every chunk has exactly one choice, as in the dialect's examples."""
    for at, chunk in chunks(exchange):
        if len(choices(chunk)) != 1:
            yield Finding(f"/events/{at}/choices", "1 choice", format_quantity(len(choices(chunk)), "choice"))
            return


@check("stream.model-echoed", on=STREAMED_ANSWER)
def model_of_chunks_is_the_requested_one(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """`model` of the chunks is the model of the request, or a dated version of it, as in plain answers."""
    requested = requested_model(exchange, context)
    at, first = chunks(exchange)[0]
    if not names_model(first.get("model"), requested):
        yield Finding(f"/events/{at}/model", repr(requested), repr(first.get("model")))


@check("stream.as-many-choices-as-asked", on=SEVERAL_STREAMED)
def choices_of_a_stream_are_as_many_as_asked(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A stream has the choices 0 to `n` - 1 if `n` is greater than one."""
    requested, found = requested_choices(exchange, context), sorted(exchange.choices)
    if found != list(range(requested)):
        yield Finding("/events/*/choices/*/index", f"{list(range(requested))}", f"{found}")


@check("stream.choices-never-empty", on=STREAM)
def chunk_without_usage_has_a_choice(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every chunk has a choice, unless it has usage; many clients read the first choice of each chunk."""
    for at, chunk in chunks(exchange):
        if not choices(chunk) and not isinstance(chunk.get("usage"), dict):
            yield Finding(f"/events/{at}/choices", "a choice", "none")
            return


@check("stream.finish-reason-always-there", on=STREAM)
def reason_is_null_before_the_end(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Every choice of every chunk has a finish_reason, null before the end; strict clients require the field."""
    for at, chunk in chunks(exchange):
        for choice in choices(chunk):
            if "finish_reason" not in choice:
                yield Finding(f"/events/{at}/choices/{choice.get('index')}/finish_reason", "null", "absent")
                return


@check("stream.deltas-not-messages", on=STREAM)
def chunk_holds_deltas_alone(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A choice of a chunk has its text in `delta`, not in the `message` or `text` of other interfaces.

    A copy of the delta in another field is a further field, which clients ignore.
    """
    for at, chunk in chunks(exchange):
        for choice in choices(chunk):
            delta = choice.get("delta")
            copies = [None, delta, delta.get("content") if isinstance(delta, dict) else None]
            if others := [name for name in ("message", "text") if choice.get(name) not in copies]:
                yield Finding(f"/events/{at}/choices/{choice.get('index')}", "only delta", ", ".join(others))
                return


@check("stream.json-unambiguous", on=STREAM)
def chunk_names_each_member_once(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """No object of a chunk repeats a field name: parsers disagree on which value counts."""
    for at, oddity in exchange.walk.oddities:
        if "duplicate" in oddity:
            yield Finding(f"/events/{at}", "every field once", oddity)


@check("stream.members-known", on=STREAM)
def chunk_has_no_further_members(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """Chunks have the fields that the description defines and no others."""
    for at, chunk in chunks(exchange):
        if names := unknown_fields(context.validator.outline("ChatCompletionChunk"), chunk):
            yield Finding(f"/events/{at}", "fields of the description", ", ".join(names))
            return


@relation("stream.ids-differ", over=("streamed", "streamed-again"), unmet=why_unanswered)
def streams_have_ids_of_their_own(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Two streams have different ids."""
    first, second = (chunks(exchanges[name])[0][1].get("id") for name in ("streamed", "streamed-again"))
    if first is None or second is None:
        raise NotExercised("the chunks have no id")
    if first == second:
        yield Finding("/events/0/id", f"another id than {first!r}", repr(second))
