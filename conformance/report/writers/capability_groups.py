"""Group the capabilities of a target by status and origin, as reports show them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from conformance.plan.capabilities import DIALECT

if TYPE_CHECKING:
    from collections.abc import Iterator

LABELS: Final = {"declared": "supports", "denied": "lacks", "unknown": "may support"}
ASSUMED: Final = "is assumed to support"
"""The label of what the dialect declares for every server, and this one has not said."""


def group_capabilities(target: dict[str, Any]) -> Iterator[tuple[str, list[str], str]]:
    """Yield (label, names, origin) for each status and origin among the capabilities of a target of results.json."""
    for status, label in LABELS.items():
        groups: dict[str, list[str]] = {}
        for name, capability in target["capability_origins"].items():
            if capability["status"] == status:
                origin = "undeclared" if status == "unknown" else f"according to {capability['from']}"
                groups.setdefault(origin, []).append(name)
        for origin, names in groups.items():
            yield ASSUMED if (status, origin) == ("declared", f"according to {DIALECT}") else label, names, origin
