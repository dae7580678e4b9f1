"""Attach origin, group and public reports to the blind faults."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Final

import yaml

from reference_server.faults import blind
from reference_server.faults.fault import Fault

if TYPE_CHECKING:
    from collections.abc import Mapping

ORIGIN: Final = "blind"


@cache
def load_sources() -> Mapping[str, tuple[str, ...]]:
    """Return the public reports of each blind fault, by its name."""
    text = files(blind).joinpath("sources.yaml").read_text(encoding="utf-8")
    return {name: tuple(reports) for name, reports in yaml.safe_load(text).items()}


@cache
def blind_faults() -> dict[str, Fault]:
    """Return the blind faults by name. The group of a fault is its module.

    Raises ValueError if two faults have the same name, or if a fault has no source.
    """
    gathered: dict[str, Fault] = {}
    sources = load_sources()
    for info in pkgutil.walk_packages(blind.__path__, f"{blind.__name__}."):
        group = "variations" if ".variations" in info.name else info.name.rpartition(".")[2]
        for item in vars(importlib.import_module(info.name)).values():
            if isinstance(item, Fault):
                if item.name in gathered or not sources.get(item.name):
                    raise ValueError(f"blind fault {item.name}: the name is not unique, or sources.yaml lacks it")
                gathered[item.name] = replace(item, origin=ORIGIN, group=group, sources=sources[item.name])
    return gathered
