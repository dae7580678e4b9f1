"""What can be compared: a dialect by its name, a dialect's file, or a description that was kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from openapi.contract.contract import ContractError, load, load_file, names
from openapi.description.description import REQUEST, describe

DIALECT_FILES: Final = (".yaml", ".yml")
DESCRIPTION_FILES: Final = (".json",)


def described(name: str) -> dict[str, Any]:
    """The description that a name stands for: a dialect, a dialect's YAML file, or a description's JSON file.

    Raises ContractError, in one line, for a name that is none of them and for a file that does not hold one.
    """
    if name in names():
        return describe(load(name))
    path = Path(name)
    if path.suffix not in (*DIALECT_FILES, *DESCRIPTION_FILES):
        known = ", ".join(sorted(names()))
        raise ContractError(f"{name}: neither a dialect nor a .yaml or .json file; dialects are {known}")
    try:
        return describe(load_file(path)) if path.suffix in DIALECT_FILES else _kept(path)
    except OSError as error:
        raise ContractError(f"{name}: cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ContractError(f"{name}: no UTF-8 text") from error


def _kept(path: Path) -> dict[str, Any]:
    """A description that `chatproof spec build` wrote, in either version."""
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ContractError(f"{path}:{error.lineno}:{error.colno}: no JSON: {error.msg}") from error
    ours = isinstance(document, dict) and "x-dialect" in document.get("info", {})
    if not ours or REQUEST not in document.get("components", {}).get("schemas", {}):
        raise ContractError(f"{path}: no description of a dialect: give one that `chatproof spec build` wrote")
    return document
