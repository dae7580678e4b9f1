"""Blind faults of structured output: lists inside lists, and later choices."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.faults.blind.schema_recipes import drop_keywords, form_schema_of, parts_of
from reference_server.faults.blind.sixteenth.features.later_choices import SplitEngine
from reference_server.faults.decorators import has_parameters, hooked_fault
from reference_server.faults.fault import Fault

if TYPE_CHECKING:
    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import ServedRequest


def _open_inner_lists(request: ServedRequest) -> None:
    """Compile one level of lists. Violates json_schema: the answer matches the schema."""
    for part in parts_of(form_schema_of(request.payload)):
        inner = part.get("items")
        if isinstance(inner, dict) and isinstance(inner.get("items"), dict):
            drop_keywords(inner, "items")


def _ignore_form(params: SamplingParams) -> SamplingParams:
    """Mask the first row of a batch. Violates response_format: each choice has the format."""
    return replace(params, grammar=None, response_format=None, structured_outputs=None)


inner_lists_take_anything = hooked_fault(
    "inner-lists-take-anything",
    "In the schema of response_format, a list inside a list may have any items.",
    request=_open_inner_lists,
    applies_to=has_parameters("response_format"),
)
later_choices_lack_forms = Fault(
    "later-choices-lack-forms",
    "response_format constrains the first choice only.",
    has_parameters("n", "response_format"),
    lambda app, _contract: app,
    lambda engine: SplitEngine(engine, _ignore_form),
    affects="sampling",
)
