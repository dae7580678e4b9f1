"""Blind faults of two parameters together: choices with tools, and seeds, usage and stop strings with others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.blind.recipes import dropping, when
from reference_server.faults.blind.schema_recipes import form_type_of
from reference_server.faults.blind.validity import NO_TOOL, allows
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest


def _keep_calls_of_first_choice(answer: Json, _request: ServedRequest) -> None:
    """Parse the first choice only. Violates tool_calls: the calls of each choice."""
    for choice in choices_of(answer):
        if choice.get("index") and message_of(choice).pop("tool_calls", None):
            choice["finish_reason"] = "stop"


def _has_form(sent: Json) -> bool:
    return form_type_of(sent) in ("json_object", "json_schema")


def _has_tools(sent: Json) -> bool:
    return bool(sent.get("tools"))


def _ignores_ends(sent: Json) -> bool:
    return sent.get("ignore_eos") is True


calls_of_later_choices_lost = hooked_fault(
    "calls-of-later-choices-lost",
    "In plain answers with several choices, only the first one has tool calls.",
    answer=_keep_calls_of_first_choice,
    applies_to=allows(n=2, temperature=1.0, tools=[NO_TOOL], tool_choice="required"),
)
seeds_lost_next_to_forms = when(
    "seeds-lost-next-to-forms",
    "A seed has no effect if response_format demands JSON.",
    _has_form,
    dropping("seed"),
    applies_to=has_parameters("seed", "response_format"),
)
usage_lost_next_to_tools = when(
    "usage-lost-next-to-tools",
    "A stream has no usage if the request has tools, although include_usage is true.",
    _has_tools,
    dropping("stream_options"),
    applies_to=has_parameters("tools", "stream_options"),
)
stops_lost_next_to_ignored_ends = when(
    "stops-lost-next-to-ignored-ends",
    "Stop strings have no effect if ignore_eos is true.",
    _ignores_ends,
    dropping("stop"),
    applies_to=has_parameters("stop", "ignore_eos"),
)
