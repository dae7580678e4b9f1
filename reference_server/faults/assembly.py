"""Adds faults to an engine and an application when a server is created."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from reference_server.http.app import create_app

if TYPE_CHECKING:
    from collections.abc import Iterable

    from starlette.types import ASGIApp

    from openapi.contract.contract import Contract
    from reference_server.engine import Engine
    from reference_server.faults.fault import Fault
    from reference_server.settings import Settings


def create_faulty_app(contract: Contract, engine: Engine, settings: Settings, faults: Iterable[Fault]) -> ASGIApp:
    """Create the application of a dialect with faults. The first fault is the innermost."""
    chosen = tuple(faults)
    app = create_app(contract, wrap_engine(engine, chosen), settings)
    return wrap_app(app, replace(contract, default_model=settings.model), chosen)


def wrap_engine(engine: Engine, faults: Iterable[Fault]) -> Engine:
    """Add faults to an engine."""
    for fault in faults:
        engine = fault.wrap_engine(engine)
    return engine


def wrap_app(app: ASGIApp, contract: Contract, faults: Iterable[Fault]) -> ASGIApp:
    """Add faults to an application."""
    for fault in faults:
        app = fault.wrap_app(app, contract)
    return app
