"""Exit codes, and the one line on stderr that goes with those that no report explains."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import click

from conformance.errors import HarnessError, NobodyThere, Unreachable, UsageError
from conformance.report.verdict import Outcome as Word
from conformance.report.verdict import Verdict
from conformance.report.writers.terminal import safe

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.run.session import Outcome

CONFORMANT, NONCONFORMANT, USAGE, UNREACHABLE, EXHAUSTED, OWN_ERROR = range(6)
INTERRUPTED = 130  # 128 + SIGINT, as shells report it
LONGEST_MESSAGE = 2000
TRACEBACK = "CHATPROOF_TRACEBACK"


def code_of(outcome: Outcome) -> int:
    """The exit code of a judgement."""
    if any(row.outcome is Word.ERROR for row in outcome.report.rows):
        return OWN_ERROR
    if outcome.report.exhausted == "interrupted":
        return INTERRUPTED
    if outcome.report.exhausted:
        return EXHAUSTED
    return CONFORMANT if outcome.report.verdict is Verdict.CONFORMANT else NONCONFORMANT


def worst(codes: list[int]) -> int:
    """The one code for several judgements: an error of ours before a failure, a failure before all else."""
    return max(codes, key=lambda code: (code == OWN_ERROR, code == NONCONFORMANT, code))


@contextmanager
def told() -> Iterator[None]:
    """Ends the process with one line and the right code where something goes wrong that no report can hold."""
    try:
        yield
    except UsageError as error:
        leave(str(error), USAGE)
    except NobodyThere as error:
        leave(error.told("--wait"), UNREACHABLE)
    except Unreachable as error:
        leave(str(error), UNREACHABLE)
    except HarnessError as error:
        leave(str(error), OWN_ERROR)
    except KeyboardInterrupt:
        leave("interrupted", INTERRUPTED)
    except Exception as error:
        if os.environ.get(TRACEBACK):
            raise
        leave(f"our own error: {type(error).__name__}: {error} ({TRACEBACK}=1 shows where)", OWN_ERROR)


def leave(message: str, code: int) -> NoReturn:
    """One line, then the end."""
    click.echo(f"chatproof: {safe(' '.join(message.split()), LONGEST_MESSAGE)}", err=True)
    sys.exit(code)
