"""Perturbations of what a server sends: errors, and the parts of answers and streams that the contract describes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jsonschema_rs

from openapi.contract.contract import load, names
from openapi.contract.resolution import resolve
from openapi.perturbation.edit import Edit
from openapi.perturbation.perturbation import Perturbation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from random import Random

    from openapi.contract.contract import Contract

STATUSES: Final = (400, 409, 422)
REFUSALS: Final = ("invalid_json", "invalid_request", "unknown_model", "prompt_too_long")
EVERY_DELTA: Final = "stream.role-in-every-delta"
NOT_REPEATED: Final = "stream.role-not-repeated"


def perturb_answers(contract: Contract, random: Random) -> Iterator[Perturbation]:
    """Yield perturbations of errors, answers and streams."""
    yield from _statuses(contract, random)
    yield from _envelopes(contract)
    yield from _roles(contract)
    order = list(contract.stream.key_order)
    random.shuffle(order)
    yield _form("stream/key_order", list(contract.stream.key_order), order, "fields of chunks in another order")
    opening = contract.stream.opening_chunk
    if contract.stream.role != "every-delta":
        yield _form("stream/opening_chunk", opening, not opening, "streams begin with an empty chunk, or do not")
    if contract.answer.id_prefix is not None:
        yield _form("answer/id_prefix", contract.answer.id_prefix, "answer-", "ids begin with other characters")


def _form(fact: str, before: Any, after: Any, line: str) -> Perturbation:
    return Perturbation(fact, before, after, line, (Edit(fact, after),))


def _statuses(contract: Contract, random: Random) -> Iterator[Perturbation]:
    """Yield another status for all refusals; a server may use each documented status for each of them."""
    kinds = contract.errors.kinds
    old = {kinds[name].status for name in REFUSALS}
    new = random.choice([status for status in STATUSES if status not in old])
    edits = []
    for name in REFUSALS:
        edits.append(Edit(f"errors/kinds/{name}/status", new))
        if kinds[name].code == kinds[name].status:
            edits.append(Edit(f"errors/kinds/{name}/code", new))
    yield Perturbation(
        fact="errors/kinds",
        before=sorted(old),
        after=new,
        line=f"invalid requests are refused with {new}",
        edits=tuple(edits),
        shown_by=("errors.status-as-documented",),
    )


def _envelopes(contract: Contract) -> Iterator[Perturbation]:
    """Yield the error envelopes of other dialects that the errors of this dialect do not fit."""
    _, body = contract.errors.render("invalid_request", "max_tokens must be positive")
    for dialect in dict.fromkeys(names().values()):
        errors = load(dialect).errors
        if jsonschema_rs.is_valid(errors.schema, body):
            continue
        tree = resolve(dialect)["errors"]
        yield Perturbation(
            fact="errors/schema",
            before=dict(contract.errors.body),
            after=dict(errors.body),
            line=f"errors as in {dialect}",
            edits=(Edit("errors", tree),),
            shown_by=("errors.envelope-fits",),
        )


def _roles(contract: Contract) -> Iterator[Perturbation]:
    """Yield the role in the first delta only, where the dialect demands it in every delta."""
    if contract.stream.role == "every-delta" and EVERY_DELTA in contract.requirements:
        yield Perturbation(
            fact="stream/role",
            before="every-delta",
            after="first-delta",
            line="the role comes in the first delta only",
            edits=(Edit("stream/role", "first-delta"), Edit(f"requirements/{EVERY_DELTA}")),
            shown_by=(NOT_REPEATED,) if NOT_REPEATED in contract.requirements else (),
        )
