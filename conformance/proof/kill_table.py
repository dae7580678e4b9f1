"""Read the kill table: the committed results of the last complete fault run."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

KILL_TABLE: Final = Path(str(files("conformance.proof"))) / "kills.json"

EXCUSED: Final[Mapping[str, str]] = {}
"""Checks that no fault of the reference server can violate, and faults that no check can detect, each with the reason.

An entry that is no longer needed makes the fault run fail.
"""


@cache
def read() -> dict[str, Any]:
    """Return the content of the file that `chatproof faults run --write` writes."""
    content: dict[str, Any] = json.loads(KILL_TABLE.read_text(encoding="utf-8"))
    return content
