"""Faults in which a change that must not matter changes the answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from reference_server.faults.decorators import around, at_seams, demands, fault, knows, sampled
from reference_server.faults.fault_middleware import Faulty
from reference_server.faults.hooks import Seams
from reference_server.faults.request_edits import null_as, text_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from starlette.types import ASGIApp

    from openapi.contract.contract import Contract
    from reference_server.engine import SamplingParams
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, Told


@around("last-instructions-kept", bugs=[21], restless=True, shows="requests")
def last_instructions_are_kept(app: ASGIApp, contract: Contract) -> ASGIApp:
    """A conversation without instructions gets those of the request before."""
    kept: list[Json] = []

    def keep(told: Told) -> None:
        messages = told.sent.get("messages")
        if isinstance(messages, list) and messages and isinstance(messages[0], dict):
            last = kept[:]
            kept[:] = [message for message in messages[:1] if message.get("role") == "system"]
            if not kept:
                messages[:0] = last

    return Faulty(app, contract, Seams(request=keep))


null_temperature_is_zero = at_seams(
    "null-temperature-is-zero", "A temperature of null is 0.", request=null_as("temperature", 0),
    fits=demands("relations.null-as-left-out"),
)  # fmt: skip


def _misread_when_streaming(told: Told) -> None:
    if told.sent.get("stream") is True:
        for message in text_messages(told):
            message["content"] = message["content"].encode("utf-8").decode("latin-1")


streamed_prompts_misread = at_seams(
    "streamed-prompts-misread",
    "Requests for streams are read as Latin-1, those for plain answers as UTF-8.",
    request=_misread_when_streaming,
)


@sampled("end-missed-with-room")
def end_missed_with_room(params: SamplingParams) -> SamplingParams:
    """With room for more than 50 tokens an answer goes on past its end."""
    return replace(params, ignore_eos=True) if (params.max_tokens or 0) > 50 else params


def _mis_escaped(told: Told) -> None:
    if b"\\u" in told.body:
        for message in told.sent.get("messages") or ():
            if isinstance(message, dict) and isinstance(message.get("content"), str):
                message["content"] = message["content"].encode("ascii", "ignore").decode() + "?"


def _by_order(told: Told) -> None:
    if next(iter(told.sent), "") != "model" and "max_tokens" in told.sent and isinstance(told.sent["max_tokens"], int):
        _shorter(told)


def _by_space(told: Told) -> None:
    if told.body.startswith(b"{\n") and isinstance(told.sent.get("max_tokens"), int):
        _shorter(told)


escapes_misread = at_seams(
    "escapes-misread", "Characters that are escaped in the request are lost.", request=_mis_escaped
)
order_matters = at_seams("order-matters", "Answers are shorter where the model is not named first.", request=_by_order)
space_matters = at_seams(
    "space-matters", "Answers are shorter where the request's JSON is indented.", request=_by_space
)


@fault("cut-loses-character", "answer", bugs=[16])
def cut_loses_a_character(answer: Json, _told: Told) -> None:
    """An answer that the limit cut lacks its first character."""
    for choice in answer["choices"]:
        if choice["finish_reason"] == "length":
            choice["message"]["content"] = (choice["message"]["content"] or "")[1:]


@fault("stream-cut-mid-character", "chunk", bugs=[13])
def stream_is_cut_in_a_character(chunk: Json, told: Told) -> None:
    """A stream that the limit cut ends with half a character."""
    for choice in chunk["choices"]:
        if choice["finish_reason"] == "length" and (told.sent.get("n") or 1) == 1:
            choice["delta"]["content"] = (choice["delta"].get("content") or "") + "\ufffd"


def _shorter(told: Told) -> None:
    limit = told.sent.get("max_tokens")
    if isinstance(limit, int) and limit > 2:
        told.sent["max_tokens"] = 2


def shortened_by(name: str, hit: Callable[[Json], bool], line: str, **options: Any) -> Fault:
    """A fault that shows in shorter answers to requests that are hit."""
    return at_seams(name, line, request=lambda told: _shorter(told) if hit(told.sent) else None, **options)


def _knows_more(told: Told) -> None:
    if set(told.sent) - set(told.contract.parameters):
        _shorter(told)


defaults_matter = shortened_by(
    "defaults-matter",
    lambda sent: any(sent.get(name) is not None for name in ("top_p", "presence_penalty", "frequency_penalty", "n")),
    "Answers are shorter where a default is sent.",
)
logprobs_matter = shortened_by(
    "logprobs-matter",
    lambda sent: bool(sent.get("logprobs")),
    "Answers with log-probabilities are shorter.",
    fits=knows("logprobs"),
)
one_choice_matters = shortened_by(
    "one-choice-matters", lambda sent: sent.get("n") == 1, "Answers are shorter where one choice is asked for.",
    fits=knows("n"),
)  # fmt: skip
empty_tools_matter = shortened_by(
    "empty-tools-matter", lambda sent: sent.get("tools") == [], "Answers are shorter beside an empty list of tools.",
    fits=knows("tools"),
)  # fmt: skip
strangers_matter = at_seams("strangers-matter", "A member that nobody knows changes the answer.", request=_knows_more)


def _seeded_hot(told: Told) -> None:
    if told.sent.get("temperature") == 0 and told.sent.get("seed") is not None:
        told.sent["temperature"] = 1.9


seed_heats = at_seams(
    "seed-heats", "A seed makes a greedy answer a sampled one.", request=_seeded_hot, fits=knows("seed"), bugs=[106]
)


@fault("thirtieth-event-twice", "event", bugs=[14])
def thirtieth_event_comes_twice(frame: bytes, told: Told) -> Iterator[bytes]:
    """The thirtieth event of a stream comes twice."""
    yield frame
    if told.at == 30 and b'"finish_reason":null' in frame:
        yield frame
