"""Preflight: what is asked of a server before anything is judged: whether it is up, which model it serves, how it
describes itself, whether it takes the key, and what it has that nobody told of.

Nothing that comes back here is a finding. A server that cannot be reached, or that refuses the key, ends the run.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from conformance.client.call import Call
from conformance.errors import NobodyThere, Unreachable
from conformance.judge.applicability import refuses_key, shown
from conformance.run.capability_probes import probes, reading
from conformance.scenario import Step
from openapi import waiting

if TYPE_CHECKING:
    from conformance.client.client import Client
    from conformance.exchange import Exchange
    from conformance.plan.capabilities import Declaration
    from openapi.address import Target
    from openapi.contract.contract import Contract

DEADLINE_S: Final = 30.0
CHAT_DEADLINE_S: Final = 120.0


class Preflight:
    """The questions to one server. Each raises Unreachable when there is no answer at all."""

    def __init__(self, client: Client, target: Target, contract: Contract) -> None:
        self._client = client
        self._target = target
        self._contract = contract

    async def wait(self, most_s: float) -> None:
        """Waits until the server answers the question for its models otherwise than with 502, 503 or 504.

        Raises Unreachable when it has not within `most_s` seconds; the last try says why.
        """
        left = waiting.Waiting(most_s)
        while True:
            exchange = await self._asked("models", self._target.models_url, left.deadline_s)
            if exchange.response is not None and exchange.status not in waiting.ABSENT:
                return
            if exchange.failure is not None and exchange.failure.kind == "tls":
                raise Unreachable(exchange.failure.detail)  # waiting mends no certificate
            if left.over:
                why = exchange.failure.detail if exchange.failure is not None else f"it answers {shown(exchange)}"
                raise Unreachable(left.given_up(why))
            await asyncio.sleep(waiting.KNOCK_S)

    async def model(self) -> str:
        """The first model of the list, else the dialect's default: a list is asked for by no document."""
        exchange = await self._get("models", self._target.models_url)
        data = exchange.json.get("data") if isinstance(exchange.json, dict) else None
        for row in data if isinstance(data, list) else ():
            if isinstance(row, dict) and isinstance(row.get("id"), str) and row["id"]:
                return str(row["id"])
        return self._contract.default_model

    async def description(self) -> object:
        """The server's own description, where it has one."""
        return (await self._get("openapi", f"{self._target.base}/openapi.json")).json

    async def greet(self, model: str) -> None:
        """One valid request, to tell a key that is refused from a server that breaks its contract.

        Raises Unreachable for a key that is refused, too.
        """
        step = Step("hello", body={"messages": [{"role": "user", "content": "Hello!"}], "max_tokens": 1})
        exchange = _reached(await self._chat(step, model))
        if exchange.status in (401, 403) or refuses_key(exchange, self._contract):
            raise Unreachable(
                f"the server refuses the key: {shown(exchange)}; name its variable with --api-key-env VAR, and that"
                " of a header which a gateway wants with --header-env NAME=VAR"
            )

    async def probe(self, model: str, declaration: Declaration) -> Declaration:
        """What probes show of the capabilities that nobody spoke of."""
        found = {}
        for name, probe in probes(declaration, self._contract).items():
            has = reading(probe, await self._chat(probe.step(f"probe-{name}"), model))
            if has is None and (insisting := probe.insisting(f"probe-{name}-again")) is not None:
                has = reading(probe, await self._chat(insisting, model)) or None
            if has is not None:
                found[name] = has
        return declaration.probed(found) if found else declaration

    async def _get(self, name: str, url: str) -> Exchange:
        return _reached(await self._asked(name, url, DEADLINE_S))

    async def _asked(self, name: str, url: str, deadline_s: float) -> Exchange:
        return await self._client.send(
            Call(id=name, scenario="preflight", step=name, method="GET", url=url, deadline_s=deadline_s)
        )

    async def _chat(self, step: Step, model: str) -> Exchange:
        return await self._client.send(
            Call(
                id=step.name,
                scenario="preflight",
                step=step.name,
                method="POST",
                url=self._target.chat_url,
                headers={"Content-Type": "application/json"},
                body=step.payload(model),
                deadline_s=CHAT_DEADLINE_S,
            )
        )


def _reached(exchange: Exchange) -> Exchange:
    """The exchange. Raises Unreachable where nothing came back, NobodyThere where nobody took the connection."""
    if exchange.response is None and exchange.failure is not None:
        raise (NobodyThere if exchange.failure.kind == "connect" else Unreachable)(exchange.failure.detail)
    return exchange
