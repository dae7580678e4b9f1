"""Mutants of parameters: values are accepted or refused against the documentation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.proof.editing.answers import TALE, with_text
from conformance.proof.editing.responses import accept, refuse
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("parameters.valid-accepted")
def valid_value_is_refused(exchange: Exchange) -> Exchange:
    """A value inside the documented bounds is refused."""
    return refuse(exchange)


@mutant("parameters.invalid-refused")
def invalid_value_is_accepted(exchange: Exchange) -> Exchange:
    """A value outside the documented bounds is accepted."""
    return accept(exchange)


@mutant("parameters.required-demanded")
def missing_parameter_breaks_the_server(exchange: Exchange) -> Exchange:
    """A request without a required parameter gets a 500."""
    return refuse(exchange, 500)


@mutant("parameters.null-as-documented")
def null_is_taken_the_other_way(exchange: Exchange) -> Exchange:
    """null is refused if it is documented, or accepted if it is not."""
    return refuse(exchange) if exchange.succeeded else accept(exchange)


@mutant("parameters.rule-kept-accepted")
def kept_rule_is_refused(exchange: Exchange) -> Exchange:
    """A combination that follows a documented rule is refused."""
    return refuse(exchange)


@mutant("parameters.rule-broken-refused")
def broken_rule_is_accepted(exchange: Exchange) -> Exchange:
    """A combination that breaks a documented rule is accepted."""
    return accept(exchange)


@mutant("parameters.unknown-tolerated")
def unknown_member_is_refused(exchange: Exchange) -> Exchange:
    """A field that no document defines is refused."""
    return refuse(exchange)


@mutant("parameters.lacking-refused")
def lacking_capability_is_ignored(exchange: Exchange) -> Exchange:
    """A request for a capability that the server lacks is answered without it."""
    return accept(exchange)


@mutant("parameters.default-held", steps="*-sent.*")
def default_is_another_value(exchange: Exchange) -> Exchange:
    """A request with the documented default is answered in another way than a request without the parameter."""
    return with_text(exchange, TALE)
