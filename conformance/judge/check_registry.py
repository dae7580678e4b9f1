"""Collect the checks that the modules below `conformance.judge.checks` define."""

from __future__ import annotations

import importlib
import pkgutil
from typing import TYPE_CHECKING

from conformance.check import Check
from conformance.errors import HarnessError
from conformance.judge import checks

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType


def gather_checks() -> dict[str, Check]:
    """Return every check by id, in the order of topic, module and definition.

    Raises HarnessError if two checks have the same id.
    """
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
