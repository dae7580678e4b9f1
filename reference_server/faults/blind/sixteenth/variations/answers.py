"""Variations of answers: fields of events, details of usage, headers, other languages, and other models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.blind.body_recipes import editing_messages
from reference_server.faults.blind.other_models import model_after
from reference_server.faults.blind.recipes import text_length
from reference_server.faults.decorators import variation
from reference_server.faults.hooks import DATA

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, ResponseHead, ServedRequest

PASSED: Final = {"via": "1.1 varnish", "age": "0", "x-served-by": "cache-fra-etou8220045-FRA"}
NAMED: Final = b"event: message\n"
DETAILS: Final[Json] = {
    "prompt_tokens_details": {"cached_tokens": 0, "audio_tokens": 0},
    "completion_tokens_details": {
        "reasoning_tokens": 0,
        "audio_tokens": 0,
        "accepted_prediction_tokens": 0,
        "rejected_prediction_tokens": 0,
    },
}


def _name_events(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """Yield events with the name that an event has without one."""
    yield NAMED + frame


def _close_up(frame: bytes, _request: ServedRequest) -> Iterator[bytes]:
    """Yield events without the space that may follow the colon."""
    yield b"data:" + frame.removeprefix(DATA) if frame.startswith(DATA) else frame


def _add_details(response: Json, _request: ServedRequest) -> None:
    """Add the counts that are 0 to the details of the usage."""
    usage = response.get("usage")
    if isinstance(usage, dict):
        for name, zeros in DETAILS.items():
            usage[name] = {**zeros, **(usage.get(name) or {})}


def _has_details(contract: Contract) -> bool:
    return "UsageCompletionDetails" in contract.schemas and contract.answer.cached_tokens


def _count_characters(head: ResponseHead, request: ServedRequest) -> None:
    head.headers["x-compute-type"] = "gpu+optimized"
    head.headers["x-compute-characters"] = str(text_length(request.payload))


def _pass_a_cdn(head: ResponseHead, _request: ServedRequest) -> None:
    head.headers.update(PASSED)


def _translate(message: str) -> Any:
    return f"Ungültige Anfrage: {message}"


headers_of_a_cdn = variation("headers-of-a-cdn", "Responses have the headers of a cache in front.", head=_pass_a_cdn)
events_are_messages = variation("events-are-messages", "The events of a stream are named message.", event=_name_events)
no_space_after_the_colon = variation(
    "no-space-after-the-colon", "No space follows the colon in the events of a stream.", event=_close_up
)
usage_with_all_details = variation(
    "usage-with-all-details",
    "The details of the usage also have the counts that are 0.",
    answer=_add_details,
    chunk=_add_details,
    applies_to=_has_details,
)
characters_counted_in_headers = variation(
    "characters-counted-in-headers",
    "Headers state the kind of the device and the number of characters of the messages.",
    head=_count_characters,
)
refusals_in_german = variation(
    "refusals-in-german", "The message of a refusal begins in German.", refusal=editing_messages(_translate)
)
model_after_italian = model_after(
    "model-after-italian",
    "The model answers after a conversation in Italian.",
    "Buongiorno! Che cosa mangiamo oggi?",
    "Oggi mangiamo pasta con pomodori.",
)
model_after_a_shopping_list = model_after(
    "model-after-a-shopping-list",
    "The model answers after a conversation about a shopping list.",
    "I go to the market. What do I buy for six people?",
    "Buy bread, cheese, ten apples and a bottle of milk.",
    "And for the children?",
    "Two small cakes.",
)
