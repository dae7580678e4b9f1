"""Capabilities as reports tell them: what the server has, lacks and may have, and who said so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

LABELS: Final = {"declared": "has", "denied": "lacks", "unknown": "may have"}


def told(target: dict[str, Any]) -> Iterator[tuple[str, list[str], str]]:
    """(label, names, who said it) of the capabilities of a target of results.json, those of one origin together."""
    for word, label in LABELS.items():
        origins: dict[str, list[str]] = {}
        for name, each in target["capability_origins"].items():
            if each["word"] == word:
                origins.setdefault("nobody said" if word == "unknown" else f"said by {each['from']}", []).append(name)
        for origin, names in origins.items():
            yield label, names, origin
