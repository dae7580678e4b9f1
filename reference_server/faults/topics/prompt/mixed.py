"""Faults in which one part of a request is lost because of another: next to images, sounds, tools or earlier turns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.decorators import has_parameters
from reference_server.faults.topics.media.decoded_edits import takes
from reference_server.faults.topics.media.parts import IMAGES, KINDS, count_parts, edit_parts, is_part, media_fault

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi.contract.contract import Contract
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest

    Edit = Callable[[ServedRequest], None]


def _takes_with_tools(contract: Contract) -> bool:
    return takes("image")(contract) and "tools" in contract.parameters


def _next_to_images(name: str, line: str, edit: Edit, **options: Any) -> Fault:
    """Make a fault of requests with an image."""

    def change(request: ServedRequest) -> None:
        if count_parts(request, IMAGES):
            edit(request)

    return media_fault(name, line, request=change, **{"applies_to": takes("image"), **options})


def _messages(request: ServedRequest) -> list[Json]:
    messages = request.payload.get("messages")
    return [item for item in messages if isinstance(item, dict)] if isinstance(messages, list) else []


def _drop_instructions(request: ServedRequest) -> None:
    request.payload["messages"] = [item for item in _messages(request) if item.get("role") != "system"]


def _end_texts_at_images(request: ServedRequest) -> None:
    """Drop the texts behind the first image of each message, unless it begins with the image."""

    def cut(_at: int, parts: list[Any]) -> list[Any]:
        first = next((at for at, part in enumerate(parts) if is_part(part, IMAGES)), len(parts))
        return [part for at, part in enumerate(parts) if not first or at < first or is_part(part, IMAGES)]

    edit_parts(request, cut)


def _show_last_image(request: ServedRequest) -> None:
    """Drop the images of earlier turns if tools are offered."""
    if request.payload.get("tools"):
        edit_parts(request, lambda at, parts: [part for part in parts if not at or not is_part(part, IMAGES)])


def _read_results_as_text(request: ServedRequest) -> None:
    for message in _messages(request):
        parts = message.get("content")
        if message.get("role") == "tool" and isinstance(parts, list):
            texts = [str(part.get("text")) for part in parts if isinstance(part, dict) and part.get("type") == "text"]
            message["content"] = " ".join(texts)


def _merge_equal_parts(request: ServedRequest) -> None:
    """Leave out each part of a message that is equal to an earlier one."""
    edit_parts(request, lambda _, parts: [part for at, part in enumerate(parts) if part not in parts[:at]])


def _drop_sounds(request: ServedRequest) -> None:
    edit_parts(request, lambda _, parts: [part for part in parts if not is_part(part, KINDS["audio"])])


def _drop_switch(request: ServedRequest) -> None:
    request.payload.pop("chat_template_kwargs", None)


def _drop_switch_after_answers(request: ServedRequest) -> None:
    if any(item.get("role") == "assistant" for item in _messages(request)):
        _drop_switch(request)


instructions_lost = _next_to_images(
    "instructions-lost-next-to-images", "The system message is dropped if a message has an image.", _drop_instructions
)
texts_behind_images_lost = _next_to_images(
    "texts-behind-images-lost",
    "Of a message that begins with text, the texts behind its first image are dropped.",
    _end_texts_at_images,
)
earlier_images_lost = _next_to_images(
    "earlier-images-lost-next-to-tools",
    "Images of earlier messages are dropped if tools are offered.",
    _show_last_image,
    applies_to=_takes_with_tools,
)
results_read_as_text = _next_to_images(
    "results-with-images-read-as-text",
    "Of the result of a tool only the text is read.",
    _read_results_as_text,
    applies_to=lambda contract: _takes_with_tools(contract) and "response_format" not in contract.parameters,
)
equal_parts_merged = _next_to_images(
    "equal-parts-merged", "Of equal parts of a message only the first one is read.", _merge_equal_parts
)
sounds_lost = _next_to_images(
    "sounds-lost-next-to-images",
    "Sounds are dropped if a message has an image.",
    _drop_sounds,
    applies_to=takes("audio"),
)
switch_lost_next_to_images = _next_to_images(
    "reasoning-switch-lost-next-to-images",
    "The switch of the reasoning is ignored if a message has an image.",
    _drop_switch,
    applies_to=lambda contract: takes("image")(contract) and has_parameters("chat_template_kwargs")(contract),
)
