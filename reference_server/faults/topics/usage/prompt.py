"""Faults in which part of the prompt does not reach the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import at_seams, demands
from reference_server.faults.request_edits import LONG, text_messages

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.hooks import Json, Told


def _cut(told: Told) -> None:
    for message in text_messages(told):
        if len(message["content"]) > LONG:
            message["content"] = message["content"][-LONG // 8 :]


def _last_only(told: Told) -> None:
    found = text_messages(told)
    if len(found) > 1 and found[-1].get("role") == "user":
        told.sent["messages"] = found[-1:]


def _no_system(told: Told) -> None:
    found = text_messages(told)
    if any(each.get("role") == "system" for each in found) and any(each.get("role") == "user" for each in found):
        told.sent["messages"] = [message for message in told.sent["messages"] if message.get("role") != "system"]


def _no_results(told: Told) -> None:
    for message in text_messages(told):
        if message.get("role") == "tool":
            message["content"] = "-"


long_prompts_cut = at_seams(
    "long-prompts-cut", "A prompt that is too long is cut without a word.", request=_cut, bugs=[123]
)
history_ignored = at_seams("history-ignored", "Only the last message is read.", request=_last_only)
system_ignored = at_seams("system-ignored", "The system's message is ignored.", request=_no_system)
tool_results_ignored = at_seams(
    "tool-results-ignored", "What tools say never reaches the model.", request=_no_results,
    fits=demands("usage.tool-results-counted"),
)  # fmt: skip


def _told_by(role: str, told: Told) -> Iterator[Json]:
    return (message for message in text_messages(told) if message.get("role") == role)


def _no_answers(told: Told) -> None:
    for each in _told_by("assistant", told):
        each["content"] = "-"


def _no_rare_characters(told: Told) -> None:
    for message in text_messages(told):
        if any(ord(letter) >= 0x10000 for letter in message["content"]):
            message["content"] = "".join(letter for letter in message["content"] if ord(letter) < 0x10000) or "-"


def _up_to_nul(told: Told) -> None:
    for message in text_messages(told):
        if "\0" in message["content"]:
            message["content"] = message["content"].split("\0")[0] or "-"


def _first_part(told: Told) -> None:
    messages = told.sent.get("messages")
    for message in messages if isinstance(messages, list) else ():
        if isinstance(message, dict) and isinstance(message.get("content"), list):
            message["content"] = message["content"][:1]


answers_ignored = at_seams("answers-ignored", "What the assistant said before is not read.", request=_no_answers)
rare_characters_dropped = at_seams(
    "rare-characters-dropped", "Characters of a prompt beyond the basic plane are dropped.", request=_no_rare_characters
)
nul_ends_prompts = at_seams("nul-ends-prompts", "A NUL character ends a message.", request=_up_to_nul)
first_part_only = at_seams("first-part-only", "Of a content in parts the first is read.", request=_first_part)
