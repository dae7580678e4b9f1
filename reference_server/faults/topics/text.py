"""Text that streams lose, repeat or break."""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.faults.seams import fault, said_by, spoken

if TYPE_CHECKING:
    from collections.abc import Iterator

    from reference_server.faults.seams import Json, Told


def _text(choice: Json) -> str:
    return choice["delta"].get("content") or ""


@fault("cumulative-text", "chunk", bugs=[17])
def cumulative_text(chunk: Json, told: Told) -> None:
    """Deltas hold all the text so far."""
    for choice in chunk["choices"]:
        key = f"text{choice['index']}"
        told.memory[key] = told.memory.get(key, "") + _text(choice)
        choice["delta"]["content"] = told.memory[key]


@fault("repeats-last-character", "chunk", bugs=[14])
def repeats_last_character(chunk: Json, told: Told) -> None:
    """Each delta begins with the last character of the one before."""
    for choice in chunk["choices"]:
        said = _text(choice)
        if said:
            choice["delta"]["content"] = told.memory.get("last", "") + said
            told.memory["last"] = said[-1]


@fault("first-text-lost", "chunk", bugs=[16])
def first_text_lost(chunk: Json, told: Told) -> None:
    """The text of the first chunk that has some is lost."""
    for choice in chunk["choices"]:
        if _text(choice) and not told.memory.get("lost"):
            told.memory["lost"] = True
            choice["delta"]["content"] = ""


@fault("last-text-lost", "event", bugs=[16])
def last_text_lost(frame: bytes, told: Told) -> Iterator[bytes]:
    """The chunk before the one that ends a stream is lost."""
    held = told.memory.pop("held", None)
    if held is not None and b'"finish_reason":null' in frame:
        yield held
    elif held is not None and not told.memory.get("ended"):
        told.memory["ended"] = True
    elif held is not None:
        yield held
    if b'"finish_reason":null' in frame:
        told.memory["held"] = frame
    else:
        yield frame


@fault("spaces-lost", "chunk", bugs=[16])
def spaces_lost(chunk: Json, _told: Told) -> None:
    """White space at the start of a delta is lost."""
    for choice in chunk["choices"]:
        choice["delta"]["content"] = _text(choice).lstrip()


@fault("characters-cut", "chunk", bugs=[13])
def characters_cut(chunk: Json, _told: Told) -> None:
    """A character beyond ASCII is cut between two tokens and comes as U+FFFD."""
    for choice in chunk["choices"]:
        choice["delta"]["content"] = "".join(char if char.isascii() else "\ufffd\ufffd" for char in _text(choice))


def _cut(choice: Json, _told: Told) -> None:
    said = spoken(choice)
    said["content"] = "".join(char if char.isascii() else "\ufffd" for char in said.get("content") or "")


def _special(choice: Json, _told: Told) -> None:
    if choice["finish_reason"] is not None:
        spoken(choice)["content"] = (spoken(choice).get("content") or "") + "<|im_end|>"


characters_cut_plain = said_by(
    "characters-cut-plain", _cut, "Characters beyond ASCII come as U+FFFD in plain answers.", streamed=False, bugs=[13]
)
special_tokens_leak = said_by(
    "special-tokens-leak", _special, "The special token that ends an answer stands in its text.", bugs=[64]
)
