"""Checks of the fields that a document says an answer has, or does not have, in plain answers and in chunks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NotExercised, check
from conformance.judge.answer_fields import answer_object
from conformance.judge.applicability import ANSWER
from conformance.judge.schema_fields import excluded_fields, usual_fields
from conformance.judge.streams import chunks
from conformance.judge.token_counts import completion_count
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange

UNIT_FACTOR = 30
"""A time in another unit than seconds differs at least by this factor, and the clock of no server does."""


def _objects(exchange: Exchange) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield (path, name of its schema, value) for a plain answer, or for every chunk of a stream."""
    if not exchange.is_stream:
        yield "", "ChatCompletion", answer_object(exchange)
        return
    for at, chunk in chunks(exchange):
        yield f"/events/{at}", "ChatCompletionChunk", chunk


@check("answer.documented-fields-given", on=ANSWER)
def documented_fields_are_given(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A plain answer or chunk has the fields that the document prints in every example or lists without a condition."""
    seen = False
    for where, schema, value in _objects(exchange):
        usual = usual_fields(context.validator.outline(schema), value)
        seen = seen or bool(usual)
        if names := sorted(name for name, is_given in usual.items() if not is_given):
            yield Finding(where or "/", ", ".join(names), "absent")
            return
    if not seen:
        raise NotExercised("the document prints no such field here")


@check("answer.excluded-fields-absent", on=ANSWER)
def fields_that_are_not_returned_are_absent(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """No plain answer or chunk has a field that the document lists as not supported, unless it is null or []."""
    for where, schema, value in _objects(exchange):
        if names := excluded_fields(context.validator.outline(schema), value):
            yield Finding(where or "/", f"no {', '.join(names)}", "present")
            return


@check("answer.created-in-seconds", on=ANSWER)
def created_is_in_seconds(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """`created` of plain answers and chunks is in seconds, not in another unit, whatever the server's clock shows."""
    where, _schema, value = next(_objects(exchange))
    created = value.get("created")
    seconds = int(created) if isinstance(created, str) and created.isascii() and created.isdigit() else created
    if isinstance(seconds, bool) or not isinstance(seconds, (int, float)) or seconds <= 0:
        raise NotExercised("`created` is not a positive number")
    now = exchange.started_s
    if not now / UNIT_FACTOR < seconds < now * UNIT_FACTOR:
        yield Finding(f"{where}/created", f"seconds, about {now:.0f}", repr(created))


@check("answer.measurements-per-token", on=ANSWER)
def measurements_belong_to_tokens(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """Lists of measurements, if present, have at least one entry and at most one for each completion token.

    The documents' own examples have fewer entries than tokens. The first token has no decode step.
    """
    seen = False
    for where, _schema, value in _objects(exchange):
        usage = value.get("usage")
        holders = (("", value, ("decode_time_arr",)), ("/usage", usage, ("batch_size", "queue_wait_time")))
        for place, holder, names in holders:
            for name in names:
                entries = holder.get(name) if isinstance(holder, dict) else None
                if isinstance(entries, list):
                    seen = True
                    most = completion_count(exchange)
                    undecoded = (
                        most <= 1 or len(exchange.choices) > 1
                    )  # of several choices the first may be the shortest
                    least = 0 if name == "decode_time_arr" and undecoded else 1
                    if not least <= len(entries) <= max(most, least):
                        yield Finding(
                            f"{where}{place}/{name}",
                            f"{least} to {most} entries",
                            format_quantity(len(entries), "entry", "entries"),
                        )
    if not seen:
        raise NotExercised("the answer has no lists of measurements")
