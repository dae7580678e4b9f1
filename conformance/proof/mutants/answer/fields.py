"""Mutants of the fields that a document says an answer has, or does not have."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import edit_either
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("answer.documented-fields-given")
def documented_field_is_missing(exchange: Exchange) -> Exchange:
    """An answer has no `prefill_time`, and its usage no `batch_size`."""

    def change(holder: dict[str, Any]) -> None:
        holder.pop("prefill_time", None)
        if isinstance(holder.get("usage"), dict):
            holder["usage"].pop("batch_size", None)

    return edit_either(exchange, change)


@mutant("answer.excluded-fields-absent")
def excluded_field_is_returned(exchange: Exchange) -> Exchange:
    """An answer has an id, which the document lists as not supported."""
    return edit_either(exchange, lambda holder: holder.update(id="chatcmpl-1"))


@mutant("answer.created-in-seconds")
def created_is_in_milliseconds_too(exchange: Exchange) -> Exchange:
    """`created` is in milliseconds, in plain answers and in chunks."""
    return edit_either(exchange, lambda holder: holder.update(created=int(holder["created"]) * 1000))


@mutant("answer.measurements-per-token")
def measurements_are_too_many(exchange: Exchange) -> Exchange:
    """Lists of measurements have seven entries for each token."""

    def change(holder: dict[str, Any]) -> None:
        usage = holder.get("usage")
        for place in (holder, usage if isinstance(usage, dict) else {}):
            for name in ("decode_time_arr", "batch_size", "queue_wait_time"):
                if isinstance(place.get(name), list):
                    place[name] = [1] * 7 * (len(place[name]) + 1)

    return edit_either(exchange, change)
