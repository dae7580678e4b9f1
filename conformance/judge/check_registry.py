"""Collect the checks that the modules below `conformance.judge.checks`, and the files of a dialect, define."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from conformance.check import Check
from conformance.errors import HarnessError, UsageError
from conformance.judge import checks
from conformance.own_file import import_file

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

    from openapi.contract.contract import Contract


def gather_checks(contract: Contract | None = None) -> dict[str, Check]:
    """Return every check by id, in the order of topic, module and definition.

    contract: of a dialect whose own checks are added.

    Raises HarnessError if two checks have the same id, UsageError if an own check has the id of a built-in one.
    """
    built_in = _gather_built_in()
    if contract is None or not contract.checks:
        return dict(built_in)
    own = read_own_checks(contract.checks)
    for identity, check in own.items():
        if identity in built_in:
            raise UsageError(f"{check.origin}: {identity} is the id of a built-in check: choose another one")
    return {**built_in, **own}


@cache
def read_own_checks(paths: tuple[str, ...]) -> dict[str, Check]:
    """Return the checks of files by id. Raises UsageError for a file that cannot be imported and for a duplicate id."""
    checks: dict[str, Check] = {}
    for path in paths:
        for item in vars(import_file(path)).values():
            if not isinstance(item, Check) or not _is_of(item, path):
                continue
            if item.id in checks:
                raise UsageError(f"{path}: duplicate check id {item.id}")
            checks[item.id] = replace(item, origin=path)
    return checks


def _is_of(check: Check, path: str) -> bool:
    """Return whether a check is defined in a file, not imported there."""
    return check.judge.__module__ == import_file(path).__name__


@cache
def _gather_built_in() -> dict[str, Check]:
    gathered: dict[str, Check] = {}
    for module in _modules():
        for item in vars(module).values():
            if isinstance(item, Check) and gathered.setdefault(item.id, item) is not item:
                raise HarnessError(f"duplicate check id: {item.id}")
    return gathered


def _modules() -> Iterator[ModuleType]:
    """Import the modules of all topics. `walk_packages` sorts them by name, folder by folder."""
    for info in pkgutil.walk_packages(checks.__path__, f"{checks.__name__}."):
        yield importlib.import_module(info.name)
