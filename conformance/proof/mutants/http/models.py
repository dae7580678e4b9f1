"""Mutants of the list of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.judge.checks.http.models import UNKNOWN
from conformance.proof.editing.answers import edit_answer
from conformance.proof.editing.responses import refuse, with_json, with_status
from conformance.proof.mutants.mutant import mutant

if TYPE_CHECKING:
    from conformance.exchange import Exchange


@mutant("http.models-listed")
def model_is_not_listed(exchange: Exchange) -> Exchange:
    """The list of models is empty."""
    return edit_answer(exchange, lambda body: body.update(data=[]))


@mutant("http.models-named-once")
def model_is_listed_twice(exchange: Exchange) -> Exchange:
    """Every model is listed twice."""
    return edit_answer(exchange, lambda body: body.update(data=body["data"] * 2))


@mutant("http.unknown-models-unlisted", steps="known-models")
def requested_models_are_listed(exchange: Exchange) -> Exchange:
    """The list has models that requests named."""
    return edit_answer(exchange, lambda body: body["data"].append({**body["data"][0], "id": UNKNOWN}))


@mutant("http.model-found")
def served_model_is_not_found(exchange: Exchange) -> Exchange:
    """A model that is listed is not found."""
    return refuse(exchange, 404)


@mutant("http.unknown-model-is-404")
def every_model_is_found(exchange: Exchange) -> Exchange:
    """Every name is answered as if it were a model."""
    return with_status(with_json(exchange, {"id": "chatproof-no-such-model", "object": "model"}), 200)
