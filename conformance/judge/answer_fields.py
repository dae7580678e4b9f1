"""TODO."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from conformance.check import Context, Finding, NoOccasion, NotObserved

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conformance.exchange import Exchange

CLOCK_SKEW = timedelta(hours=1)  # clocks of servers are wrong, but not by more

KNOWN = ("stop", "length", "tool_calls")


def envelope(exchange: Exchange) -> dict[str, Any]:
    """The answer's object; raises NotObserved when the body is none."""
    if not isinstance(exchange.json, dict):
        raise NotObserved("the body is no JSON object")
    return exchange.json


def created_faults(where: str, found: object, exchange: Exchange) -> Iterator[Finding]:
    """A finding when `found` is not the time of the exchange in whole seconds, an hour more or less."""
    sent = datetime.fromisoformat(exchange.started_at)
    low, high = (int((sent + sign * CLOCK_SKEW).timestamp()) for sign in (-1, 1))
    if isinstance(found, bool) or not isinstance(found, int) or not low <= found <= high:
        yield Finding(where, f"seconds between {low} and {high}", repr(found))


def choices_of(exchange: Exchange) -> list[dict[str, Any]]:
    """The choices of a plain answer that are objects; raises NotObserved when there are none."""
    choices = exchange.json.get("choices") if isinstance(exchange.json, dict) else None
    found = [choice for choice in choices if isinstance(choice, dict)] if isinstance(choices, list) else []
    if not found:
        raise NotObserved("the answer has no choices")
    return found


def asked_choices(exchange: Exchange, context: Context) -> Any:
    """How many choices a request asks for. Raises NoOccasion where best_of may change that: it is noted, not judged."""
    sent: Any = exchange.request_json
    if (told_choices(exchange, context) or 1) != (sent.get("n") or 1):
        raise NoOccasion("how many choices best_of brings is noted and not judged")
    return sent.get("n")


def told_choices(exchange: Exchange, context: Context) -> Any:
    """As many as `n`, or as best_of where the document returns all of them unless a beam search is on."""
    sent: Any = exchange.request_json
    best_of = sent.get("best_of")
    returns_all = context.contract.answer.best_of == "all" and not sent.get("use_beam_search")
    return best_of if returns_all and best_of is not None else sent.get("n")


def of_the_prompt(exchange: Exchange, name: str) -> Any:
    """What an answer tells of its prompt under this name; a stream does so in one of its chunks. None: nothing."""
    chunks = [chunk for _, chunk in exchange.walk.chunks] if exchange.is_stream else [exchange.json]
    return next((chunk[name] for chunk in chunks if chunk.get(name) is not None), None)
