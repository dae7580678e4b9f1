"""Checks of requests that cannot be answered: a required field is missing, or two fields contradict each other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Context, Finding, check
from conformance.judge.acceptance import is_refused
from conformance.judge.applicability import in_scenario, summarize

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange

SCENARIO = "demands-of-a-request"


@check("demands.messages", on=in_scenario(SCENARIO, "no-messages"))
def request_without_messages_is_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A request without messages is refused as a client error."""
    yield from _refusal(exchange, context)


@check("demands.tokens-in-order", on=in_scenario(SCENARIO, "tokens-out-of-order"))
def more_tokens_than_are_allowed_are_refused(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """A request whose minimum number of tokens is above its maximum is refused as a client error."""
    yield from _refusal(exchange, context)


def _refusal(exchange: Exchange, context: Context) -> Iterator[Finding]:
    """Yield a finding unless the request is refused."""
    if not is_refused(exchange, context.contract):
        yield Finding("/status", "400 to 499", summarize(exchange))
