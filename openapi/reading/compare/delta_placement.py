"""Placing: the `add`, `replace` and `remove` of a delta on one tree, kept consistent while they are filled."""

from __future__ import annotations

import copy
from typing import Any

from openapi.contract.resolution import resolve

Tree = dict[str, Any]


class Placing:
    """What a delta on a dialect sets, by paths of the dialect's tree."""

    def __init__(self, dialect: str) -> None:
        self.add: Tree = {}
        self.replace: Tree = {}
        self.remove: list[str] = []
        self._tree = resolve(dialect)

    def at(self, place: str) -> Any:
        """What the dialect has at a place; None where it has nothing."""
        return _inside(self._tree, place)

    def reaches(self, place: str) -> bool:
        """Whether `put` can set a place: the dialect's own places, and those inside what the delta sets."""
        over = self._over(place)
        if over is not None:
            return _inside(over[1], place.removeprefix(f"{over[0]}/")) is not None
        return bool(place) and not any(step.isdecimal() for step in place.split("/"))

    def put(self, place: str, value: Any) -> Any:
        """Sets a place that is reached to a copy of the value, and returns the copy."""
        value = copy.deepcopy(value)
        holder, _, name = place.rpartition("/")
        over = self._over(place)
        if over is not None:
            inside = _inside(over[1], holder.removeprefix(over[0]).removeprefix("/"))
            inside[int(name) if isinstance(inside, list) else name] = value
            return value
        above = self.at(holder)
        (self.replace if isinstance(above, dict) and name in above else self.add)[place] = value
        return value

    def _over(self, place: str) -> tuple[str, Any] | None:
        """The place that the delta sets and that holds this one, with its value."""
        every = {**self.add, **self.replace}
        return next(((over, value) for over, value in every.items() if place.startswith(f"{over}/")), None)


def _inside(node: Any, place: str) -> Any:
    for step in filter(None, place.split("/")):
        if isinstance(node, list):
            node = node[int(step)] if step.isdecimal() and int(step) < len(node) else None
        else:
            node = node.get(step) if isinstance(node, dict) else None
    return node
