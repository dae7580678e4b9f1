"""Mutants of finish reasons of answers that end by themselves or at a stop string."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from conformance.proof.editing.answers import edit_answer, edit_choice, edit_either
from conformance.proof.mutants.finish.changes import with_reason
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("finish.reason-known")
def reason_is_the_engine_s(exchange: Exchange) -> Exchange:
    """A plain answer ends with the engine's own name of the reason, "eos"."""
    return with_reason(exchange, "eos")


@mutant("finish.stop-when-stopped")
def stopped_answer_ends_with_length(exchange: Exchange) -> Exchange:
    """An answer that a stop string ends has the reason "length"."""
    return with_reason(exchange, "length")


@mutant("finish.stop-when-stream-stopped", steps="stopped-streamed")
def stopped_stream_ends_with_length(exchange: Exchange) -> Exchange:
    """A stream that a stop string ends has the reason "length"."""
    return with_reason(exchange, "length")


@mutant("finish.streamed-as-plain")
def stream_ends_for_another_reason(exchange: Exchange) -> Exchange:
    """The streamed answer ends with another reason than the plain one."""
    return with_reason(exchange, "length" if exchange.finish_reason() == "stop" else "stop")


@mutant("finish.beside-as-alone", steps="*-beside")
def stream_beside_others_ends_for_another_reason(exchange: Exchange) -> Exchange:
    """The choices of a stream with many other parameters end with "length" where the model ended by itself."""

    def change(chunk: dict[str, Any]) -> None:
        for choice in chunk["choices"]:
            if choice.get("finish_reason") == "stop":
                choice["finish_reason"] = "length"

    return edit_either(exchange, change)


@mutant("finish.of-each-choice", steps="halted-second")
def choices_end_for_the_reason_of_the_first(exchange: Exchange) -> Exchange:
    """Every choice has the reason of the first one, although a stop string ended only the second one."""
    first = exchange.finish_reason(0)

    def change(answer: dict[str, Any]) -> None:
        for choice in answer["choices"]:
            choice["finish_reason"] = first

    return edit_answer(exchange, change)


@mutant("finish.reason-given")
def reason_is_null(exchange: Exchange) -> Exchange:
    """The finish_reason of a plain answer is null."""
    return edit_choice(exchange, lambda choice: choice.update(finish_reason=None))


@mutant("finish.stop-when-ended", steps="roomy")
def ended_answer_says_length(exchange: Exchange) -> Exchange:
    """An answer that ended by itself has the reason "length"."""
    return with_reason(exchange, "length")
