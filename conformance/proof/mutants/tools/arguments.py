"""Mutants of the arguments of strict functions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.responses import refuse
from conformance.proof.mutants.mutant import mutant
from conformance.proof.mutants.tools.calls import with_arguments

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("tools.arguments-fit-schema")
def arguments_are_of_no_parameter(exchange: Exchange) -> Exchange:
    """The arguments of a call lack a required parameter."""
    return with_arguments(exchange, '{"nothing": 1}')


@mutant("tools.schemas-taken")
def usual_schemas_are_refused(exchange: Exchange) -> Exchange:
    """A function whose parameters have usual keywords is refused."""
    return refuse(exchange, 400)
