"""HTTP around the endpoint: methods, paths, the list of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, NoOccasion, NotObserved, check, relation
from conformance.judge.applicability import scenario, shown, unsuccessful

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.exchange import Exchange


def _answered(exchange: Exchange) -> int:
    if exchange.status is None:
        raise NotObserved(shown(exchange))
    return exchange.status


@check("http.unknown-path-is-404", on=scenario("unknown-path"))
def unknown_path_is_not_found(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A path that does not exist is answered with 404.

    A gateway that asks for the key first may answer 401 or 403; it gives nothing away.
    """
    if _answered(exchange) not in (401, 403, 404):
        yield Finding("/status", "404", shown(exchange))


@check("http.get-refused", on=scenario("get-chat"))
def get_is_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """GET on the chat endpoint is refused with 405 (or 404), not answered and not a 5xx."""
    if _answered(exchange) not in (404, 405):
        yield Finding("/status", "405", shown(exchange))


@check("http.allow-header", on=scenario("get-chat"))
def refused_method_names_the_allowed_ones(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A 405 names the allowed methods in its Allow header."""
    if _answered(exchange) != 405:
        raise NoOccasion(f"the status is {exchange.status}")
    allowed = [method.strip() for method in (exchange.header("allow") or "").split(",")]
    if "POST" not in allowed:
        yield Finding("/headers/allow", "POST", exchange.header("allow") or "no header")


@check("http.models-listed", on=scenario("models"))
def models_are_listed(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """The list of models is valid against the description and names the model under test."""
    if _answered(exchange) != 200:
        yield Finding("/status", "200", shown(exchange))
        return
    for problem in context.validator.problems("ModelList", exchange.json if not exchange.json_error else None):
        yield Finding(problem.where or "/", f"{problem.keyword} {problem.bound}", problem.message)
        return
    names = [model["id"] for model in exchange.json["data"]]
    if context.model not in names:
        yield Finding("/data/*/id", context.model, f"{names}"[:120])


@relation("http.answers-differ-in-id", over=("plain", "plain-again"), lacks=unsuccessful)
def answers_have_ids_of_their_own(exchanges: Mapping[str, Exchange], _: Context) -> Iterator[Finding]:
    """Two answers have two ids."""
    bodies = [exchanges[name].json for name in ("plain", "plain-again")]
    first, second = (body.get("id") if isinstance(body, dict) else None for body in bodies)
    if first is None or second is None:
        raise NoOccasion("the answers have no id")
    if first == second:
        yield Finding("/id", f"another id than {first!r}", repr(second))
