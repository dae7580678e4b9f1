"""Blind faults of structured output: next to biases, and nested objects."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import dropping, when
from reference_server.faults.blind.schema_recipes import form_type_of
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

END = "}"


def _wants_json(sent: Json) -> bool:
    return form_type_of(sent) in ("json_object", "json_schema")


def _has_biased_form(sent: Json) -> bool:
    return _wants_json(sent) and bool(sent.get("logit_bias"))


def _cut_after_brace(response: Json, request: ServedRequest) -> None:
    """Match as little as possible. Violates json_schema: the whole object."""
    ended: set[object] = request.state.setdefault("ended", set())
    for choice in choices_of(response) if _wants_json(request.payload) else ():
        said, index = message_of(choice), choice.get("index")
        text = said.get("content")
        if isinstance(text, str) and index in ended:
            said["content"] = ""
        elif isinstance(text, str) and END in text:
            ended.add(index)
            said["content"] = text.partition(END)[0] + END


# Violates response_format, which applies whatever else changes the tokens.
forms_lost_next_to_biases = when(
    "forms-lost-next-to-biases",
    "A response_format has no effect if the request has a logit_bias.",
    _has_biased_form,
    dropping("response_format"),
    applies_to=has_parameters("response_format", "logit_bias"),
)
forms_end_at_the_first_brace = hooked_fault(
    "forms-end-at-the-first-brace",
    "An answer in JSON ends after the first closing brace, also if it is that of an inner object.",
    answer=_cut_after_brace,
    chunk=_cut_after_brace,
    applies_to=has_parameters("response_format"),
)
