"""Test that the path of every check, mutant and fault begins with the topic of the check id."""

from __future__ import annotations

import importlib
import json
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING

from conformance.check import Check
from conformance.judge import checks
from conformance.proof import kill_table, mutants
from conformance.proof.mutants.mutant import Mutant
from reference_server.faults import topics
from reference_server.faults.fault import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

KILLS = json.loads((Path(kill_table.__file__).parent / "kills.json").read_text(encoding="utf-8"))["faults"]


def items_of(package: ModuleType, kind: type) -> Iterator[tuple[str, str, object]]:
    """Yield (module path below the package, topic, item) for every item of a kind that a module below it defines."""
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        path = info.name.removeprefix(f"{package.__name__}.")
        for item in vars(importlib.import_module(info.name)).values():
            if isinstance(item, kind):
                yield path, path.partition(".")[0], item


def test_every_check_is_in_the_folder_of_its_topic() -> None:
    assert not [(path, item.id) for path, topic, item in items_of(checks, Check) if item.topic != topic]  # type: ignore[attr-defined]


def test_every_mutant_is_in_the_module_of_its_check() -> None:
    modules = {item.id: path for path, _, item in items_of(checks, Check)}  # type: ignore[attr-defined]
    misplaced = [
        (path, item.check)  # type: ignore[attr-defined]
        for path, _, item in items_of(mutants, Mutant)
        if modules[item.check] != path  # type: ignore[attr-defined]
    ]
    assert not misplaced


def test_every_fault_is_in_the_folder_of_a_check_that_detects_it() -> None:
    misplaced = []
    for path, topic, fault in items_of(topics, Fault):
        assert isinstance(fault, Fault)
        row = KILLS.get(fault.name)
        if fault.benign or row is None:
            continue
        if topic not in {check.partition(".")[0] for check in row["killed_by"]}:
            misplaced.append((path, fault.name, sorted(row["killed_by"])))
    assert not misplaced
