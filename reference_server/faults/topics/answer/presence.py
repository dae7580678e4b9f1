"""Faults in which an answer lacks fields that its document prints, or has fields that its document excludes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.decorators import envelope_fault, requires_check
from reference_server.faults.topics.answer.fields import set_field

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ServedRequest

MEASUREMENTS: Final = ("decode_time_arr", "batch_size", "queue_wait_time")


def _prints(schema: str, name: str) -> Callable[[Contract], bool]:
    """Apply a fault to dialects whose document prints a field in its examples."""

    def applies_to(contract: Contract) -> bool:
        field: Json = contract.schemas.get(schema, {}).get("properties", {}).get(name, {})
        return field.get("x-presence") == "usually"

    return applies_to


def _without(name: str) -> Callable[[Json, ServedRequest], None]:
    def edit(response: Json, _request: ServedRequest) -> None:
        usage = response.get("usage")
        for holder in (response, usage, (usage or {}).get("prompt_tokens_details")):
            if isinstance(holder, dict):
                holder.pop(name, None)

    return edit


def _measured(entries: Callable[[list[Any]], list[Any]]) -> Callable[[Json, ServedRequest], None]:
    def edit(response: Json, _request: ServedRequest) -> None:
        for holder in (response, response.get("usage")):
            for name in MEASUREMENTS:
                if isinstance(holder, dict) and isinstance(holder.get(name), list):
                    holder[name] = entries(holder[name])

    return edit


prefill_time_absent = envelope_fault(
    "prefill-time-absent",
    _without("prefill_time"),
    "`prefill_time` is missing.",
    applies_to=_prints("ChatCompletion", "prefill_time"),
)
decode_times_absent = envelope_fault(
    "decode-times-absent",
    _without("decode_time_arr"),
    "`decode_time_arr` is missing.",
    applies_to=_prints("ChatCompletion", "decode_time_arr"),
)
batch_sizes_absent = envelope_fault(
    "batch-sizes-absent",
    _without("batch_size"),
    "`batch_size` is missing in usage.",
    applies_to=_prints("Usage", "batch_size"),
)
queue_times_absent = envelope_fault(
    "queue-times-absent",
    _without("queue_wait_time"),
    "`queue_wait_time` is missing in usage.",
    applies_to=_prints("Usage", "queue_wait_time"),
)
prompt_details_absent = envelope_fault(
    "prompt-details-absent",
    _without("prompt_tokens_details"),
    "`prompt_tokens_details` is missing in usage.",
    applies_to=_prints("Usage", "prompt_tokens_details"),
)
cached_tokens_absent = envelope_fault(
    "cached-tokens-absent",
    _without("cached_tokens"),
    "`prompt_tokens_details` has no `cached_tokens`.",
    applies_to=_prints("UsagePromptDetails", "cached_tokens"),
)
measurements_empty = envelope_fault(
    "measurements-empty",
    _measured(lambda _entries: []),
    "Lists of measurements are empty.",
    applies_to=requires_check("answer.measurements-per-token"),
)
measurements_sevenfold = envelope_fault(
    "measurements-sevenfold",
    _measured(lambda entries: entries * 7),
    "Lists of measurements have seven entries for each token.",
    applies_to=requires_check("answer.measurements-per-token"),
)
excluded_id_sent = envelope_fault(
    "excluded-id-sent",
    set_field("id", "chatcmpl-1"),
    "Answers have an id, which the document lists as not supported.",
    applies_to=requires_check("answer.excluded-fields-absent"),
)
