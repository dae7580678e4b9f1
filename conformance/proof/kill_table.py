"""The ledger: the committed outcome of the last proof, for those who ask what a check has named."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

COMPANION: Final = Path(str(files("conformance.proof"))) / "kills.json"

EXCUSED: Final[Mapping[str, str]] = {}
"""Checks that no fault of the reference server can show, and faults that no check names, each with the reason.

An excuse that is no longer needed fails the proof.
"""


@cache
def read() -> dict[str, Any]:
    """What `chatproof faults run --write` left."""
    content: dict[str, Any] = json.loads(COMPANION.read_text(encoding="utf-8"))
    return content
