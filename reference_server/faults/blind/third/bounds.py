"""Blind faults at valid values that a server refuses, or for which it fails."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import fail, is_number, is_whole, refusing, when
from reference_server.faults.blind.tool_recipes import functions_of, properties_of
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json

LARGE_LENGTH: Final = 2_000
GREATEST: Final = 2**31 - 1
USUAL_MOST: Final = 2.0


def _has_large_length(sent: Json) -> bool:
    schemas: list[Any] = [schema for function in functions_of(sent) for schema in properties_of(function).values()]
    lengths = [schema.get("maxLength") for schema in schemas if isinstance(schema, dict)]
    return any(is_whole(length, LARGE_LENGTH + 1, GREATEST) for length in lengths)


def _streams_without_limit(sent: Json) -> bool:
    return sent.get("stream") is True and "max_tokens" in sent and sent["max_tokens"] is None


high_repetition_penalties_refused = when(
    "high-repetition-penalties-refused",
    "A repetition_penalty above 2 is refused.",
    lambda sent: is_number(sent.get("repetition_penalty"), USUAL_MOST + 1e-9, GREATEST),
    refusing("repetition_penalty must be in (0, 2]"),
    applies_to=allows(repetition_penalty=USUAL_MOST + 0.5),
)
large_lengths_refused = when(
    "large-lengths-refused",
    "Tools are refused if a maxLength in their schemas is above 2,000.",
    _has_large_length,
    refusing("number of repetitions exceeds sane defaults"),
    applies_to=has_parameters("tools"),
)
null_limits_fail_in_streams = when(
    "null-limits-fail-in-streams",
    "A stream with `max_tokens: null` gets a 500.",
    _streams_without_limit,
    fail,
    applies_to=allows(max_tokens=None),
)
