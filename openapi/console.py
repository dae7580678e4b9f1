"""A console for tables that survives a closed pipe and is wide when standard output is not a terminal."""

from __future__ import annotations

import os
import sys
from typing import Final

from rich.console import Console

DEFAULT_WIDTH: Final = 200
"""Columns when standard output is not a terminal and COLUMNS is unset; most table rows then fit on one line."""


class PipeSafeConsole(Console):
    """A console that stops printing when its reader closes the pipe; files and the exit code do not change."""

    def on_broken_pipe(self) -> None:
        """Discard all further output."""
        self.quiet = True
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, sys.stdout.fileno())
        os.close(null)


def make_console() -> PipeSafeConsole:
    """Make a console for standard output, without automatic highlighting."""
    has_width = sys.stdout.isatty() or "COLUMNS" in os.environ
    return PipeSafeConsole(highlight=False, width=None if has_width else DEFAULT_WIDTH)
