"""The requests that are sent before a plan: for the model, the description, a chat completion and the capabilities.

Answers to these requests are never findings. A server that cannot be reached, that refuses the API key or the model, or
that has no chat-completions endpoint ends the run. The list of models and the description are optional: a server that
answers them slowly or wrongly is judged without them.
"""

from __future__ import annotations

import asyncio
import math
import time
from typing import TYPE_CHECKING, Final

from conformance.client.call import Call
from conformance.errors import ServerNotListening, Unreachable
from conformance.judge.acceptance import is_completion, is_refused_somehow, reports_key_error
from conformance.judge.applicability import summarize
from conformance.plan.expected_time import AnswerPace
from conformance.record import BudgetLimits, Spent
from conformance.run.budget import count_tokens
from conformance.run.capability_probes import (
    conditional_step,
    evaluate,
    group_conditional,
    is_refused_by_name,
    select_probes,
)
from conformance.run.wrong_target import explain, is_suspicious, suggest_https
from conformance.scenario import Step
from openapi import waiting
from openapi.server_values import read_name

if TYPE_CHECKING:
    from conformance.client.untimed_client import UntimedClient
    from conformance.exchange import Exchange
    from conformance.plan.capabilities import DeclaredCapabilities
    from openapi.address import Target
    from openapi.contract.contract import Contract

OPTIONAL_S: Final = 5.0
"""Longest wait for an answer that the run does not need."""
CHAT_S: Final = 120.0
"""Longest wait for an answer to a chat request."""
PACE_TOKENS: Final = 16
"""The tokens of an answer from which the time of one is measured."""
PACE_S: Final = 10.0
"""Longest wait for this answer."""
PACE_PROMPT: Final = "Count from one to twenty in words."
SHORTEST_S: Final = 0.1
"""The shortest time limit that a request is given."""
SERVER_ERROR: Final = 500
NO_LIMITS: Final = BudgetLimits()


