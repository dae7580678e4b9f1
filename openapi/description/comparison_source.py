"""Load a description to compare: from a dialect's name, a dialect file, or a description's JSON file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

from openapi.contract.contract import ContractError, load
from openapi.description.description import REQUEST, describe

DESCRIPTION_FILES: Final = (".json",)


def load_description(name: str) -> dict[str, Any]:
    """Load the description of a dialect, as `load` names it, or from a description's JSON file.

    Raises ContractError, in one line, if `name` is anything else or the file is invalid.
    """
    path = Path(name)
    if path.suffix not in DESCRIPTION_FILES:
        return describe(load(name))
    try:
        return _load_json(path)
    except OSError as error:
        raise ContractError(f"cannot read {name}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ContractError(f"{name}: invalid encoding: expected UTF-8") from error


def _load_json(path: Path) -> dict[str, Any]:
    """Load a description that `chatproof spec build` wrote, in either version."""
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except json.JSONDecodeError as error:
        raise ContractError(f"{path}:{error.lineno}:{error.colno}: invalid JSON: {error.msg}") from error
    ours = isinstance(document, dict) and "x-dialect" in document.get("info", {})
    if not ours or REQUEST not in document.get("components", {}).get("schemas", {}):
        raise ContractError(f"{path}: invalid description: expected a file that `chatproof spec build` wrote")
    return document
