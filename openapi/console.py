"""The screen: where tables are printed; wide where there is no terminal, so that most rows stay on one line."""

from __future__ import annotations

import os
import sys
from typing import Final

from rich.console import Console

WIDE: Final = 200
"""Columns where neither a terminal nor COLUMNS says how many there are."""


class Screen(Console):
    """A console that goes silent where nobody reads on: files and the exit code are as they would have been."""

    def on_broken_pipe(self) -> None:
        """Says the rest to nobody."""
        self.quiet = True
        nobody = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nobody, sys.stdout.fileno())
        os.close(nobody)


def screen() -> Screen:
    """A console for standard output that colours no words by itself."""
    told = sys.stdout.isatty() or "COLUMNS" in os.environ
    return Screen(highlight=False, width=None if told else WIDE)
