"""Dialects, checks and scenarios of other installed packages, found by their entry points.

An entry point of the group `chatproof.dialects` names the path of a dialect file, one of `chatproof.checks` a Python
file with checks, and one of `chatproof.scenarios` a YAML file: a string or a `pathlib.Path` in a module of the package.
Nothing is imported before its name is used.
"""

from __future__ import annotations

from importlib.metadata import entry_points
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from openapi.contract.tree.yaml_file import ContractError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Group = Literal["chatproof.dialects", "chatproof.checks", "chatproof.scenarios"]
DIALECTS: Final[Group] = "chatproof.dialects"


def list_installed(group: Group) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name."""
    return {point.name: point for point in sorted(entry_points(group=group), key=lambda point: point.name)}


def find_file(group: Group, name: str) -> Path | None:
    """Return the file that an entry point names; None for an unknown name.

    Raises ContractError, in one line, if its module cannot be imported or does not contain the path of a file.
    """
    point = list_installed(group).get(name)
    if point is None:
        return None
    where = f"entry point {name} of {group} ({point.value})"
    try:
        value = point.load()
    except Exception as error:
        raise ContractError(f"{where}: cannot be imported: {type(error).__name__}: {error}") from error
    if not isinstance(value, str | Path) or not Path(value).is_file():
        raise ContractError(f"{where}: expected the path of a file, got {value!r}")
    return Path(value).resolve()
