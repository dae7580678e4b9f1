"""Start the embedded server for commands of packages that may not import it."""

from __future__ import annotations

from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.run.embedded_server import EmbeddedServer
    from openapi.contract.contract import Contract


class InternalError(click.ClickException):
    """A failure of chatproof itself: the embedded server does not start."""

    exit_code = 5  # as in the suite


@contextmanager
def start_embedded(contract: Contract) -> Iterator[EmbeddedServer]:
    """Start the embedded server for commands of packages that may not import it.

    Only this module imports several packages; the load tests receive this function and use the URL it yields.
    """
    from conformance.errors import HarnessError, UsageError
    from conformance.run.embedded_server import serve

    with ExitStack() as running:
        try:
            server = running.enter_context(serve(contract))
        except HarnessError as error:
            raise (click.UsageError if isinstance(error, UsageError) else InternalError)(str(error)) from error
        yield server
