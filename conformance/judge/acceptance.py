"""Tell whether a server accepted or refused a request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.check import Applicability, NotExercised, NotObserved
from conformance.judge.applicability import REFUSAL, summarize
from openapi.stream.event_order import reports_error

if TYPE_CHECKING:
    from conformance.exchange import Exchange
    from openapi.contract.contract import Contract


def status_of(exchange: Exchange) -> int:
    """Return the status of the response. Raises NotObserved without a response."""
    if exchange.status is None:
        raise NotObserved(summarize(exchange))
    return exchange.status


def is_accepted(exchange: Exchange) -> bool:
    """Tell whether the server accepted the request: a status of 2xx, and no error in place of the answer.

    A stream that began and then broke off counts as accepted: other checks judge how it continued.
    """
    if exchange.status is None or not 200 <= exchange.status < 300:
        return False
    if exchange.is_stream:
        return not _is_error_stream(exchange)
    return not reports_error(exchange.json)


def is_refused(exchange: Exchange, contract: Contract) -> bool:
    """Tell whether the server refused the request as a client error: a status of 4xx.

    A status of 2xx counts only in the form that some documents allow: an answer without text, with an `err_msg`.
    """
    if exchange.status is None:
        return False
    allowed = contract.errors.in_answers and 200 <= exchange.status < 300 and _has_message_in_place_of_text(exchange)
    return allowed or 400 <= exchange.status < 500


def is_refused_somehow(exchange: Exchange) -> bool:
    """Tell whether the server refused the request in any form: 4xx, or 2xx with an error in the body."""
    if exchange.status is None:
        return False
    if 200 <= exchange.status < 300:
        return _is_error_stream(exchange) if exchange.is_stream else reports_error(exchange.json)
    return 400 <= exchange.status < 500


def why_not_refused_somehow(exchange: Exchange) -> str | None:
    """Return why the exchange holds no refusal in any form, or None if it holds one."""
    refused = is_refused_somehow(exchange) or (exchange.status is not None and exchange.status >= 400)
    return None if refused else f"{exchange.id} was not refused ({summarize(exchange)})"


def require_error_status(exchange: Exchange, contract: Contract) -> None:
    """Raise NotObserved for a refusal in an answer; NotExercised if the document allows it."""
    if exchange.status is not None and exchange.status < 400:
        reason = f"{exchange.id} was refused without an error status ({summarize(exchange)})"
        raise NotExercised(reason) if is_refused(exchange, contract) else NotObserved(reason)


REFUSED_SOMEHOW = Applicability(REFUSAL.applies_to, why_not_refused_somehow)
"""Requests that the server refused with an error status, or with an error in place of an answer."""
REFUSED = "a status of 4xx"
"""What `is_refused` demands, for findings."""


def _has_message_in_place_of_text(exchange: Exchange) -> bool:
    """Tell whether an answer has an `err_msg` and no text."""
    bodies = [chunk for _at, chunk in exchange.walk.errors] if exchange.is_stream else [exchange.json]
    said = any(isinstance(body, dict) and bool(body.get("err_msg")) for body in bodies)
    return said and not any(choice.content or choice.tool_calls for choice in exchange.choices.values())


def _is_error_stream(exchange: Exchange) -> bool:
    """Tell whether a stream consists of an error in place of an answer."""
    walk = exchange.walk
    return bool(walk.errors) and not any(choice.content or choice.tool_calls for choice in walk.choices.values())


def is_completion(exchange: Exchange) -> bool:
    """Tell whether the response is a complete chat completion, plain or streamed, with a choice at least."""
    return exchange.succeeded and bool(exchange.choices)


def key_error_codes(contract: Contract) -> set[int | str | None]:
    """Return the dialect's codes for a missing or wrong key; None if one of them has no code."""
    rows = (contract.errors.kinds.get(kind) for kind in ("unauthorized", "invalid_key"))
    return {row.code for row in rows if row is not None}


def reports_key_error(exchange: Exchange, contract: Contract) -> bool:
    """Tell whether the body carries one of the dialect's codes for a missing or wrong key, wherever its envelope is."""
    body = exchange.json
    inner = body.get("error") if isinstance(body, dict) else None
    found = [part.get("code") for part in (body, inner) if isinstance(part, dict)]
    return any(code in key_error_codes(contract) for code in found if isinstance(code, int | str))
