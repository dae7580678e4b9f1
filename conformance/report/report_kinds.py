"""Name the kinds of reports. Every pytest run of the environment imports this module, so it imports nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

REPORT_KINDS: Final = ("json", "junit", "markdown", "html", "sarif", "badge", "jsonl", "har", "github")
OTHER_NAMES: Final = {"md": "markdown"}
"""Further names of kinds, which every command accepts that writes the kind."""


def describe_kinds(kinds: Iterable[str]) -> str:
    """List kinds with their further names, as in `json, markdown (or md)`."""
    others = {kind: f"{kind} (or {name})" for name, kind in OTHER_NAMES.items()}
    return ", ".join(others.get(kind, kind) for kind in kinds)


def list_names(kinds: Iterable[str]) -> list[str]:
    """Return all names of some kinds."""
    listed = list(kinds)
    return [*listed, *(name for name, kind in OTHER_NAMES.items() if kind in listed)]
