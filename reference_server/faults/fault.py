"""Fault: a misbehaviour with a name, and the gathering of all of them."""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import dataclass
from inspect import cleandoc
from typing import TYPE_CHECKING, Literal

from openapi.did_you_mean import similar_names

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Iterator

    from starlette.types import ASGIApp

    from openapi.contract.contract import Contract
    from reference_server.engine import Engine


Place = Literal["requests", "sampling", "answers", "refusals", "anywhere"]


class UnknownFault(ValueError):
    """No fault of that name can be shown by a server of this dialect: one line for the operator."""


def _as_it_is(engine: Engine) -> Engine:
    return engine


@dataclass(frozen=True, slots=True)
class Fault:
    """One misbehaviour. `line` says what the server does.

    fits: whether the contract of a dialect speaks to it, less what the server lacks and does not claim.
    bugs: rows of `bugs.yaml` that it stands for.
    declares, denies: capabilities that the server claims to have, or to lack, while it shows the fault.
    about: the parameter that it is about, if it shows with that one only.
    around_app, around_engine: what is put around the application and the engine.
    patience_s: how long an answer may take while it shows; None: no longer than usual.
    shows: where it does: in how requests are read, in what is generated, in how answers or refusals are written.
    benign: it is no fault at all but a variation that every document allows.
    restless: chance, or what else is asked at the same time, decides where it shows.
    """

    name: str
    line: str
    fits: Callable[[Contract], bool]
    around_app: Callable[[ASGIApp, Contract], ASGIApp]
    around_engine: Callable[[Engine], Engine] = _as_it_is
    bugs: tuple[int, ...] = ()
    declares: tuple[str, ...] = ()
    denies: tuple[str, ...] = ()
    about: str | None = None
    shows: Place = "anywhere"
    benign: bool = False
    patience_s: float | None = None
    restless: bool = False


def said(function: Callable[..., object]) -> str:
    """The line of a fault: the docstring of its function."""
    if not function.__doc__:
        raise ValueError(f"{function.__name__} does not say what the server does: it needs a docstring")
    return " ".join(cleandoc(function.__doc__).split())


def gather() -> dict[str, Fault]:
    """Return every fault that a module below `topics` defines, by name, in the order of topic, module and definition.

    Raises ValueError if two faults have the same name.
    """
    from reference_server.faults import topics

    gathered: dict[str, Fault] = {}
    for info in pkgutil.walk_packages(topics.__path__, f"{topics.__name__}."):
        for item in vars(importlib.import_module(info.name)).values():
            if isinstance(item, Fault) and gathered.setdefault(item.name, item) is not item:
                raise ValueError(f"duplicate fault name: {item.name}")
    return gathered


def faults_of(contract: Contract, served: Contract) -> dict[str, Fault]:
    """The faults that this dialect's contract speaks to: those written down, and those that its parameters make.

    served: the contract less what the server lacks.
    """
    from reference_server.faults.bound_faults import made_of

    written = (each for each in gather().values() if each.fits(contract if each.declares else served))
    return {each.name: each for each in (*written, *made_of(served))}


def chosen(names: Collection[str], known: dict[str, Fault]) -> tuple[Fault, ...]:
    """The faults of these names; raises UnknownFault."""
    return tuple(_known(names, known))


def _known(names: Iterable[str], known: dict[str, Fault]) -> Iterator[Fault]:
    for name in names:
        if name not in known:
            near = [each for each in known if name in each or each.partition(":")[0] == name.partition(":")[0]]
            near = near or similar_names(name, known, 5)
            hint = f"; near: {', '.join(near[:5])}" if near else ""
            raise UnknownFault(f"no fault of this dialect is called {name!r}{hint}; --fault list shows them")
        yield known[name]
