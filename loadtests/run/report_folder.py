"""Create the folder of the reports, and check it before a test is started."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from loadtests.errors import UsageError

RESULTS: Final = "results.json"
REPORT: Final = "report.html"
REQUESTS: Final = "requests.csv"


def prepare_folder(text: str) -> Path:
    """Create the folder at a path if it does not exist. Raise UsageError if reports cannot be written to it."""
    folder = Path(text)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"--out {text}: cannot create the folder: {error.strerror}") from error
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UsageError(f"--out {text}: the folder is not writable")
    for name in (RESULTS, REPORT, REQUESTS):
        existing = folder / name
        if existing.exists() and not (existing.is_file() and os.access(existing, os.W_OK)):
            raise UsageError(f"--out {text}: the existing {name} cannot be replaced")
    return folder
