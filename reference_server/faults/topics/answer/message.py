"""Faults in the message of a plain answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.decorators import fault, said_by, spoken
from reference_server.faults.topics.logprobs import BUTTON

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, Told


def _drop_content(choice: Json, _told: Told) -> None:
    spoken(choice)["content"] = None


def _content_list(choice: Json, _told: Told) -> None:
    spoken(choice)["content"] = [{"type": "text", "text": spoken(choice).get("content")}]


content_null = said_by("content-null", _drop_content, "The content of a plain answer is null.", streamed=False)
content_list = said_by("content-list", _content_list, "The content is a list of parts.")
content_missing = said_by(
    "content-missing", lambda choice, _told: spoken(choice).pop("content", None), "There is no content.", streamed=False
)
delta_beside_message = said_by(
    "delta-beside-message",
    lambda choice, _told: choice.update(delta={"content": ""}),
    "Plain answers hold a delta beside the message.",
    streamed=False,
)


@fault("logprobs-infinite", "plain", bugs=[101], fits=BUTTON)
def logprobs_infinite(body: bytes, _told: Told) -> bytes:
    """A log-probability is minus infinity, which is no JSON."""
    return body.replace(b'"logprob":-', b'"logprob":-Infinity,"rest":-', 1)


def _cut(choice: Json, _told: Told) -> None:
    said = spoken(choice)
    said["content"] = "".join(char if char.isascii() else "\ufffd" for char in said.get("content") or "")


characters_cut_plain = said_by(
    "characters-cut-plain", _cut, "Characters beyond ASCII come as U+FFFD in plain answers.", streamed=False, bugs=[13]
)