class Preflight:
    """Sends the first requests to a server. Each method raises Unreachable if the server cannot be reached.

    `timeout_s` limits each request, `until_s` all of them: a time of the monotonic clock. Chat requests count against
    the `limits` on requests and tokens, and `spent` states what they cost; probes beyond the limits are not sent. The
    requests for the list of models and the description cost nothing. `failed` states whether the valid chat request was
    answered with a status of 5xx.
    """

    def __init__(
        self,
        client: UntimedClient,
        target: Target,
        contract: Contract,
        *,
        timeout_s: float = math.inf,
        until_s: float = math.inf,
        limits: BudgetLimits = NO_LIMITS,
    ) -> None:
        self.spent = Spent()
        self.pace: AnswerPace | None = None
        self.failed = False
        self._limits = limits
        self._client = client
        self._target = target
        self._contract = contract
        self._timeout_s = timeout_s
        self._until_s = until_s

    @property
    def _is_late(self) -> bool:
        return time.monotonic() >= self._until_s

    @property
    def _is_over(self) -> bool:
        """Whether the limits allow no further chat request."""
        requests, tokens = self._limits.max_requests, self._limits.max_tokens
        return (
            self._is_late
            or (requests is not None and self.spent.requests >= requests)
            or (tokens is not None and self.spent.tokens >= tokens)
        )

    async def wait(self, limit_s: float) -> None:
        """Wait until the server answers a request for its models with a status other than 502, 503 and 504.

        Raises Unreachable with the result of the last attempt after `limit_s` seconds.
        """
        startup = waiting.StartupWait(limit_s)
        while True:
            exchange = await self._get("models", self._target.models_url, startup.attempt_timeout_s)
            if exchange.response is not None and exchange.status not in waiting.NOT_READY_STATUSES:
                return
            if exchange.failure is not None and exchange.failure.kind == "tls":
                raise Unreachable(exchange.failure.detail)  # waiting does not help against an invalid certificate
            if startup.expired or self._is_late:
                failure = exchange.failure
                result = f"it answers {summarize(exchange)}" if failure is None else failure.detail
                raise Unreachable(startup.timeout_message(result))
            await asyncio.sleep(waiting.RETRY_INTERVAL_S)

    async def find_model(self) -> str:
        """Return the first model of the list, else the dialect's default: no document requires a list of models."""
        return next(iter(await self._list_models()), self._contract.default_model)

    async def _list_models(self) -> list[str]:
        exchange = _require_connection(await self._get("models", self._target.models_url))
        data = exchange.json.get("data") if isinstance(exchange.json, dict) else None
        rows = [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []
        return [name for row in rows if (name := read_name(row.get("id"))) is not None]

    async def fetch_description(self) -> object:
        """Return the server's own OpenAPI description as JSON, or `NOT_JSON`."""
        return _require_connection(await self._get("openapi", f"{self._target.base}/openapi.json")).json

    async def check_chat(self, model: str, *, named: bool) -> bool:
        """Send one valid chat request, and return whether it was answered with a completion.

        Raises Unreachable also if the API key or the model is refused, and if the URL is not that of a chat endpoint.
        These are mistakes in the settings; whatever else is wrong with the answer, the server is judged.
        `named` says whether the user named the model.
        """
        step = Step("hello", body={"messages": [{"role": "user", "content": "Hello!"}], **self._limit_tokens(1)})
        exchange = _require_connection(await self._chat(step, model))
        self.pace = None if exchange.response is None else AnswerPace(exchange.response.ended_at_s)
        self.failed = exchange.status is not None and exchange.status >= SERVER_ERROR
        if exchange.response is None and exchange.failure is not None:
            if exchange.failure.kind == "timeout" and self._is_late:
                return False  # the run ends with its budget before it sends anything
            hint = suggest_https(self._target) if exchange.failure.kind in ("reset", "protocol") else ""
            raise Unreachable(f"POST {self._target.chat_url}: {exchange.failure.detail}{hint}")
        if exchange.status in (401, 403) or reports_key_error(exchange, self._contract):
            raise Unreachable(
                f"the server refuses the API key: {summarize(exchange)}; pass the key with --api-key-env VAR, and a"
                " header that a gateway needs with --header-env NAME=VAR"
            )
        if is_suspicious(exchange):
            listed = await self._list_models()
            if reason := explain(exchange, self._target, model, listed, named=named):
                raise Unreachable(reason)
        return is_completion(exchange)

    async def measure_pace(self, model: str) -> None:
        """Send a request for a few tokens, which shows how long one of them takes. It stays unknown on a failure."""
        fields = self._limit_tokens(PACE_TOKENS)
        if self.pace is None or self._is_over or not fields:
            return
        step = Step("pace", body={"messages": [{"role": "user", "content": PACE_PROMPT}], **fields})
        exchange = await self._chat(step, model, PACE_S)
        tokens = exchange.usage.get("completion_tokens") if exchange.usage else None
        if exchange.response is not None and is_completion(exchange) and isinstance(tokens, int):
            self.pace = AnswerPace.measured(self.pace.answer_s, exchange.response.ended_at_s, min(tokens, PACE_TOKENS))

    def _limit_tokens(self, number: int) -> dict[str, int]:
        """Return the field that limits an answer to this number of tokens, or to the least that the contract allows."""
        names = (name for name in ("max_tokens", "max_completion_tokens") if name in self._contract.parameters)
        return {
            name: max(number, int(self._contract.parameters[name].schema.get("minimum", 1))) for name in [*names][:1]
        }

    async def probe(self, model: str, capabilities: DeclaredCapabilities) -> DeclaredCapabilities:
        """Probe the capabilities whose status is unknown, and those that the document takes away under a condition."""
        results, refusals = {}, {}
        for name, probe in select_probes(capabilities, self._contract).items():
            if self._is_over:
                break
            exchange = await self._chat(probe.step(f"probe-{name}"), model)
            has = evaluate(probe, exchange)
            if has is None and not self._is_over and (forced := probe.forced_step(f"probe-{name}-again")) is not None:
                has = evaluate(probe, await self._chat(forced, model)) or None
            if has is not None:
                results[name] = has
            if has is False:
                refusals[name] = summarize(exchange)
        known = capabilities.with_probe_results(self._contract, results, refusals) if results else capabilities
        refused = [
            name for group in group_conditional(known, self._contract) for name in await self._refused(group, model)
        ]
        return known.with_refusals(self._contract, refused) if refused else known

    async def _refused(self, names: tuple[str, ...], model: str) -> list[str]:
        """Return those of these capabilities that the server refuses by name."""
        if self._is_over:
            return []
        exchange = await self._chat(conditional_step(names, self._contract), model)
        if len(names) == 1:
            return [name for name in names if is_refused_by_name(exchange, name, self._contract)]
        if not is_refused_somehow(exchange):
            return []
        return [refused for name in names for refused in await self._refused((name,), model)]

    def _limit(self, deadline_s: float) -> float:
        """Return the time limit of a request, within those of all requests."""
        return max(SHORTEST_S, min(deadline_s, self._timeout_s, self._until_s - time.monotonic()))

    async def _get(self, name: str, url: str, deadline_s: float = OPTIONAL_S) -> Exchange:
        limit_s = self._limit(deadline_s)
        return await self._client.send(
            Call(id=name, scenario="preflight", step=name, method="GET", url=url, deadline_s=limit_s)
        )

    async def _chat(self, step: Step, model: str, limit_s: float = CHAT_S) -> Exchange:
        exchange = await self._client.send(
            Call(
                id=step.name,
                scenario="preflight",
                step=step.name,
                method="POST",
                url=self._target.chat_url,
                headers={"Content-Type": "application/json"},
                body=step.payload(model),
                deadline_s=self._limit(limit_s),
            )
        )
        spent = self.spent
        self.spent = Spent(spent.requests + 1, spent.tokens + count_tokens(exchange, step.tokens))
        return exchange


def _require_connection(exchange: Exchange) -> Exchange:
    """Return the exchange. Raises ServerNotListening without a connection, Unreachable without TLS."""
    if exchange.response is None and exchange.failure is not None and exchange.failure.kind in ("connect", "tls"):
        raise (ServerNotListening if exchange.failure.kind == "connect" else Unreachable)(exchange.failure.detail)
    return exchange
