"""Blind faults of what is long: descriptions, schemas and keys that are refused, and prompts that cost the tools."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import dropping, refusing, text_length, when
from reference_server.faults.blind.schema_recipes import form_schema_of
from reference_server.faults.blind.tool_recipes import functions_of
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json

LONGEST_DESCRIPTION: Final = 1_024
LONGEST_KEY: Final = 64
DEEPEST: Final = 5
LONG: Final = 1_500  # characters


def _has_long_description(sent: Json) -> bool:
    return any(len(str(function.get("description") or "")) > LONGEST_DESCRIPTION for function in functions_of(sent))


def _depth_of(schema: Any) -> int:
    """Return how many objects with properties are inside each other."""
    if isinstance(schema, list):
        return max(map(_depth_of, schema), default=0)
    if not isinstance(schema, dict):
        return 0
    return int("properties" in schema) + max(map(_depth_of, schema.values()), default=0)


def _is_deep(sent: Json) -> bool:
    return _depth_of(form_schema_of(sent)) > DEEPEST


def _is_long(sent: Json) -> bool:
    return text_length(sent) > LONG


def _has_long_key(sent: Json) -> bool:
    key = sent.get("prompt_cache_key")
    return isinstance(key, str) and len(key) > LONGEST_KEY


# Violates function.description: any text.
long_descriptions_of_tools_refused = when(
    "long-descriptions-of-tools-refused",
    "A tool with a description of more than 1,024 characters is refused.",
    _has_long_description,
    refusing("function.description: expected a string with maximum length 1024"),
    applies_to=has_parameters("tools"),
)
# Violates json_schema: a schema of any depth.
deep_forms_refused = when(
    "deep-forms-refused",
    "A response_format with more than five objects inside each other is refused.",
    _is_deep,
    refusing("the schema exceeds the maximum nesting depth of 5"),
    applies_to=has_parameters("response_format", "structured_outputs"),
)
# Violates tools, which a prompt of any length has.
long_prompts_lose_tools = when(
    "long-prompts-lose-tools",
    "Tools are ignored after messages of more than 1,500 characters.",
    _is_long,
    dropping("tools", "tool_choice", "parallel_tool_calls"),
    applies_to=has_parameters("tools"),
)
# Violates prompt_cache_key: any string.
long_cache_keys_refused = when(
    "long-cache-keys-refused",
    "A prompt_cache_key of more than 64 characters is refused.",
    _has_long_key,
    refusing("prompt_cache_key: expected a string with maximum length 64"),
    applies_to=allows(prompt_cache_key="k" * (LONGEST_KEY + 1)),
)
