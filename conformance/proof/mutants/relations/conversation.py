"""A mutant of conversations that go on after answers of the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.responses import with_json, with_status
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("relations.own-answers-taken-back", steps="continued")
def own_answer_is_refused(exchange: Exchange) -> Exchange:
    """The server refuses a message that it wrote itself."""
    return with_status(with_json(exchange, {"error": {"message": "an extra field is not permitted"}}), 400)
