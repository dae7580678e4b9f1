"""A server with scripted answers, and the run that is prepared for it."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance.run.session.options import RunOptions
from conformance.run.session.preparation import prepare_server
from conformance.tests.faulty_proxy import FaultyProxy, Reply

if TYPE_CHECKING:
    from conformance.client.secret import Secret
    from conformance.run.session.preparation import PreparedRun
    from conformance.tests.faulty_proxy import Forward, Sent


@dataclass
class Scripted:
    """A server with three answers: its models, its description, and one answer to every chat request."""

    models: Reply = field(default_factory=lambda: Reply(404, (b"{}",)))
    description: Reply = field(default_factory=lambda: Reply(404, (b"{}",)))
    answer: Reply = field(default_factory=lambda: Reply(200, (b"{}",)))
    sent: list[Sent] = field(default_factory=list)

    async def __call__(self, sent: Sent, forward: Forward) -> Reply:
        self.sent.append(sent)
        if sent.path.endswith("/models"):
            return self.models
        return self.description if sent.path.endswith("/openapi.json") else self.answer


def json_reply(value: Any, status: int = 200) -> Reply:
    """Return a reply with a JSON body."""
    return Reply(status, (json.dumps(value).encode(),))


def prepared(
    script: Scripted, dialect: str = "mindie-2.3", secret: Secret | None = None, **options: Any
) -> PreparedRun:
    """Prepare a run against such a server."""
    with FaultyProxy("", script) as server:
        return asyncio.run(prepare_server(RunOptions(url=server.url, dialect=dialect, **options), secret))
