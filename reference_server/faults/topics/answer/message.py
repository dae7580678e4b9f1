"""Faults in the message of a plain answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from openapi.description.validation import Validator
from reference_server.faults.decorators import choice_fault, fault, hooked_fault, message_of
from reference_server.faults.request_edits import failed, text_messages
from reference_server.faults.topics.logprobs.edits import BUTTON

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import CannedResponse, Json, ServedRequest


def _drop_content(choice: Json, _request: ServedRequest) -> None:
    message_of(choice)["content"] = None


def _content_list(choice: Json, _request: ServedRequest) -> None:
    message_of(choice)["content"] = [{"type": "text", "text": message_of(choice).get("content")}]


content_null = choice_fault("content-null", _drop_content, "The content of a plain answer is null.", streamed=False)
content_list = choice_fault("content-list", _content_list, "The content is a list of parts.")
content_missing = choice_fault(
    "content-missing",
    lambda choice, _request: message_of(choice).pop("content", None),
    "The content is missing.",
    streamed=False,
)
delta_beside_message = choice_fault(
    "delta-beside-message",
    lambda choice, _request: choice.update(delta={"content": ""}),
    "Plain answers contain a delta in addition to the message.",
    streamed=False,
)


@fault("logprobs-infinite", "plain", bugs=[101], applies_to=BUTTON)
def logprobs_infinite(body: bytes, _request: ServedRequest) -> bytes:
    """A log-probability is minus infinity, which is not valid JSON."""
    return body.replace(b'"logprob":-', b'"logprob":-Infinity,"rest":-', 1)


def _cut(choice: Json, _request: ServedRequest) -> None:
    said = message_of(choice)
    said["content"] = "".join(char if char.isascii() else "\ufffd" for char in said.get("content") or "")


characters_cut_plain = choice_fault(
    "characters-cut-plain", _cut, "Non-ASCII characters become U+FFFD in plain answers.", streamed=False, bugs=[13]
)


def _crash_on_silence(request: ServedRequest) -> CannedResponse | None:
    silent = [message for message in text_messages(request) if message.get("role") == "assistant"]
    return failed(request) if any(message["content"] == "" for message in silent) else None


def _allows_silence(contract: Contract) -> bool:
    said = [("user", "Hello!"), ("assistant", ""), ("user", "Hello!")]
    messages = [{"role": role, "content": content} for role, content in said]
    return not Validator(contract).request_problems({"model": contract.default_model, "messages": messages})


empty_turns_fail = hooked_fault(
    "silent-assistant-500",
    "A conversation with an empty message of the assistant gets a 500.",
    request=_crash_on_silence,
    applies_to=_allows_silence,
    bugs=[152],
)
