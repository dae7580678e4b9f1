"""Runs of plans whose requests are answered by a function instead of a server."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

from conformance.exchange import Exchange, Request, Response, Segment
from conformance.plan.plan import Plan
from conformance.record import BudgetLimits, Record
from conformance.run.calls import ServerUnderTest
from conformance.run.run import Run
from conformance.scenario import Scenario, Step
from openapi.address import parse
from openapi.contract.contract import load

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.client.call import Call
    from conformance.client.client import Client

TARGET = parse("http://h", "/v1/chat/completions", "/v1/models")


def answered(call: Call, status: int = 200, text: str = "Hello!", **headers: str) -> Exchange:
    """Return a plain answer to a call."""
    body = b'{"choices":[{"index":0,"message":{"content":"%b"},"finish_reason":"stop"}]}' % text.encode()
    pairs = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    response = Response(status, "", "HTTP/1.1", pairs, (Segment(0.1, body),), 0.1, 0.1, complete=True)
    request = Request(call.method, call.url, tuple(call.headers.items()), call.body)
    return Exchange(call.id, call.scenario, call.step, request, response, None, "2026-11-20T00:00:00+00:00")


class ScriptedClient:
    """Replaces the client: answers by a function, and records the calls and the most that ran at the same time."""

    def __init__(self, answer: Callable[[Call], Exchange] = answered) -> None:
        self.calls: list[Call] = []
        self.most_at_once = 0
        self._answer = answer
        self._open = 0

    async def send(self, call: Call) -> Exchange:
        self.calls.append(call)
        self._open += 1
        self.most_at_once = max(self.most_at_once, self._open)
        for _ in range(5):  # so that others can start meanwhile
            await asyncio.sleep(0)
        self._open -= 1
        return self._answer(call)

    def ids(self) -> list[str]:
        """Return the ids of the calls, in order."""
        return [call.id for call in self.calls]


def scenario(name: str, *steps: Step, **options: Any) -> Scenario:
    """Return a scenario with these steps. options: fields of `Scenario`."""
    return Scenario(name, "", steps or (Step(body={}),), **options)


def make_run(
    client: ScriptedClient,
    *scenarios: Scenario,
    on_progress: Callable[[Record], None] = lambda _: None,
    **limits: Any,
) -> Run:
    """Make a run of these scenarios."""
    plan = Plan(load("mindie-2.3"), scenarios, (), ())
    server = ServerUnderTest(cast("Client", client), TARGET, "m")
    return Run(plan, server, BudgetLimits(**limits), on_progress=on_progress)


def execute(client: ScriptedClient, *scenarios: Scenario, **budget: Any) -> Record:
    """Run a plan of these scenarios."""
    return asyncio.run(make_run(client, *scenarios, **budget).execute())
