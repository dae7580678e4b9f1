"""Exit codes of the commands that test the suite itself, and how these commands end with an error."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

import click

from conformance.errors import HarnessError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

SUCCESS: Final = 0
FAILURE: Final = 1
USAGE: Final = 2
INTERNAL_ERROR: Final = 5


@contextmanager
def exit_on_errors() -> Iterator[None]:
    """End the command with one line on stderr if its usage is wrong, or if the suite itself fails."""
    try:
        yield
    except (UsageError, HarnessError) as error:
        click.echo(f"chatproof: {error}", err=True)
        sys.exit(USAGE if isinstance(error, UsageError) else INTERNAL_ERROR)
