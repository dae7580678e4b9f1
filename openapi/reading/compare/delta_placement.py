"""Build the `add`, `replace` and `remove` sections of a delta on a dialect's tree."""

from __future__ import annotations

from typing import Any

from openapi.contract.resolution import resolve
from openapi.contract.tree.delta import copy_tree

Tree = dict[str, Any]


class DeltaTree:
    """The values that a delta sets, by their paths in the dialect's tree."""

    def __init__(self, dialect: str) -> None:
        self.add: Tree = {}
        self.replace: Tree = {}
        self.remove: list[str] = []
        self._tree = resolve(dialect)

    def get(self, path: str) -> Any:
        """Return the value that the dialect has at a path, or None."""
        return _get(self._tree, path)

    def final(self, path: str) -> Any:
        """Return the value at a path after the delta, or None; removed values count as there."""
        for outer, value in {**self.add, **self.replace}.items():
            if path == outer or path.startswith(f"{outer}/"):
                return _get(value, path.removeprefix(outer).removeprefix("/"))
        return self.get(path)

    def current(self, path: str) -> Any:
        """Return a copy of the value at a path with all values of the delta; removed values count as there."""
        value = copy_tree(self.final(path))
        for inner, changed in {**self.add, **self.replace}.items():
            if inner.startswith(f"{path}/"):
                *steps, last = inner.removeprefix(f"{path}/").split("/")
                holder = _get(value, "/".join(steps))
                if isinstance(holder, dict):
                    holder[last] = copy_tree(changed)
        return value

    def can_set(self, path: str) -> bool:
        """Return whether `set` accepts a path: one in the dialect's tree, or inside a value that the delta sets."""
        enclosing = self._enclosing(path)
        if enclosing is not None:
            return _get(enclosing[1], path.removeprefix(f"{enclosing[0]}/")) is not None
        return bool(path) and not any(step.isdecimal() for step in path.split("/"))

    def set(self, path: str, value: Any) -> Any:
        """Set a path to a copy of the value, and return the copy. It replaces what the delta sets below the path."""
        value = copy_tree(value)
        for changes in (self.add, self.replace):
            for inner in [other for other in changes if other.startswith(f"{path}/")]:
                del changes[inner]
        parent_path, _, name = path.rpartition("/")
        enclosing = self._enclosing(path)
        if enclosing is not None:
            parent = _get(enclosing[1], parent_path.removeprefix(enclosing[0]).removeprefix("/"))
            parent[int(name) if isinstance(parent, list) else name] = value
            return value
        existing = self.get(parent_path)
        (self.replace if isinstance(existing, dict) and name in existing else self.add)[path] = value
        return value

    def _enclosing(self, path: str) -> tuple[str, Any] | None:
        """Return the path that the delta sets and that encloses this one, with its value."""
        values = {**self.add, **self.replace}
        return next(((outer, value) for outer, value in values.items() if path.startswith(f"{outer}/")), None)


def _get(node: Any, path: str) -> Any:
    for step in filter(None, path.split("/")):
        if isinstance(node, list):
            node = node[int(step)] if step.isdecimal() and int(step) < len(node) else None
        else:
            node = node.get(step) if isinstance(node, dict) else None
    return node
