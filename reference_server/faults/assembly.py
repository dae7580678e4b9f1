"""Assembly: faults put around an engine and an application when a server is made."""

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


def with_faults(contract: Contract, engine: Engine, settings: Settings, faults: Iterable[Fault]) -> ASGIApp:
    """The server of a dialect with faults around its engine and its application, in order from the inside."""
    chosen = tuple(faults)
    app = create_app(contract, behind(engine, chosen), settings)
    return around(app, replace(contract, default_model=settings.model), chosen)


def behind(engine: Engine, faults: Iterable[Fault]) -> Engine:
    """An engine with faults around it."""
    for fault in faults:
        engine = fault.around_engine(engine)
    return engine


def around(app: ASGIApp, contract: Contract, faults: Iterable[Fault]) -> ASGIApp:
    """An application with faults around it."""
    for fault in faults:
        app = fault.around_app(app, contract)
    return app
