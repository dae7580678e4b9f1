"""Exit codes of the commands that test the suite itself."""

from __future__ import annotations

from typing import Final

SUCCESS: Final = 0
FAILURE: Final = 1
USAGE: Final = 2
INTERNAL_ERROR: Final = 5
