"""The folder of the reports: made, and tried, before a test is started."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from loadtests.errors import UsageError

RESULTS: Final = "results.json"
PAGE: Final = "report.html"
LEDGER: Final = "requests.csv"


def prepared(text: str) -> Path:
    """The folder at a path. Raises UsageError where none can be made, or reports cannot be written into it."""
    folder = Path(text)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {text}: no folder can be made there: {error.strerror}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"--out {text}: that folder cannot be written to")
    for name in (RESULTS, PAGE, LEDGER):
        there = folder / name
        if there.exists() and not (there.is_file() and os.access(there, os.W_OK)):
            raise UsageError(f"--out {text}: {name} there cannot be replaced")
    return folder
