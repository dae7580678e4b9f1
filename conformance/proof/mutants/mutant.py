"""Define mutants: changes to a recorded exchange, each of which one check must report."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Final

from conformance.errors import HarnessError, UsageError
from conformance.own_file import import_file
from conformance.proof import mutants

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from conformance.exchange import Exchange


@dataclass(frozen=True, slots=True)
class Mutant:
    """A change to an exchange that a check must report.

    check: the id of the check.
    defect: what a server with this defect does, in one sentence.
    scenario: a glob; the scenarios whose exchanges show the defect.
    steps: a glob; the steps of one scenario that are changed together. None: the step that the check judges.
    """

    check: str
    defect: str
    change: Callable[[Exchange], Exchange]
    scenario: str = "*"
    steps: str | None = None


def mutant(
    check: str, *, scenario: str = "*", steps: str | None = None
) -> Callable[[Callable[[Exchange], Exchange]], Mutant]:
    """Make a mutant from a function over exchanges. Its docstring, one line, describes the defect."""

    def make(change: Callable[[Exchange], Exchange]) -> Mutant:
        defect = cleandoc(change.__doc__ or "")
        if not defect or "\n" in defect:
            raise HarnessError(f"the mutant of {check} has no description: its function needs a docstring of one line")
        return Mutant(check, defect, change, scenario, steps)

    return make


COUNTEREXAMPLES: Final = "counterexamples.py"
"""A file next to the own checks of a dialect that may contain their mutants."""


def gather_own_mutants(checks: Iterable[str]) -> dict[str, Mutant]:
    """Return the mutants in the files of a dialect's own checks, and in `counterexamples.py` next to them.

    Raises UsageError for a file that cannot be imported, and for a check with two mutants.
    """
    gathered: dict[str, Mutant] = {}
    beside = (str(Path(path).with_name(COUNTEREXAMPLES)) for path in checks)
    for path in dict.fromkeys([*checks, *(path for path in beside if Path(path).is_file())]):
        for item in vars(import_file(path)).values():
            if isinstance(item, Mutant) and gathered.setdefault(item.check, item) is not item:
                raise UsageError(f"{path}: duplicate mutant of check {item.check}")
    return gathered


def gather_mutants() -> dict[str, Mutant]:
    """Return every mutant by the id of its check. Raises HarnessError if a check has two mutants."""
    gathered: dict[str, Mutant] = {}
    for info in pkgutil.walk_packages(mutants.__path__, f"{mutants.__name__}."):
        for item in vars(importlib.import_module(info.name)).values():
            if isinstance(item, Mutant) and gathered.setdefault(item.check, item) is not item:
                raise HarnessError(f"duplicate mutant of check {item.check}")
    return gathered
