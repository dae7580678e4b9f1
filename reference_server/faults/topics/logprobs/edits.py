"""Faults that edit the log-probabilities of answers, entry by entry or as a whole."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from reference_server.faults.decorators import choice_fault, has_parameters

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest

BUTTON = has_parameters("logprobs")


def each_entry(name: str, edit: Callable[[Json], object], line: str, **options: Any) -> Fault:
    """Make a fault that edits every entry of log-probabilities."""

    def change(choice: Json, _request: ServedRequest) -> None:
        for entry in (choice.get("logprobs") or {}).get("content") or ():
            edit(entry)

    return choice_fault(name, change, line, **{"applies_to": BUTTON, **options})


def whole_object(name: str, edit: Callable[[Json, list[Json]], object], line: str, **options: Any) -> Fault:
    """Make a fault that edits the whole `logprobs` object."""

    def change(choice: Json, _request: ServedRequest) -> None:
        if isinstance(choice.get("logprobs"), dict):
            edit(choice, choice["logprobs"].get("content") or [])

    return choice_fault(name, change, line, applies_to=BUTTON, **options)
