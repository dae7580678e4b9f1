"""The checks of Acme's own requirements, each with a counterexample that it must report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Finding, check
from conformance.judge.applicability import PLAIN_ANSWER
from conformance.proof.editing.answers import edit_answer
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.check import Context
    from conformance.exchange import Exchange


@check("acme.model-echoed", on=PLAIN_ANSWER)
def model_is_echoed(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The response names the model of the request."""
    named = exchange.json.get("model")
    if named != context.model:
        yield Finding("/model", expected=context.model, got=str(named))


@mutant("acme.model-echoed")
def another_model(exchange: Exchange) -> Exchange:
    """The response names another model."""
    return edit_answer(exchange, lambda body: body.update(model="other"))
