"""Mutant: a good exchange broken on purpose, and the check that must notice."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from inspect import cleandoc
from typing import TYPE_CHECKING

from conformance.errors import HarnessError
from conformance.proof import mutants

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.exchange import Exchange


@dataclass(frozen=True, slots=True)
class Mutant:
    """A pure change that the check of that id must notice.

    `scenario` and `steps` are globs: the scenarios whose good exchanges show the fault, and the steps of one
    scenario that are changed together; None stands for the step that the check judges.
    """

    check: str
    sin: str
    change: Callable[[Exchange], Exchange]
    scenario: str = "*"
    steps: str | None = None


def mutant(
    check: str, *, scenario: str = "*", steps: str | None = None
) -> Callable[[Callable[[Exchange], Exchange]], Mutant]:
    """Makes a function from exchange to exchange the mutant of a check. Its docstring, one line, names the sin."""

    def make(change: Callable[[Exchange], Exchange]) -> Mutant:
        sin = cleandoc(change.__doc__ or "")
        if not sin or "\n" in sin:
            raise HarnessError(f"the mutant of {check} names no sin: its function needs a docstring of one line")
        return Mutant(check, sin, change, scenario, steps)

    return make


def gather_mutants() -> dict[str, Mutant]:
    """Return every mutant by the id of its check. Raises HarnessError if a check has two mutants."""
    gathered: dict[str, Mutant] = {}
    for info in pkgutil.walk_packages(mutants.__path__, f"{mutants.__name__}."):
        for item in vars(importlib.import_module(info.name)).values():
            if isinstance(item, Mutant) and gathered.setdefault(item.check, item) is not item:
                raise HarnessError(f"duplicate mutant of check {item.check}")
    return gathered
