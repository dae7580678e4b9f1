"""Edit the status, the headers and the body of a response."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from conformance.errors import HarnessError
from conformance.exchange import Failure, Segment

if TYPE_CHECKING:
    from conformance.exchange import Exchange, Response


def response_of(exchange: Exchange) -> Response:
    """Return the response. Raises HarnessError if it is missing."""
    if exchange.response is None:
        raise HarnessError(f"{exchange.id} has no response to change")
    return exchange.response


def with_status(exchange: Exchange, status: int) -> Exchange:
    """Replace the status."""
    return replace(exchange, response=replace(response_of(exchange), status=status))


def with_header(exchange: Exchange, name: str, value: str | None) -> Exchange:
    """Replace all headers of a name by one; None removes them."""
    response = response_of(exchange)
    kept = tuple(pair for pair in response.headers if pair[0].lower() != name)
    added = () if value is None else ((name, value),)
    return replace(exchange, response=replace(response, headers=(*kept, *added)))


def with_body(exchange: Exchange, body: bytes) -> Exchange:
    """Replace the body, which then arrives at once at the end."""
    response = response_of(exchange)
    return replace(exchange, response=replace(response, segments=(Segment(response.ended_at_s, body),)))


def with_json(exchange: Exchange, value: Any) -> Exchange:
    """Replace the body by JSON."""
    return with_header(with_body(exchange, dump(value)), "content-type", "application/json")


def refuse(exchange: Exchange, status: int = 400) -> Exchange:
    """Replace the response by a refusal in a form that no dialect uses."""
    return with_status(with_json(exchange, {"error": "the request is refused"}), status)


def accept(exchange: Exchange) -> Exchange:
    """Replace the response by an answer."""
    message = {"role": "assistant", "content": "Hello!"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    answer = {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice]}
    return with_status(with_json(exchange, answer), 200)


def cut(exchange: Exchange) -> Exchange:
    """Break the connection before the body is complete."""
    response = replace(response_of(exchange), complete=False)
    return replace(exchange, response=response, failure=Failure("reset", "the server broke the connection"))


def dump(value: Any) -> bytes:
    """Encode JSON as servers do."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def deliver_at_once(exchange: Exchange, at_s: float) -> Exchange:
    """Deliver the whole stream in one read at a time, which is also its end."""
    response = replace(response_of(exchange), segments=(Segment(at_s, exchange.body),), ended_at_s=at_s)
    return replace(exchange, response=response)
