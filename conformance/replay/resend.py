"""Send recorded requests again, and compare the answers."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from difflib import unified_diff
from typing import TYPE_CHECKING, Any, Final

from conformance.client.call import Call
from conformance.client.client import Client
from conformance.client.request_builder import DEFAULT_HEADERS
from conformance.client.secret import alteration_in, is_redacted
from conformance.errors import Unreachable, UsageError
from conformance.exchange import Exchange
from conformance.report.writers.evidence import Reproduction
from conformance.run.calls import WRONG_KEY
from openapi.extra_headers import KEY_HEADER
from openapi.schema.quantity import format_quantity

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable, Sequence

    from conformance.client.headers import GatewayHeader
    from conformance.client.secret import Secret

VOLATILE_HEADERS: Final = ("date", "x-request-id", "x-process-time", "set-cookie", "content-length")
VOLATILE_FIELDS: Final = frozenset(
    (
        "id",
        "created",
        "cached_tokens",
        "batch_size",
        "queue_wait_time",
        "prefill_time",
        "decode_time",
        "decode_time_arr",
    )
)
"""Fields of an answer that differ between any two requests; only their types are compared."""
MAX_LINES: Final = 400
"""Lines of one answer that are compared."""


@dataclass(frozen=True, slots=True)
class AnswerDifference:
    """The lines of a unified diff between two answers; empty if they are equal."""

    lines: tuple[str, ...]


def find_exchange(results: dict[str, Any], identity: str) -> Exchange:
    """Return the exchange with an id, or that of the finding that reports show first, or the first of a scenario.

    Raise UsageError, with some known ids, for an unknown one.
    """
    recorded = {exchange["id"]: exchange for exchange in results["exchanges"]}
    if identity in recorded:
        return Exchange.from_dict(recorded[identity])
    rows = [row for row in results["requirements"] if identity in (row["id"], row["check"])]
    reproduction = Reproduction(results)
    of_findings = [first["exchange"] for row in rows if (first := reproduction.first_finding(row)) is not None]
    if rows and not of_findings:
        raise UsageError(
            f"--id {identity!r}: the run has no finding for this requirement, so there is nothing to repeat"
        )
    of_scenario = [name for name, exchange in recorded.items() if exchange["scenario"] == identity]
    name = next(iter([*of_findings, *of_scenario]), "")
    if name not in recorded:
        similar = [known for known in recorded if identity.partition("/")[0] in known][:5] or list(recorded)[:5]
        raise UsageError(
            f"unknown --id {identity!r}: expected an exchange, scenario or requirement of the run, "
            f"for example {', '.join(similar)}"
        )
    return Exchange.from_dict(recorded[name])


def build_call(exchange: Exchange, *, with_key: bool, deadline_s: float, given: Iterable[GatewayHeader] = ()) -> Call:
    """Return a call that repeats the recorded request byte for byte, with the API key in its original place.

    The client adds the `given` headers. They replace recorded headers of the same name, except for one that holds the
    wrong key of the scenario. Raise UsageError if the request needs a secret that the user has not given, and if a
    secret was redacted from its URL or body, because then the original content is unknown.
    """
    request = exchange.request
    if is_redacted(request.body) or is_redacted(request.url):
        raise UsageError(f"{exchange.id} cannot be sent again: a secret was redacted from its URL or body")
    headers = dict(request.headers)
    replaced = {header.name.lower() for header in given}
    redacted = [name for name, value in headers.items() if is_redacted(value)]
    key_headers = [name for name in redacted if name.lower() == KEY_HEADER]
    if key_headers and not with_key:
        raise UsageError(f"{exchange.id} was sent with an API key: name its variable with --api-key-env VAR")
    for name in redacted:
        if name not in key_headers and name.lower() not in replaced:
            raise UsageError(
                f"{exchange.id} was sent with a secret header {name}: name its variable with --header-env {name}=VAR"
            )
    kept = {
        name: value
        for name, value in headers.items()
        if name.lower() not in ("host", "content-length", "connection")
        and name not in redacted
        and DEFAULT_HEADERS.get(name) != value
        and (name.lower() not in replaced or WRONG_KEY in value)
    }
    disconnected = exchange.failure is not None and exchange.failure.kind == "disconnected-by-us"
    return Call(
        id=exchange.id,
        scenario=exchange.scenario,
        step=exchange.step,
        method=request.method,
        url=request.url,
        headers=kept,
        body=request.body,
        stop_after_events=len(exchange.events) if disconnected else None,
        deadline_s=deadline_s,
        with_key=bool(key_headers) and not any(WRONG_KEY in value for value in kept.values()),
        alteration=next((alteration for name in key_headers if (alteration := alteration_in(headers[name]))), None),
    )


async def send_calls(
    calls: Sequence[Call],
    secret: Secret | None,
    given: tuple[GatewayHeader, ...],
    verify: bool | ssl.SSLContext,
    *,
    together: bool,
) -> list[Exchange]:
    """Send the calls one after another, or all at the same time if `together`.

    Raise Unreachable if the server cannot be reached.
    """
    async with Client(calls[0].url, secret, headers=given, verify=verify) as client:
        if together:
            exchanges = await asyncio.gather(*map(client.send, calls))
        else:
            exchanges = [await _send(client, call) for call in calls]
    for exchange in exchanges:
        _require_connection(exchange)
    return exchanges


async def _send(client: Client, call: Call) -> Exchange:
    exchange = await client.send(call)
    _require_connection(exchange)
    return exchange


def _require_connection(exchange: Exchange) -> None:
    failure = exchange.failure
    if exchange.response is None and failure is not None and failure.kind in ("connect", "tls"):
        raise Unreachable(failure.detail)


def compare_answers(before: Exchange, after: Exchange) -> AnswerDifference:
    """Compare the status, the headers and the body of two answers, except for volatile headers and fields."""
    lines = unified_diff(list(_lines(before)), list(_lines(after)), "then", "now", lineterm="", n=2)
    return AnswerDifference(tuple(lines))


def _lines(exchange: Exchange) -> Iterable[str]:
    """Yield an answer as lines that can be compared."""
    if exchange.failure is not None:
        yield f"failure: {exchange.failure.kind}"
    if exchange.response is None:
        return
    yield f"status: {exchange.response.status}"
    headers = ((name.lower(), value) for name, value in exchange.response.headers)
    yield from sorted(f"{name}: {value}" for name, value in headers if name not in VOLATILE_HEADERS)
    if exchange.is_stream:
        lines = [line for event in exchange.events for line in ("", *_pretty_print(event.data))]
    else:
        lines = ["", *_pretty_print(exchange.text)]
    yield from lines[:MAX_LINES]
    if len(lines) > MAX_LINES:
        yield f"({format_quantity(len(lines) - MAX_LINES, 'more line')})"


def _pretty_print(text: str) -> list[str]:
    try:
        return json.dumps(_mask_volatile(json.loads(text)), indent=1, ensure_ascii=False).splitlines()
    except (ValueError, RecursionError):
        return text.splitlines() or [""]


def _mask_volatile(value: Any) -> Any:
    """Return a JSON value with its volatile fields replaced by their types."""
    if isinstance(value, dict):
        return {
            name: _type_of(field) if name in VOLATILE_FIELDS else _mask_volatile(field) for name, field in value.items()
        }
    return [_mask_volatile(item) for item in value] if isinstance(value, list) else value


def _type_of(value: Any) -> Any:
    if isinstance(value, str) and value:
        return "(text)"
    if isinstance(value, int | float) and not isinstance(value, bool):
        return "(number)"
    return [_type_of(item) for item in value] if isinstance(value, list) else value
