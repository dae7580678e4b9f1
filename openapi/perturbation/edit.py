"""Edit single values of the resolved tree of a dialect, addressed by path as in the deltas of a dialect file."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.tree.yaml_file import ContractError

if TYPE_CHECKING:
    from openapi.contract.tree.delta import Tree

REMOVED: Final[Any] = object()


@dataclass(frozen=True, slots=True)
class Edit:
    """One edited place: the slash-separated path, and the new value or REMOVED. An item of a list has its name."""

    path: str
    value: Any = REMOVED

    def apply(self, tree: Tree) -> None:
        """Edit a tree in place. Raises ContractError if the place, or what should be removed, does not exist."""
        *steps, last = self.path.split("/")
        holder: Any = tree
        for step in steps:
            holder = _child(holder, step, self.path)
        if isinstance(holder, list):
            kept = [item for item in holder if _name(item) != last]
            if self.value is REMOVED and len(kept) == len(holder):
                raise ContractError(f"cannot remove {self.path}: the path does not exist")
            holder[:] = kept if self.value is REMOVED else [*kept, self.value]
        elif not isinstance(holder, dict):
            raise ContractError(f"cannot edit {self.path}: {'/'.join(steps)} is not a mapping or a list")
        elif self.value is not REMOVED:
            holder[last] = self.value
        elif last in holder:
            del holder[last]
        else:
            raise ContractError(f"cannot remove {self.path}: the path does not exist")

    def as_data(self) -> dict[str, Any]:
        """Return the edit as JSON data; a removal has no value."""
        return {"path": self.path} if self.value is REMOVED else {"path": self.path, "value": self.value}


def _child(holder: Any, step: str, path: str) -> Any:
    if isinstance(holder, dict) and step in holder:
        return holder[step]
    if isinstance(holder, list):
        for item in holder:
            if _name(item) == step:
                return item
    raise ContractError(f"cannot edit {path}: {step!r} does not exist")


def _name(item: Any) -> str | None:
    """Return the name of an item of a list; a probe without a name is named by its value."""
    if not isinstance(item, dict):
        return item if isinstance(item, str) else None
    return str(item["name"] if "name" in item else item.get("value"))
