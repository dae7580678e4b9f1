"""Blind faults of long requests and answers: long arguments, many values, and prompts for another model."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import refusing, text_length, when
from reference_server.faults.blind.schema_recipes import form_schema_of, parts_of
from reference_server.faults.blind.tool_recipes import arguments_fault
from reference_server.faults.decorators import has_parameters, hooked_fault

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

LONGEST_STRING: Final = 48
MOST_VALUES: Final = 40
LONG: Final = 1_500  # characters


def _cut_strings(arguments: str, _schemas: Json) -> str:
    """Send what a log shows. Violates function.arguments: what the model generates."""
    return json.dumps(
        {
            name: value[:LONGEST_STRING] if isinstance(value, str) else value
            for name, value in json.loads(arguments).items()
        },
        ensure_ascii=False,
    )


def _lists_many_values(sent: Json) -> bool:
    lists = [part.get("enum") for part in parts_of(form_schema_of(sent))]
    return any(isinstance(values, list) and len(values) > MOST_VALUES for values in lists)


def _name_other(response: Json, request: ServedRequest) -> None:
    """Answer with a model that has a larger context. Violates model: the one that the request names."""
    if isinstance(response.get("model"), str) and text_length(request.payload) > LONG:
        response["model"] += "-128k"


long_strings_in_arguments_cut = arguments_fault(
    "long-strings-in-arguments-cut", "In plain answers, strings in arguments end after 48 characters.", _cut_strings
)
# Violates json_schema: an enumeration has any number of values.
long_enumerations_refused = when(
    "long-enumerations-refused",
    "A response_format with an enumeration of more than 40 values is refused.",
    _lists_many_values,
    refusing("the schema has too many states for serving"),
    applies_to=has_parameters("response_format"),
)
long_prompts_name_another_model = hooked_fault(
    "long-prompts-name-another-model",
    "After a prompt of more than 1,500 characters, another model is named in the answer.",
    answer=_name_other,
    chunk=_name_other,
)
