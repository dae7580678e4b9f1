"""Blind faults of the state between requests: forms after free answers, and limits after cut ones."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import is_whole, per_server
from reference_server.faults.blind.schema_recipes import form_type_of
from reference_server.faults.decorators import choices_of, has_parameters
from reference_server.faults.hooks import Hooks

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

FORMS: Final = ("json_object", "json_schema")
LIMITS: Final = ("max_tokens", "max_completion_tokens")
GREATEST: Final = 2**31


def _lose_next_form() -> Hooks:
    """Leave an empty slot where a grammar should be. Violates response_format, which applies to its request."""
    latest: list[bool] = []

    def note(request: ServedRequest) -> None:
        is_formed = form_type_of(request.payload) in FORMS
        if is_formed and latest and not latest[-1]:
            del request.payload["response_format"]
        latest[:] = [is_formed]

    return Hooks(request=note)


def _halve_next_limit() -> Hooks:
    """Try again with half of a limit, and keep it. Violates max_tokens: the limit of the request."""
    cut: list[bool] = []

    def halve(request: ServedRequest) -> None:
        given = [name for name in LIMITS if is_whole(request.payload.get(name), 2, GREATEST)]
        if cut and given:
            cut.clear()
            request.payload.update({name: request.payload[name] // 2 for name in given})

    def note(response: Json, _request: ServedRequest) -> None:
        if any(choice.get("finish_reason") == "length" for choice in choices_of(response)):
            cut[:] = [True]

    return Hooks(request=halve, answer=note, chunk=note)


forms_lost_after_free_answers = per_server(
    "forms-lost-after-free-answers",
    "A response_format for JSON has no effect if the request before had none.",
    _lose_next_form,
    applies_to=has_parameters("response_format"),
)
limits_halved_after_cut_answers = per_server(
    "limits-halved-after-cut-answers",
    "After an answer that the token limit cuts, the next request has half of its limit.",
    _halve_next_limit,
)
