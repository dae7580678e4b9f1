"""Checks of the list of models, and of the address of each model."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from conformance.check import Context, Finding, NotExercised, NotObserved, check
from conformance.judge.acceptance import status_of
from conformance.judge.applicability import either, in_scenario, summarize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange

UNKNOWN: Final = "chatproof-no-such-model"
LISTED = either(in_scenario("models"), in_scenario("mixed-parallel", "models-*"))


@check("http.models-listed", on=LISTED)
def models_are_listed(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The list of models is valid against the description and names the model under test, also while the server answers
    other requests.
    """
    if status_of(exchange) != 200:
        yield Finding("/status", "200", summarize(exchange))
        return
    for problem in context.validator.problems("ModelList", exchange.json if not exchange.json_error else None):
        yield Finding(problem.where or "/", f"{problem.keyword} {problem.bound}", problem.message)
        return
    names = [model["id"] for model in exchange.json["data"]]
    if context.model not in names:
        yield Finding("/data/*/id", context.model, f"{names}"[:120])


@check("http.models-named-once", on=LISTED)
def model_is_listed_once(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The models that a server lists are objects with an id in `data`, and none of them twice."""
    answered = exchange.status == 200 and isinstance(exchange.json, dict) and not exchange.json_error
    data = exchange.json.get("data") if answered else None
    if answered and not isinstance(data, list) and any(isinstance(value, list) for value in exchange.json.values()):
        yield Finding("/data", "the list of models", f"a list in {sorted(exchange.json)}"[:120])
        return
    if not isinstance(data, list):
        raise NotExercised("the response has no list of models")
    names = [model.get("id") for model in data if isinstance(model, dict)]
    if nameless := [model for model in data if not isinstance(model, dict) or not isinstance(model.get("id"), str)]:
        yield Finding("/data/*/id", "a name", repr(nameless[0])[:120])
    if twice := [name for name in names if names.count(name) > 1]:
        yield Finding("/data/*/id", "every name once", repr(twice[0]))


@check("http.unknown-models-unlisted", on=in_scenario("unknown-model-after-known", "known-models"))
def an_unknown_model_is_not_listed(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A model that a request named before is not in the list unless the server has it."""
    names = re.findall(r'"id"\s*:\s*"([^"]*)"', exchange.body.decode(errors="replace"))
    if exchange.status != 200 or not names:
        raise NotExercised("the response has no list of models")
    if UNKNOWN in names:
        yield Finding("/data/*/id", f"no {UNKNOWN}", f"{names}"[:120])


@check("http.model-found", on=in_scenario("one-model", "served"))
def served_model_has_an_address(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The model under test has an address of its own below the list."""
    if exchange.status is None:
        raise NotObserved(summarize(exchange))
    found = exchange.json.get("id") if isinstance(exchange.json, dict) else None
    if exchange.status != 200 or found != context.model:
        yield Finding("/id", context.model, summarize(exchange))


@check("http.unknown-model-is-404", on=in_scenario("one-model", "unknown"))
def unknown_model_is_not_found(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """The address of a model that the server does not have is answered with 404, not as if the model existed."""
    if exchange.status is None:
        raise NotObserved(summarize(exchange))
    if not 400 <= exchange.status < 500:
        yield Finding("/status", "404", summarize(exchange))
