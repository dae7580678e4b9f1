"""Mutants of the arguments of strict functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from conformance.proof.editing.responses import refuse
from conformance.proof.mutants.mutant import mutant
from conformance.proof.mutants.tools.calls import edit_calls, with_arguments

if TYPE_CHECKING:
    from conformance.exchange import Exchange

WHOLE: Final = re.compile(r"([:\[,] ?-?[0-9]+)(?=[,}\]])")


@mutant("tools.custom-input-fits-grammar")
def input_has_another_form(exchange: Exchange) -> Exchange:
    """The input of a custom tool is a string that its grammar forbids."""
    return edit_calls(exchange, lambda call: call["custom"].update(input="A note"))


@mutant("tools.arguments-fit-schema")
def arguments_are_of_no_parameter(exchange: Exchange) -> Exchange:
    """The arguments of a call lack a required parameter."""
    return with_arguments(exchange, '{"nothing": 1}')


@mutant("tools.schemas-taken")
def usual_schemas_are_refused(exchange: Exchange) -> Exchange:
    """A function whose parameters have usual keywords is refused."""
    return refuse(exchange, 400)


@mutant("tools.integers-have-no-fraction")
def integers_have_a_fraction(exchange: Exchange) -> Exchange:
    """The whole numbers in the arguments of a call have a point and a zero."""

    def edit(call: dict[str, Any]) -> None:
        function = call.get("function") or {}
        if isinstance(function.get("arguments"), str):
            function["arguments"] = WHOLE.sub(r"\1.0", function["arguments"])

    return edit_calls(exchange, edit)
