"""Faults in which a task has another answer next to a parameter that does not change it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import choice_fault, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

THOUGHTS: Final = ("reasoning_content", "reasoning")


def _without_tools(request: ServedRequest) -> None:
    if request.payload.get("top_k") is not None:
        request.payload.pop("tools", None)
        request.payload.pop("tool_choice", None)


def _told(choice: Json, request: ServedRequest) -> None:
    said = message_of(choice)
    for name in THOUGHTS if request.payload.get("seed") is not None else ():
        said["content"] = (said.pop(name, None) or "") + (said.get("content") or "")


tools_lost = hooked_fault(
    "tools-lost-beside-top-k",
    "Tools are ignored if there is a top_k.",
    request=_without_tools,
    applies_to=has_parameters("tools", "top_k"),
)
thoughts_told_next_to_seeds = choice_fault(
    "thoughts-told-next-to-seeds",
    _told,
    "With a seed the reasoning is part of the content.",
    applies_to=has_parameters("chat_template_kwargs", "seed"),
)


def _told_of_several(choice: Json, request: ServedRequest) -> None:
    said = message_of(choice)
    for name in THOUGHTS if (request.payload.get("n") or 1) > 1 else ():
        said["content"] = (said.pop(name, None) or "") + (said.get("content") or "")


thoughts_told_by_several_choices = choice_fault(
    "thoughts-told-by-several-choices",
    _told_of_several,
    "With several choices the reasoning is part of the content.",
    applies_to=has_parameters("chat_template_kwargs", "n"),
)
