"""Paths into the JSON of a plain answer or of a chunk, such as `choices/*/message/content`.

A step is a field's name, the index of an item, or `*` for every item of a list. In a chunk, the step `message` stands
for `delta`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

Place = tuple[Any, Any]
"""A list or an object, and the index or the name of one of its values."""


def find_places(holder: Any, path: str, *, streamed: bool, lacking: bool = False) -> Iterator[Place]:
    """Yield every place that a path leads to. `lacking`: also where an object lacks the last step."""
    steps = [("delta" if streamed and step == "message" else step) for step in path.split("/")]
    yield from _find(holder, steps, lacking=lacking)


def _find(node: Any, steps: list[str], *, lacking: bool) -> Iterator[Place]:
    step, *rest = steps
    for key in _keys(node, step, lacking=lacking and not rest):
        if rest:
            yield from _find(node[key], rest, lacking=lacking)
        else:
            yield node, key


def _keys(node: Any, step: str, *, lacking: bool) -> list[Any]:
    if isinstance(node, dict):
        return [step] if step in node or lacking else []
    if isinstance(node, list):
        if step == "*":
            return list(range(len(node)))
        index = int(step) if step.lstrip("-").isdigit() else len(node)
        return [index] if -len(node) <= index < len(node) else []
    return []
