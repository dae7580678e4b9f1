"""Faults in which a change that must not matter changes the answer."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

from reference_server.faults.decorators import (
    choices_of,
    fault,
    has_parameters,
    hooked_fault,
    message_of,
    requires_check,
    sampling_fault,
)
from reference_server.faults.request_edits import null_as, text_messages

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from reference_server.engine import SamplingParams
    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import Json, ServedRequest


VERY_LONG: Final = 3_000  # characters
BEYOND: Final = 12_000  # characters

null_temperature_is_zero = hooked_fault(
    "null-temperature-is-zero",
    "A temperature of null is treated as 0.",
    request=null_as("temperature", 0),
    applies_to=requires_check("relations.null-as-left-out"),
)


def _misread_when_streaming(request: ServedRequest) -> None:
    if request.payload.get("stream") is True:
        for message in text_messages(request):
            message["content"] = message["content"].encode("utf-8").decode("latin-1")


streamed_prompts_misread = hooked_fault(
    "streamed-prompts-misread",
    "Requests for streams are decoded as Latin-1, other requests as UTF-8.",
    request=_misread_when_streaming,
)


@sampling_fault("end-missed-with-room")
def end_missed_with_room(params: SamplingParams) -> SamplingParams:
    """With max_tokens above 50 an answer continues past its end."""
    return replace(params, ignore_eos=True) if (params.max_tokens or 0) > 50 else params


def _mis_escaped(request: ServedRequest) -> None:
    if b"\\u" in request.body:
        for message in request.payload.get("messages") or ():
            if isinstance(message, dict) and isinstance(message.get("content"), str):
                message["content"] = message["content"].encode("ascii", "ignore").decode() + "?"


def _by_order(request: ServedRequest) -> None:
    if (
        next(iter(request.payload), "") != "model"
        and "max_tokens" in request.payload
        and isinstance(request.payload["max_tokens"], int)
    ):
        _shorter(request)


def _by_space(request: ServedRequest) -> None:
    if request.body.startswith(b"{\n") and isinstance(request.payload.get("max_tokens"), int):
        _shorter(request)


escapes_misread = hooked_fault("escapes-misread", "Escaped characters in the request are lost.", request=_mis_escaped)

order_matters = hooked_fault(
    "order-matters", "Answers are shorter if the model is not the first field.", request=_by_order
)

space_matters = hooked_fault(
    "space-matters", "Answers are shorter if the request's JSON is indented.", request=_by_space
)


@fault("cut-loses-character", "answer", bugs=[16])
def cut_loses_a_character(answer: Json, _request: ServedRequest) -> None:
    """An answer cut by max_tokens lacks its first character."""
    for choice in answer["choices"]:
        if choice["finish_reason"] == "length":
            choice["message"]["content"] = (choice["message"]["content"] or "")[1:]


@fault("stream-cut-mid-character", "chunk", bugs=[13])
def stream_is_cut_in_a_character(chunk: Json, request: ServedRequest) -> None:
    """A stream cut by max_tokens ends with half a character."""
    for choice in chunk["choices"]:
        if choice["finish_reason"] == "length" and (request.payload.get("n") or 1) == 1:
            choice["delta"]["content"] = (choice["delta"].get("content") or "") + "\ufffd"


def _shorter(request: ServedRequest) -> None:
    limit = request.payload.get("max_tokens")
    if isinstance(limit, int) and limit > 2:
        request.payload["max_tokens"] = 2


def shortened_by(name: str, hit: Callable[[Json], bool], line: str, **options: Any) -> Fault:
    """Make a fault that shortens the answers to some requests."""
    return hooked_fault(
        name, line, request=lambda request: _shorter(request) if hit(request.payload) else None, **options
    )


def _knows_more(request: ServedRequest) -> None:
    if set(request.payload) - set(request.contract.parameters):
        _shorter(request)


defaults_matter = shortened_by(
    "defaults-matter",
    lambda sent: any(sent.get(name) is not None for name in ("top_p", "presence_penalty", "frequency_penalty", "n")),
    "Answers are shorter if a default value is sent.",
)

logprobs_matter = shortened_by(
    "logprobs-matter",
    lambda sent: bool(sent.get("logprobs")),
    "Answers with log-probabilities are shorter.",
    applies_to=has_parameters("logprobs"),
)

one_choice_matters = shortened_by(
    "one-choice-matters",
    lambda sent: sent.get("n") == 1,
    "Answers are shorter if `n` is 1.",
    applies_to=has_parameters("n"),
)

empty_tools_matter = shortened_by(
    "empty-tools-matter",
    lambda sent: sent.get("tools") == [],
    "Answers are shorter if the list of tools is empty.",
    applies_to=has_parameters("tools"),
)

strangers_matter = hooked_fault("strangers-matter", "An unknown field changes the answer.", request=_knows_more)


def _seeded_hot(request: ServedRequest) -> None:
    if request.payload.get("temperature") == 0 and request.payload.get("seed") is not None:
        request.payload["temperature"] = 1.9


seed_heats = hooked_fault(
    "seed-heats",
    "A seed makes a greedy answer random.",
    request=_seeded_hot,
    applies_to=has_parameters("seed"),
    bugs=[106],
)


@fault("thirtieth-event-twice", "event", bugs=[14])
def thirtieth_event_comes_twice(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """The thirtieth event of a stream is sent twice."""
    yield frame
    if request.event_index == 30 and b'"finish_reason":null' in frame:
        yield frame


def _beside_seed(request: ServedRequest) -> None:
    if request.payload.get("stream") and request.payload.get("top_p") is not None:
        request.payload.pop("seed", None)
        request.payload.pop("temperature", None)


pairs_confused = hooked_fault(
    "top-p-drops-seed-in-streams",
    "A stream with `top_p` ignores `seed` and `temperature`.",
    request=_beside_seed,
    applies_to=has_parameters("top_p", "seed"),
)


def _empty(response: Json) -> None:
    """Remove the text of every choice."""
    for choice in choices_of(response):
        if message_of(choice).get("content"):
            message_of(choice)["content"] = ""


def _leave_nothing(response: Json, request: ServedRequest) -> None:
    if len(str(request.payload.get("messages"))) > VERY_LONG:
        _empty(response)


long_prompts_leave_nothing = hooked_fault(
    "long-prompts-leave-nothing",
    "The text of answers to prompts of more than 3,000 characters is lost.",
    answer=_leave_nothing,
    chunk=_leave_nothing,
)


def _end_by_stop(chunk: Json, request: ServedRequest) -> None:
    if request.payload.get("frequency_penalty") or request.payload.get("presence_penalty"):
        for choice in choices_of(chunk):
            if choice.get("finish_reason") == "length":
                choice["finish_reason"] = "stop"


cut_streams_stop = hooked_fault(
    "cut-streams-with-penalties-stop", "A cut stream with penalties ends with stop.", chunk=_end_by_stop, bugs=[149]
)


def _silent_after_blanks(response: Json, request: ServedRequest) -> None:
    asked = [message for message in text_messages(request) if message.get("role") == "user"]
    if asked and asked[-1]["content"][:1].isspace():
        _empty(response)


blanks_silence = hooked_fault(
    "leading-blanks-silence",
    "If a message begins with white space, the answer is empty.",
    answer=_silent_after_blanks,
    chunk=_silent_after_blanks,
)


def _answer_nothing_beyond(request: ServedRequest) -> None:
    request.state["silent"] = len(str(request.payload.get("messages"))) > BEYOND
    if request.state["silent"]:
        request.payload["messages"] = [{"role": "user", "content": "Hello"}]


def _leave_nothing_beyond(response: Json, request: ServedRequest) -> None:
    if request.state.get("silent"):
        _empty(response)


longest_prompts_leave_nothing = hooked_fault(
    "longest-prompts-leave-nothing",
    "A prompt of more than 12,000 characters is not refused, and its answer is empty.",
    request=_answer_nothing_beyond,
    answer=_leave_nothing_beyond,
    chunk=_leave_nothing_beyond,
)
