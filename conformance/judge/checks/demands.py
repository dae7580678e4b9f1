"""Demands: requests that cannot be answered for what they lack, or for members that exclude each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, check
from conformance.judge.acceptance import refused
from conformance.judge.applicability import scenario, shown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange

SCENARIO = "demands-of-a-request"


@check("demands.messages", on=scenario(SCENARIO, "no-messages"))
def request_without_messages_is_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request without messages is refused as the client's fault."""
    yield from _refusal(exchange)


@check("demands.tokens-in-order", on=scenario(SCENARIO, "tokens-out-of-order"))
def more_tokens_than_are_allowed_are_refused(exchange: Exchange, _: Context) -> Iterator[Finding]:
    """A request for at least more tokens than it allows at most is refused as the client's fault."""
    yield from _refusal(exchange)


def _refusal(exchange: Exchange) -> Iterator[Finding]:
    if not refused(exchange):
        yield Finding("/status", "400 to 499", shown(exchange))
