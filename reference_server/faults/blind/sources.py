"""Attach origin, group and public reports to the blind faults."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

import yaml

from reference_server.faults import blind
from reference_server.faults.fault import Fault

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping


@cache
def list_origins() -> tuple[str, ...]:
    """Return the names of the sets of blind faults. A set is a folder."""
    return tuple(info.name for info in pkgutil.iter_modules(blind.__path__) if info.ispkg)


@cache
def load_sources(origin: str) -> Mapping[str, tuple[str, ...]]:
    """Return the public reports of each blind fault of a set, by its name."""
    text = files(f"{blind.__name__}.{origin}").joinpath("sources.yaml").read_text(encoding="utf-8")
    return {name: tuple(reports) for name, reports in yaml.load(text, Loader=yaml.CSafeLoader).items()}


@cache
def blind_faults() -> dict[str, Fault]:
    """Return the blind faults by name. The origin of a fault is its folder, and its group is its module.

    Raises ValueError if two faults have the same name, or if a fault has no source.
    """
    gathered: dict[str, Fault] = {}
    for origin in list_origins():
        sources = load_sources(origin)
        for group, item in _find_faults(origin):
            if item.name in gathered or not sources.get(item.name):
                raise ValueError(f"blind fault {item.name}: the name is not unique, or sources.yaml lacks it")
            gathered[item.name] = replace(item, origin=origin, group=group, sources=sources[item.name])
    return gathered


def _find_faults(origin: str) -> Iterator[tuple[str, Fault]]:
    """Yield the faults of a set with their group."""
    package = importlib.import_module(f"{blind.__name__}.{origin}")
    for info in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        group = "variations" if ".variations" in info.name else info.name.rpartition(".")[2]
        for item in vars(importlib.import_module(info.name)).values():
            if isinstance(item, Fault):
                yield group, item
