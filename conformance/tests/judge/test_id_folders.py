"""Test that the path of every check, mutant and fault begins with the prefix of a check id."""

from __future__ import annotations

import importlib
import json
import pkgutil
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from conformance.check import Check
from conformance.judge import checks
from conformance.proof import mutants
from conformance.proof.mutants.mutant import Mutant
from reference_server.faults import topics
from reference_server.faults.fault import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import ModuleType

T = TypeVar("T")
KILLS = json.loads((Path(mutants.__file__).parent.parent / "kills.json").read_text(encoding="utf-8"))["faults"]


def items_of(package: ModuleType, kind: type[T]) -> Iterator[tuple[str, T]]:
    """Yield (module name below the package, item) for every item of a class that a module below the package defines."""
    prefix = f"{package.__name__}."
    for info in pkgutil.walk_packages(package.__path__, prefix):
        for item in vars(importlib.import_module(info.name)).values():
            if isinstance(item, kind):
                yield info.name.removeprefix(prefix), item


def topic_of(name: str) -> str:
    """Return the part of a check id or of a module name in front of the first dot."""
    return name.partition(".")[0]


def test_every_check_is_in_the_folder_of_its_topic() -> None:
    assert not [(module, check.id) for module, check in items_of(checks, Check) if topic_of(module) != check.topic]


def test_every_mutant_is_in_the_module_of_the_same_name_as_its_check() -> None:
    modules = {check.id: module for module, check in items_of(checks, Check)}
    assert not [
        (module, mutant.check) for module, mutant in items_of(mutants, Mutant) if modules[mutant.check] != module
    ]


SHOWN_ELSEWHERE = {
    *("cached-tokens-uncounted", "last-part-read", "later-results-dropped", "left-streams-stay-short"),
    *("stop-lost-beside-tools", "streams-cut-on-close", "text-of-the-stream-again", "texts-drift"),
    *("middle-of-prompts-dropped", "thoughts-told-by-later-choices", "echo-lost-beside-choices"),
    *("past-results-end-early", "names-of-past-calls-unread"),  # which the number of prompt tokens shows
    "stop-lost-beside-a-beam-search",  # its first dialect does not allow both
}
"""Faults that only checks of another folder detect, as what they break shows in other answers."""

REFUSED = {"answer.accepted", "stream.accepted"}
"""The checks that detect a fault which refuses a valid request, whatever the topic of that request."""


def test_every_fault_is_in_the_folder_of_a_check_that_detects_it() -> None:
    misplaced = []
    for module, fault in items_of(topics, Fault):
        detected_by = KILLS.get(fault.name, {}).get("killed_by", {})
        if fault.benign or fault.name in SHOWN_ELSEWHERE or REFUSED & detected_by.keys():
            continue
        if detected_by and topic_of(module) not in map(topic_of, detected_by):
            misplaced.append((module, fault.name, sorted(detected_by)))
    assert not misplaced


def test_every_module_of_faults_is_a_topic_of_checks_or_a_variation() -> None:
    known = {check.topic for _, check in items_of(checks, Check)} | {"variations"}
    assert not [module for module, _ in items_of(topics, Fault) if topic_of(module) not in known]
