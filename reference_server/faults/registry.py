"""The registry of faults: those defined below `topics` and `blind`, and those generated from a contract."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import replace
from typing import TYPE_CHECKING

from openapi.did_you_mean import similar_names
from reference_server.faults import topics
from reference_server.faults.blind.sources import blind_faults
from reference_server.faults.fault import Fault
from reference_server.faults.generated.bound_faults import bound_faults_of
from reference_server.faults.generated.default_faults import default_faults_of
from reference_server.faults.generated.pair_faults import pair_faults_of
from reference_server.faults.generated.rewrite_faults import rewrite_faults_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator

    from openapi.contract.contract import Contract


class UnknownFaultError(ValueError):
    """The server of this dialect has no fault with that name. The message is one line for the operator."""


def gather_faults() -> dict[str, Fault]:
    """Return every fault that a module below `topics` defines, by name, in the order of topic, module and definition.

    The group of each is its topic. Raises ValueError if two faults have the same name.
    """
    defined: dict[str, Fault] = {}
    groups: dict[str, str] = {}
    prefix = f"{topics.__name__}."
    for info in pkgutil.walk_packages(topics.__path__, prefix):
        for item in vars(importlib.import_module(info.name)).values():
            if isinstance(item, Fault):
                if defined.setdefault(item.name, item) is not item:
                    raise ValueError(f"duplicate fault name: {item.name}")
                groups.setdefault(item.name, info.name.removeprefix(prefix).partition(".")[0])
    return {name: replace(fault, group=groups[name]) for name, fault in defined.items()}


def faults_of(contract: Contract, served: Contract) -> dict[str, Fault]:
    """Return the faults that a dialect's contract covers, by name: the written ones, then the generated ones.

    served: the contract without what the server lacks. Raises ValueError if two faults have the same name; it is not
    printed, because the names of one origin are hidden from the authors of the other.
    """
    own, blind = gather_faults(), blind_faults()
    if same := own.keys() & blind.keys():
        raise ValueError(f"duplicate fault names, of different origins: {len(same)}")
    defined = (
        fault for fault in (*own.values(), *blind.values()) if fault.applies_to(contract if fault.declares else served)
    )
    made = (replace(fault, group="parameters") for fault in (*bound_faults_of(served), *default_faults_of(served)))
    drawn = (*pair_faults_of(served), *rewrite_faults_of(served))
    return {fault.name: fault for fault in (*defined, *made, *drawn)}


def select_faults(names: Collection[str], known: dict[str, Fault]) -> tuple[Fault, ...]:
    """Return the faults with these names. Raises UnknownFaultError."""
    return tuple(_select(names, known))


def _select(names: Iterable[str], known: dict[str, Fault]) -> Iterator[Fault]:
    for name in names:
        if name not in known:
            similar = [
                other for other in known if name in other or other.partition(":")[0] == name.partition(":")[0]
            ] or similar_names(name, known, 5)
            hint = f"; similar names: {', '.join(similar[:5])}" if similar else ""
            raise UnknownFaultError(f"unknown fault {name!r} for this dialect{hint}; --fault list prints all names")
        yield known[name]
