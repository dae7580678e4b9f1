"""What the user asks a run for."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from conformance.plan.scenarios.schemathesis_cases import NOTHING, Draw
from conformance.record import BudgetLimits

if TYPE_CHECKING:
    import ssl

    from conformance.client.headers import GatewayHeader
    from conformance.plan.depth import Depth
    from conformance.report.waivers import Waiver


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What the user asked for.

    depth: how much of the plan to send.
    draw: how many generated requests to send in addition.
    capabilities: (name, has it) pairs that override what the server declares.
    also: further dialects to judge the same server by.
    wait_s: how long to wait for a server that is still starting.
    headers: sent with every request, for a gateway in front of the server.
    media_host: address of this machine at which the server can fetch media files from the suite; None: it cannot.
    media_path: folder on the server with the media files of the suite; None: it has none.
    started_s: when the command began, on the monotonic clock; its time limit counts from then.
    key_variable: the environment variable with the API key, for the commands that reports show.
    annotate: the file at which code-scanning pages show the findings.
    """

    url: str
    dialect: str
    model: str | None = None
    only: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    depth: Depth = "standard"
    draw: Draw = NOTHING
    capabilities: tuple[tuple[str, bool], ...] = ()
    strict: bool = False
    budget: BudgetLimits = field(default_factory=BudgetLimits)
    verify: bool | ssl.SSLContext = True
    also: tuple[str, ...] = ()
    waivers: tuple[Waiver, ...] = ()
    wait_s: float = 0.0
    headers: tuple[GatewayHeader, ...] = ()
    media_host: str | None = None
    media_path: str | None = None
    started_s: float = field(default_factory=time.monotonic)
    key_variable: str | None = None
    annotate: str | None = None
