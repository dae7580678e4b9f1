"""Blind faults of literal text: masked addresses, JSON that is read, and signs of an end."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import orjson

from reference_server.faults.blind.frame_recipes import calls_in, only_choice, read_chunk
from reference_server.faults.decorators import choices_of, has_parameters, hooked_fault, message_of, sampling_fault
from reference_server.faults.request_edits import text_messages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.engine import SamplingParams
    from reference_server.faults.hooks import Json, ServedRequest

ADDRESS: Final = re.compile(r"[\w.+-]+@[\w-]+(\.[\w-]+)+")
END: Final = "[DONE]"
LIMITS: Final = ("max_tokens", "max_completion_tokens")


def _mask_addresses(request: ServedRequest) -> None:
    """Mask personal data unasked. Violates messages.content: the text of the message."""
    for message in text_messages(request):
        message["content"] = ADDRESS.sub("<EMAIL_ADDRESS>", message["content"])


def _read_objects(request: ServedRequest) -> None:
    """Read JSON and write the object as text. Violates messages.content: any text."""
    for message in text_messages(request):
        try:
            value = orjson.loads(message["content"])
        except orjson.JSONDecodeError:
            continue
        if isinstance(value, dict):
            message["content"] = "[object Object]"


def _end_at_marks(frame: bytes, request: ServedRequest) -> Iterator[bytes]:
    """Look for the end anywhere in a line. Violates the end of a stream: a line of its own."""
    if request.state.get("ended"):
        return
    yield frame
    choice = only_choice(read_chunk(frame))
    if choice is not None:
        called = [(call.get("function") or {}).get("arguments") for call in calls_in({"choices": [choice]})]
        pieces = [message_of(choice).get("content"), *called]
        said = request.state.get("said", "") + "".join(piece for piece in pieces if piece)
        request.state.update(said=said, ended=END in said)


def _stops_of(sent: Json) -> list[Any]:
    stop = sent.get("stop")
    return stop if isinstance(stop, list) else [stop]


def _find_stops_in_prompts(request: ServedRequest) -> None:
    """Search the whole sequence. Violates stop, which ends where the model generates one of the strings."""
    said = [message["content"] for message in text_messages(request)][-1:]
    found = [stop for stop in _stops_of(request.payload) if isinstance(stop, str) and stop and stop in "".join(said)]
    if found and not request.payload.get("min_tokens"):
        request.state["found"] = True
        for name in [name for name in LIMITS if name in request.payload] or LIMITS[:1]:
            request.payload[name] = 1


def _say_stop(response: Json, request: ServedRequest) -> None:
    for choice in choices_of(response):
        if request.state.get("found") and choice.get("finish_reason") == "length":
            choice["finish_reason"] = "stop"


@sampling_fault("blank-lines-end-answers", applies_to=has_parameters("ignore_eos"))
def blank_lines_end_answers(params: SamplingParams) -> SamplingParams:
    """A blank line ends the answer as if it were a stop string."""
    return replace(params, stop=(*params.stop, "\n\n"))


addresses_in_messages_masked = hooked_fault(
    "addresses-in-messages-masked",
    "A placeholder reaches the model in place of an e-mail address in a message.",
    request=_mask_addresses,
)
json_in_messages_becomes_an_object = hooked_fault(
    "json-in-messages-becomes-an-object",
    "A message that is a JSON object reaches the model as `[object Object]`.",
    request=_read_objects,
)
marks_in_text_end_streams = hooked_fault(
    "marks-in-text-end-streams", "A stream ends after a chunk whose text contains `[DONE]`.", event=_end_at_marks
)
stops_in_prompts_end_answers = hooked_fault(
    "stops-in-prompts-end-answers",
    "If the last message contains a stop string, the answer ends after its first token.",
    request=_find_stops_in_prompts,
    answer=_say_stop,
    chunk=_say_stop,
)
