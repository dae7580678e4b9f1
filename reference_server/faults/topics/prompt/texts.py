"""Faults in the parameters that change how the prompt is built."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import TYPE_CHECKING

from reference_server.faults.decorators import fault, has_parameters, hooked_fault, requires_check
from reference_server.faults.hooks import Refusal
from reference_server.faults.request_edits import failed, text_messages
from reference_server.faults.topics.output import forgotten

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from reference_server.faults.fault import Fault
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest


truncation_forgotten = forgotten("truncate_prompt_tokens", "prompt.cut-to-length")
continuation_forgotten = forgotten("continue_final_message", "prompt.last-message-continued")
echo_forgotten = forgotten("echo", "prompt.last-message-echoed")


def _echo_always(request: ServedRequest) -> None:
    if request.payload.get("continue_final_message") is True:
        request.payload["echo"] = True


echo_unasked = hooked_fault(
    "echo-unasked",
    "An answer that continues the last message begins with it, whatever `echo` is.",
    request=_echo_always,
    applies_to=requires_check("prompt.no-echo-unasked"),
)


@fault("cuts-the-other-side", "request", applies_to=has_parameters("truncation_side"))
def cuts_the_other_side(request: ServedRequest) -> None:
    """`truncation_side` is interpreted as the side to keep."""
    side = request.payload.get("truncation_side")
    if side in ("left", "right"):
        request.payload["truncation_side"] = "right" if side == "left" else "left"


def converted(name: str, convert: Callable[[str], str], line: str, **options: Any) -> Fault:
    """Make a fault that converts the text of every message."""

    def change(request: ServedRequest) -> None:
        for message in text_messages(request):
            message["content"] = convert(message["content"])

    return hooked_fault(name, line, request=change, applies_to=requires_check("prompt.every-character-read"), **options)


def _without_accents(text: str) -> str:
    letters = unicodedata.normalize("NFD", text)
    return "".join(letter for letter in letters if not unicodedata.combining(letter))


entities_decoded = converted("prompt-entities-decoded", html.unescape, "Character entities in messages are decoded.")
escapes_decoded = converted(
    "prompt-escapes-decoded",
    lambda text: text.replace("\\n", "\n"),
    "An escaped line end in a message becomes one.",
    bugs=[154],
)
lines_joined = converted(
    "prompt-lines-joined", lambda text: " ".join(text.split()), "All white space in messages becomes single spaces."
)
indentation_lost = converted(
    "prompt-indentation-lost",
    lambda text: re.sub(r"\n[ \t]+", "\n", text),
    "White space at the start of the lines of a message is dropped.",
)
accents_removed = converted("prompt-accents-removed", _without_accents, "Accents in messages are removed.", bugs=[155])
only_ascii_read = converted(
    "prompt-read-as-ascii",
    lambda text: text.encode("ascii", "replace").decode(),
    "Characters of messages that are not ASCII become question marks.",
    bugs=[155],
)
placeholders_filled = converted(
    "prompt-placeholders-emptied",
    lambda text: re.sub(r"\{\{.*?\}\}", "", text),
    "Placeholders in messages are replaced by an empty value.",
    bugs=[153],
)
tags_stripped = converted(
    "prompt-tags-stripped", lambda text: re.sub(r"<[^<>]*>", "", text), "What looks like a tag in a message is removed."
)

formats_filled = converted(
    "prompt-formatted",
    lambda text: text.replace("%%", "%"),
    "Two percent signs in a message become one.",
)
braces_halved = converted(
    "prompt-braces-halved",
    lambda text: text.replace("{{", "{").replace("}}", "}"),
    "Two braces in a message become one.",
    bugs=[153],
)


def _messages(request: ServedRequest) -> list[Json]:
    messages = request.payload.get("messages")
    return [message for message in messages if isinstance(message, dict)] if isinstance(messages, list) else []


def _refuse_names(request: ServedRequest) -> None:
    if any(isinstance(item.get("name"), str) and item.get("role") != "user" for item in _messages(request)):
        raise Refusal("invalid_request", "messages: only the user can have a name")


def _refuse_developers(request: ServedRequest) -> None:
    roles = [item.get("role") for item in _messages(request)]
    if "developer" in roles and "assistant" in roles:
        raise Refusal("invalid_request", "messages: the role developer cannot have a conversation")


def _fail_on_late_instructions(request: ServedRequest) -> CannedResponse | None:
    later = [item.get("role") for item in _messages(request)][1:]
    return failed(request) if "system" in later else None


def _fail_on_marks(request: ServedRequest) -> CannedResponse | None:
    texts = [item.get("content") for item in _messages(request)]
    return failed(request) if any(isinstance(text, str) and "<|image_pad|>" in text for text in texts) else None


def _fail_on_templates(request: ServedRequest) -> CannedResponse | None:
    answers = [item.get("content") for item in _messages(request) if item.get("role") == "assistant"]
    return failed(request) if any(isinstance(text, str) and "{" in text for text in answers) else None


templates_fail = hooked_fault(
    "braces-in-answers-500",
    "An earlier answer with a brace is read as a template, and gets a 500.",
    request=_fail_on_templates,
)
marks_fail = hooked_fault(
    "marks-of-images-500",
    "A message whose text contains the mark of an image gets a 500.",
    request=_fail_on_marks,
    applies_to=requires_check("prompt.any-order-survived"),
    bugs=[208],
)
names_refused = hooked_fault(
    "names-of-others-refused",
    "A message that has a name is refused unless it is from the user.",
    request=_refuse_names,
    applies_to=requires_check("prompt.names-accepted"),
    bugs=[206],
)
developers_refused = hooked_fault(
    "developers-in-conversations-refused",
    "A conversation that begins with the role developer is refused if it has an answer.",
    request=_refuse_developers,
    applies_to=requires_check("prompt.developers-accepted"),
    bugs=[207],
)
late_instructions_fail = hooked_fault(
    "late-instructions-500",
    "A system message that is not the first message gets a 500.",
    request=_fail_on_late_instructions,
    applies_to=requires_check("prompt.any-order-survived"),
    bugs=[208],
)
