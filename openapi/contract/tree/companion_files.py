"""The files that a dialect file outside this package brings with it: scenarios and checks.

`scenarios` is a list of scenarios, or of names: the path of a YAML file, relative to the dialect file, or an installed
entry point of the group `chatproof.scenarios`. `checks` is a list of paths of Python files, or of entry points of the
group `chatproof.checks`; a `checks.py` next to the dialect file need not be listed. Nothing is imported here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from openapi.contract.tree.installed import find_file, list_installed
from openapi.contract.tree.yaml_file import ContractError, parse, read_text
from openapi.did_you_mean import suggest

if TYPE_CHECKING:
    from pathlib import Path

    from openapi.contract.tree.installed import Group

CHECKS: Final = "checks.py"
FILE: Final = "file"
"""The key that a scenario gets for the file that contains it."""


def read_scenarios(content: Any, dialect: Path) -> list[dict[str, Any]]:
    """Return the scenarios that a dialect file lists or names, each with the key `file`.

    Raises ContractError for anything but a list of scenarios and names, and for a file that cannot be read.
    """
    rows: list[dict[str, Any]] = []
    for item in _require_list(content, f"{dialect}: scenarios"):
        if isinstance(item, str):
            path = _find(item, "chatproof.scenarios", dialect, "scenarios")
            named = _require_list(parse(read_text(path), str(path)), str(path))
            rows += [_with_file(row, path, str(path)) for row in named]
        else:
            rows.append(_with_file(item, dialect, f"{dialect}: scenarios"))
    return rows


def list_checks(content: Any, dialect: Path) -> list[str]:
    """Return the paths of the Python files with the checks of a dialect file, without importing them.

    Raises ContractError for anything but a list of names, and for a file that does not exist.
    """
    names = _require_list(content, f"{dialect}: checks")
    paths = [_find(str(name), "chatproof.checks", dialect, "checks") for name in names]
    beside = dialect.parent / CHECKS
    if beside.is_file() and beside not in paths:
        paths.append(beside)
    return list(map(str, paths))


def list_todos(content: Any, dialect: Path) -> list[str]:
    """Return the notes of what is left to do in a dialect file, each on one line."""
    return [" ".join(str(item).split()) for item in _require_list(content, f"{dialect}: todo")]


def _find(name: str, group: Group, dialect: Path, key: str) -> Path:
    """Return the file of an entry point, or at a path relative to the dialect file."""
    path = find_file(group, name) or (dialect.parent / name).resolve()
    if not path.is_file():
        installed = list_installed(group)
        known = f", or an entry point of {group}: {', '.join(installed)}" if installed else ""
        raise ContractError(
            f"{dialect}: {key}: {name}: file not found: expected a path relative to the dialect file{known}"
            f"{suggest(name, installed)}"
        )
    return path


def _require_list(content: Any, where: str) -> list[Any]:
    if not isinstance(content, list):
        raise ContractError(f"{where}: expected a list")
    return content


def _with_file(row: Any, path: Path, where: str) -> dict[str, Any]:
    if not isinstance(row, dict) or not isinstance(row.get("id"), str):
        raise ContractError(f"{where}: invalid scenario: expected a mapping with an id, a summary and steps")
    return {**row, FILE: str(path)}
