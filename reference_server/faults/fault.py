"""A fault: a named misbehaviour that the reference server can reproduce."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import cleandoc
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from starlette.types import ASGIApp

    from openapi.contract.contract import Contract
    from reference_server.engine import Engine
    from reference_server.faults.hooks import Affects


def _unchanged(engine: Engine) -> Engine:
    return engine


@dataclass(frozen=True, slots=True)
class Fault:
    """One misbehaviour. `line` describes what the server does.

    applies_to: whether the contract of a dialect covers the behaviour. The contract excludes what the server lacks,
        unless the fault declares it.
    wrap_app, wrap_engine: add the fault to the application and to the engine.
    bugs: rows of `bugs.yaml` that the fault reproduces.
    declares, denies: capabilities that the server claims to have, or to lack, while it shows the fault.
    parameter: the only parameter with which the fault shows, if there is one.
    shows_in: a JSON Schema of the only request bodies in which the fault shows.
    affects: the part of the server in which the fault shows.
    benign: this is not a fault but a variation that every document allows.
    timeout_s: how long an answer may take with the fault; None: the usual time.
    flaky: where the fault shows depends on chance or on concurrent requests.
    origin: who wrote the fault, if it was not the author of the checks (see `reference_server.faults.blind`).
    group: the class of misbehaviour by which faults are counted; of the project's own faults, the topic.
    sources: public reports of the fault, or of servers that show the variation.
    """

    name: str
    line: str
    applies_to: Callable[[Contract], bool]
    wrap_app: Callable[[ASGIApp, Contract], ASGIApp]
    wrap_engine: Callable[[Engine], Engine] = _unchanged
    bugs: tuple[int, ...] = ()
    declares: tuple[str, ...] = ()
    denies: tuple[str, ...] = ()
    parameter: str | None = None
    shows_in: Mapping[str, Any] | None = None
    affects: Affects = "anywhere"
    benign: bool = False
    timeout_s: float | None = None
    flaky: bool = False
    origin: str = ""
    group: str = ""
    sources: tuple[str, ...] = ()


def description_of(function: Callable[..., object]) -> str:
    """Return the docstring of a fault's function as one line. Raises ValueError if it has none."""
    if not function.__doc__:
        raise ValueError(f"{function.__name__} has no docstring: describe what the server does")
    return " ".join(cleandoc(function.__doc__).split())
