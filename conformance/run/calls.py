"""Build the client's call for a step of a scenario, where needed from the answer to an earlier step."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

from conformance.check import NotExercised, NotObserved
from conformance.client.call import Call
from conformance.run.media.media_places import NO_PLACES, MediaPlaces

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from conformance.client.client import Client
    from conformance.exchange import Exchange
    from conformance.scenario import Alteration, Scenario, Step
    from conformance.stop_string import StopFrom
    from openapi.address import Target

JSON_TYPE: Final = "application/json"
WRONG_KEY: Final = "chatproof-wrong-key-0000000000000000"
LONGEST_SENT_BACK: Final = 65_536
"""Characters of an answer, as JSON, that is sent back to the server."""


@dataclass(frozen=True, slots=True)
class ServerUnderTest:
    """The server that a plan is sent to: the client that reaches it, its endpoints, and the model to ask for.

    media: where it finds the media files of the suite.
    """

    client: Client
    target: Target
    model: str
    media: MediaPlaces = NO_PLACES


def build_call(
    server: ServerUnderTest,
    scenario: Scenario,
    step: Step,
    *,
    stop: str | list[str] | None,
    deadline_s: float,
    id_prefix: str,
) -> Call:
    """Build the call of a step. `stop` is the stop string that was cut from the answer to an earlier step."""
    typed = "content-type" in {name.lower() for name in step.headers}
    headers = {"Content-Type": JSON_TYPE} if step.method == "POST" and not typed else {}
    headers.update(step.headers)
    if step.credentials == "wrong":
        headers["Authorization"] = f"Bearer {WRONG_KEY}"
    elif step.credentials == "misplaced":
        headers["Authorization"] = WRONG_KEY
    return Call(
        id=f"{id_prefix}{scenario.id}/{step.name}",
        scenario=scenario.id,
        step=step.name,
        method=step.method,
        url=_url(server, step),
        headers=headers,
        body=server.media.fill(step.payload(server.model, stop)),
        stop_after_events=step.stop_after_events,
        deadline_s=deadline_s,
        with_key=step.credentials not in ("none", "wrong", "misplaced"),
        scheme="bearer" if step.credentials == "lower-case" else "Bearer",
        connection_name=scenario.id if scenario.one_connection else None,
        alteration=key_alteration(step),
    )


def _url(server: ServerUnderTest, step: Step) -> str:
    path = (step.path or "chat").replace("{model}", quote(server.model, safe=""))
    for name, url in (("chat", server.target.chat_url), ("models", server.target.models_url)):
        if path.startswith(name):
            return url + path.removeprefix(name)
    return server.target.base + path


def key_alteration(step: Step) -> Alteration | None:
    """Return how the API key is altered for a step; None if it is sent as it is or not at all."""
    credentials = step.credentials
    return credentials if credentials in ("other-end", "shorter", "longer") else None


def cut_stop(
    scenario: Scenario, stop_from: StopFrom, exchanges: Mapping[tuple[str, str], Exchange]
) -> str | list[str] | None:
    """Cut the stop string of a step from the answer to an earlier step; None if that answer has no such piece."""
    exchange = exchanges.get((scenario.id, stop_from.step))
    if exchange is None:
        return None
    return stop_from.cut_from({index: choice.content for index, choice in exchange.choices.items()})


def explain_no_stop(
    scenario: Scenario, stop_from: StopFrom, exchanges: Mapping[tuple[str, str], Exchange]
) -> NotObserved:
    """Return why no stop string could be cut."""
    exchange = exchanges.get((scenario.id, stop_from.step))
    if exchange is None or not exchange.succeeded:
        return NotObserved(f"step {stop_from.step!r} was not answered")
    return NotExercised(f"the answer to step {stop_from.step!r} is too short to take a stop string from")


def continue_conversation(step: Step, earlier: Exchange | None) -> Step | NotObserved:
    """Return a step with the messages of an earlier exchange and of its answer in front of its own ones.

    A message of the role `tool` without an id is sent for each call of the answer, with its id. If the answer is
    missing, has no calls for such messages, or cannot be sent back, the reason is returned.
    """
    message = _read_message(earlier)
    if earlier is None or message is None:
        return NotObserved(f"step {step.continues!r} was not answered")
    if not _can_be_sent(message):
        return NotExercised(f"the answer to step {step.continues!r} is too long, or nested too deep, to be sent back")
    sent: Any = earlier.request_json
    own = [after for further in (step.body or {}).get("messages", ()) for after in _for_each_call(further, message)]
    if not own:
        return NotExercised(f"the answer to step {step.continues!r} has no call")
    return replace(step, body={**(step.body or {}), "messages": [*sent["messages"], message, *own]})


def _can_be_sent(message: dict[str, Any]) -> bool:
    try:
        return len(json.dumps(message, allow_nan=False)) <= LONGEST_SENT_BACK
    except (ValueError, RecursionError):
        return False


def _read_message(exchange: Exchange | None) -> dict[str, Any] | None:
    """Return the message of the first choice of a plain answer; None if it is missing."""
    if exchange is None or not exchange.succeeded or not isinstance(exchange.json, dict):
        return None
    choices = exchange.json.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    message = first.get("message") if isinstance(first, dict) else None
    return message if isinstance(message, dict) else None


def _for_each_call(further: Mapping[str, Any], answer: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Yield a further message; the result of a tool once for each call of the answer."""
    if further.get("role") != "tool" or "tool_call_id" in further:
        yield further
        return
    calls = answer.get("tool_calls")
    for call in calls if isinstance(calls, list) else ():
        if isinstance(call, dict) and isinstance(call.get("id"), str):
            yield {**further, "tool_call_id": call["id"]}
