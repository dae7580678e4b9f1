"""Blind faults at limits: nulls, ids and options that clients of OpenAI's API send, and that are refused."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.recipes import messages_of, refusing, when
from reference_server.faults.blind.tool_recipes import functions_of
from reference_server.faults.blind.validity import NO_TOOL, allows
from reference_server.faults.decorators import has_parameters

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json

LONGEST_ID: Final = 40
NOT_STRICT: Final = {"type": "function", "function": {**NO_TOOL["function"], "strict": None}}  # type: ignore[dict-item]


def _strictness_is_null(sent: Json) -> bool:
    return any(function.get("strict", False) is None for function in functions_of(sent))


def _ids_of(message: Json) -> list[Any]:
    """Return the ids of the calls in a message, or the id that a result names."""
    calls = message.get("tool_calls")
    ids = [call.get("id") for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []
    return [*ids, message.get("tool_call_id")]


def _has_long_id(sent: Json) -> bool:
    ids = [call_id for message in messages_of(sent) for call_id in _ids_of(message)]
    return any(isinstance(call_id, str) and len(call_id) > LONGEST_ID for call_id in ids)


def _wants_text_only(sent: Json) -> bool:
    return sent.get("modalities") == ["text"]


def _has_verbosity(sent: Json) -> bool:
    return isinstance(sent.get("verbosity"), str)


# Violates function.strict: a boolean or null.
null_strictness_refused = when(
    "null-strictness-refused",
    "A tool whose `strict` is null is refused.",
    _strictness_is_null,
    refusing("function.strict: input should be a valid boolean"),
    applies_to=allows(tools=[NOT_STRICT]),
)
# Violates tool_calls.id: any string. OpenAI's own API has this limit.
long_call_ids_refused = when(
    "long-call-ids-refused",
    "A conversation is refused if the id of an earlier call has more than 40 characters.",
    _has_long_id,
    refusing("tool_calls.id: expected a string with maximum length 40"),
    applies_to=has_parameters("tools", "chat_template_kwargs"),
)
# Violates modalities: text is the usual one.
stated_text_refused = when(
    "stated-text-refused",
    "A request whose modalities are text, as they are without it, is refused.",
    _wants_text_only,
    refusing("modalities: this model does not support modalities"),
    applies_to=allows(modalities=["text"]),
)
# Violates verbosity, which any request may have.
verbosities_refused = when(
    "verbosities-refused",
    "A request with a verbosity is refused.",
    _has_verbosity,
    refusing("verbosity: extra inputs are not permitted"),
    applies_to=allows(verbosity="low"),
)
