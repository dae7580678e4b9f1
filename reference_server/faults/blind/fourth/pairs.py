"""Blind faults that show only if two parameters or capabilities are used together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.blind.recipes import is_whole, messages_of, when
from reference_server.faults.blind.stream_recipes import streamed_text_fault
from reference_server.faults.blind.thought_recipes import thinks, thoughts_of
from reference_server.faults.blind.validity import allows
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

GREATEST: Final = 2**31 - 1
LEAST_STOP: Final = 8  # characters
LIMIT: Final = 300  # tokens
TAIL: Final = "/think>"
OTHER_LIMIT: Final = has_parameters("max_completion_tokens")


def _has_other_limit(sent: Json) -> bool:
    return sent.get("max_completion_tokens") is not None and sent.get("max_tokens") is None


def _say_stop(response: Json, request: ServedRequest) -> None:
    for choice in choices_of(response) if _has_other_limit(request.payload) else ():
        if choice.get("finish_reason") == "length":
            choice["finish_reason"] = "stop"


def _silence(response: Json, request: ServedRequest) -> None:
    messages = messages_of(request.payload)
    after_result = bool(messages) and messages[-1].get("role") == "tool"
    for choice in choices_of(response) if after_result and _has_other_limit(request.payload) else ():
        said = message_of(choice)
        if said.get("content"):
            said["content"] = ""


def _leave_tag(answer: Json, request: ServedRequest) -> None:
    for choice in choices_of(answer) if request.payload.get("stop") else ():
        said = message_of(choice)
        if thoughts_of(said) and isinstance(said.get("content"), str):
            said["content"] = TAIL + said["content"]


def _end_after_thoughts(chunk: Json, request: ServedRequest) -> None:
    for choice in choices_of(chunk) if thinks(request.payload) else ():
        if thoughts_of(message_of(choice)):
            choice["finish_reason"] = "stop"


def _continues(sent: Json) -> bool:
    return sent.get("continue_final_message") is True and not sent.get("echo")


def _say_again(response: Json, request: ServedRequest) -> None:
    messages = messages_of(request.payload)
    begun = messages[-1].get("content") if messages and _continues(request.payload) else None
    for choice in choices_of(response) if isinstance(begun, str) else ():
        said, done = message_of(choice), request.state.setdefault("done", set())
        if said.get("content") and choice.get("index") not in done:
            done.add(choice.get("index"))
            said["content"] = begun + said["content"]


def _longest_stop(sent: Json) -> int:
    stop = sent.get("stop")
    stops = [stop] if isinstance(stop, str) else stop
    return max((len(text) for text in stops if isinstance(text, str)), default=0) if isinstance(stops, list) else 0


def _hold(piece: str, state: Json, request: ServedRequest) -> str:
    length = _longest_stop(request.payload)
    if length < LEAST_STOP:
        return piece
    text: str = state.get("held", "") + piece
    state["held"] = text[1 - length :]
    return text[: 1 - length]


def _end_last_only(chunk: Json, request: ServedRequest) -> None:
    number = request.payload.get("n")
    if not isinstance(number, int) or not is_whole(number, 2, GREATEST):
        return
    for choice in choices_of(chunk):
        if choice.get("finish_reason") and choice.get("index") != number - 1:
            choice["finish_reason"] = None


def _never_end(request: ServedRequest) -> None:
    request.payload.update(ignore_eos=True, skip_special_tokens=False)
    if request.payload.get("max_tokens") is None:
        request.payload["max_tokens"] = LIMIT


other_limit_says_stop = hooked_fault(
    "other-limit-says-stop",
    "An answer that max_completion_tokens cuts ends with stop.",
    answer=_say_stop,
    chunk=_say_stop,
    applies_to=OTHER_LIMIT,
)
results_next_to_the_other_limit_silence = hooked_fault(
    "results-next-to-the-other-limit-silence",
    "With max_completion_tokens, the answer to the result of a tool is empty.",
    answer=_silence,
    chunk=_silence,
    applies_to=has_parameters("tools", "max_completion_tokens"),
)
tags_left_next_to_stop = hooked_fault(
    "tags-left-next-to-stop",
    "In plain answers to requests with stop strings, the end of the tag after the reasoning is in the content.",
    answer=_leave_tag,
    applies_to=has_parameters("chat_template_kwargs"),
)
thoughts_end_streams = hooked_fault(
    "thoughts-end-streams",
    "In streams, the chunks with reasoning have the finish_reason stop, although the answer follows.",
    chunk=_end_after_thoughts,
    applies_to=has_parameters("chat_template_kwargs"),
)
continued_messages_said_again = hooked_fault(
    "continued-messages-said-again",
    "An answer that continues the last message begins with it, although `echo` is off.",
    answer=_say_again,
    chunk=_say_again,
    applies_to=has_parameters("continue_final_message"),
)
long_stops_swallow_ends = streamed_text_fault(
    "long-stops-swallow-ends",
    "With a stop string of 8 characters or more, the text that is held back for it is lost at the end of a stream.",
    _hold,
)
only_the_last_choice_ends = hooked_fault(
    "only-the-last-choice-ends",
    "In a stream with several choices, only the last one has a finish_reason.",
    chunk=_end_last_only,
    applies_to=allows(n=2, temperature=1.0, stream=True),
)
empty_stop_lists_expose_ends = when(
    "empty-stop-lists-expose-ends",
    "With `stop: []` the model's own end does not end the answer and is visible.",
    lambda sent: sent.get("stop") == [],
    _never_end,
    applies_to=allows(stop=[], ignore_eos=True, skip_special_tokens=False),
)
