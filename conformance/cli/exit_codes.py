"""Exit codes, and the error line on stderr for failures that no report describes."""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, NoReturn

import click

from conformance.errors import HarnessError, ServerNotListening, Unreachable, UsageError
from conformance.judge.check_registry import gather_checks
from conformance.judging_limit import INTERRUPTED as INTERRUPTED_RUN
from conformance.record import FAIL_FAST
from conformance.report.outcome import Outcome as RequirementOutcome
from conformance.report.verdict import Verdict
from conformance.report.writers.terminal_text import sanitize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.report.requirement_row import RequirementRow
    from conformance.run.session.conclusion import RunOutcome

CONFORMANT, NONCONFORMANT, USAGE, UNREACHABLE, INCONCLUSIVE, INTERNAL_ERROR = range(6)
INTERRUPTED = 130  # 128 + SIGINT, as shells report it
LONGEST_MESSAGE = 2000
TRACEBACK_VARIABLE = "CHATPROOF_TRACEBACK"


def exit_code(outcome: RunOutcome) -> int:
    """Return the exit code for the outcome of a run."""
    errors = [row for row in outcome.report.rows if row.outcome is RequirementOutcome.ERROR]
    if errors:
        return USAGE if errors == list_own_errors(outcome) else INTERNAL_ERROR
    if outcome.report.exhausted == INTERRUPTED_RUN:
        return INTERRUPTED
    verdict, exhausted = outcome.report.verdict, outcome.report.exhausted
    stopped_by_failure = verdict is Verdict.NONCONFORMANT and exhausted and exhausted.startswith(FAIL_FAST)
    if verdict is Verdict.INCONCLUSIVE or (exhausted and not stopped_by_failure):
        return INCONCLUSIVE
    return CONFORMANT if verdict is Verdict.CONFORMANT else NONCONFORMANT


def list_own_errors(outcome: RunOutcome) -> list[RequirementRow]:
    """Return the rows whose checks raised an exception and are not ours: they came with the dialect."""
    contract = outcome.prepared.contract
    own = {identity for identity, check in gather_checks(contract).items() if check.origin}
    return [row for row in outcome.report.rows if row.outcome is RequirementOutcome.ERROR and row.check in own]


def print_own_errors(outcome: RunOutcome) -> None:
    """Print one line on stderr for each check of the dialect's author that raised an exception."""
    for row in list_own_errors(outcome):
        click.echo(f"chatproof: the check {sanitize(row.note, LONGEST_MESSAGE)}", err=True)


def worst(codes: list[int]) -> int:
    """Return one code for several runs: an internal error wins over a failure, and a failure over all others."""
    return max(codes, key=lambda code: (code == INTERNAL_ERROR, code == NONCONFORMANT, code))


@contextmanager
def report_errors() -> Iterator[None]:
    """End the process with an error line and the right exit code if the block raises an exception."""
    try:
        yield
    except UsageError as error:
        exit_with(str(error), USAGE)
    except ServerNotListening as error:
        exit_with(error.with_hint("--wait"), UNREACHABLE)
    except Unreachable as error:
        exit_with(str(error), UNREACHABLE)
    except click.UsageError as error:  # standard output cannot be written
        exit_with(error.message, USAGE)
    except HarnessError as error:
        exit_with(str(error), INTERNAL_ERROR)
    except KeyboardInterrupt:
        exit_with("interrupted", INTERRUPTED)
    except Exception as error:
        if os.environ.get(TRACEBACK_VARIABLE):
            raise
        message = f"internal error: {type(error).__name__}: {error} (set {TRACEBACK_VARIABLE}=1 for the traceback)"
        exit_with(message, INTERNAL_ERROR)


def exit_with(message: str, code: int) -> NoReturn:
    """Print one line on stderr and end the process."""
    click.echo(f"chatproof: {sanitize(' '.join(message.split()), LONGEST_MESSAGE)}", err=True)
    sys.exit(code)
