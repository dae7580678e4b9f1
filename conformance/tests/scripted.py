"""A server of scripted answers, and what a session learns of it before a plan is sent."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from conformance.run.session import RunOptions, prepare_server
from conformance.tests.faulty_proxy import Reply, Sinner

if TYPE_CHECKING:
    from conformance.client.secret import Secret
    from conformance.run.session import PreparedRun
    from conformance.tests.faulty_proxy import Forward, Sent


@dataclass
class Scripted:
    """A server of three answers: its models, its description, and one answer for every chat request."""

    models: Reply = field(default_factory=lambda: Reply(404, (b"{}",)))
    description: Reply = field(default_factory=lambda: Reply(404, (b"{}",)))
    answer: Reply = field(default_factory=lambda: Reply(200, (b"{}",)))
    sent: list[Sent] = field(default_factory=list)

    async def __call__(self, sent: Sent, forward: Forward) -> Reply:
        self.sent.append(sent)
        if sent.path.endswith("/models"):
            return self.models
        return self.description if sent.path.endswith("/openapi.json") else self.answer


def saying(value: Any, status: int = 200) -> Reply:
    """A reply in JSON."""
    return Reply(status, (json.dumps(value).encode(),))


def prepared(script: Scripted, dialect: str = "mindie-2.3", secret: Secret | None = None, **wishes: Any) -> PreparedRun:
    """What is known of such a server before the plan is sent."""
    with Sinner("", script) as server:
        return asyncio.run(prepare_server(RunOptions(url=server.url, dialect=dialect, **wishes), secret))
