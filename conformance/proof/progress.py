"""Show the progress of a proof on stderr: a status line in a terminal, otherwise a line from time to time."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click
from rich.console import Console
from rich.markup import escape

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

INTERVAL_S: Final = 15.0  # if stderr is not a terminal


@contextmanager
def show_progress(first: str) -> Iterator[Callable[[str], None]]:
    """Return a function that replaces the line that is shown; `first` is shown until its first call."""
    console, printed_s = Console(stderr=True, highlight=False), time.monotonic()
    with console.status(escape(first)) as status:

        def show(line: str) -> None:
            nonlocal printed_s
            status.update(escape(line))
            if not console.is_terminal and time.monotonic() - printed_s > INTERVAL_S:
                printed_s = time.monotonic()
                click.echo(line, err=True)

        yield show
