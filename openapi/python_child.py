"""Start child processes that import our packages, whatever packages of their names are in the working folder."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Mapping

FOLDER: Final = Path(__file__).resolve().parent.parent
"""The folder that contains our packages."""
INSTALLED: Final = ("site-packages", "dist-packages")


def python_command(module: str) -> list[str]:
    """Return the command that runs a module without the working folder on its path."""
    return [sys.executable, "-P", "-m", module]


def python_environment(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of such a process: of a checkout, the folder is first on the path.

    Installed packages are found without it, and their folder must not come before the standard library.
    """
    if FOLDER.name in INSTALLED:
        return dict(environment)
    paths = [str(FOLDER), *filter(None, environment.get("PYTHONPATH", "").split(os.pathsep))]
    return {**environment, "PYTHONPATH": os.pathsep.join(dict.fromkeys(paths))}
