"""Variations in how answers are transferred."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import wrapping_fault
from reference_server.faults.topics.http.coding import code_answers, gzip_coder

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.types import ASGIApp, Receive, Scope, Send

    from openapi.contract.contract import Contract

    App = Callable[[Scope, Receive, Send], Awaitable[None]]


@wrapping_fault("gzip-as-asked", benign=True)
def gzip_as_asked(app: ASGIApp, _contract: Contract) -> App:
    """Answers are compressed if the request accepts gzip."""
    return code_answers(app, gzip_coder)
