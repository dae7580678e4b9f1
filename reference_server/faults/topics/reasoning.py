"""Thoughts that leak into the answer, or stand under another name."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.seams import at_seams, said_by, spoken

if TYPE_CHECKING:
    from openapi.contract import Contract
    from reference_server.faults.seams import Json, Told

MEMBERS: Final = ("reasoning_content", "reasoning")


def thinks(contract: Contract) -> bool:
    """The dialect tells thoughts from answers."""
    return "thinking" in contract.capabilities


def _thought(said: Json) -> str | None:
    """The thought of a message or delta, taken out of it."""
    found = [said.pop(name) for name in MEMBERS if said.get(name)]
    return found[0] if found else None


def _leak(choice: Json, _told: Told) -> None:
    said = spoken(choice)
    if thought := _thought(said):
        said["content"] = f"<think>{thought}</think>{said.get('content') or ''}"


def _leak_pieces(chunk: Json, told: Told) -> None:
    for choice in chunk["choices"]:
        said = choice["delta"]
        thought = _thought(said)
        if thought is not None:
            opening = "" if told.memory.get("thinking") else "<think>"
            told.memory["thinking"] = True
            said["content"] = opening + thought + (said.get("content") or "")
        elif told.memory.pop("thinking", False):
            said["content"] = "</think>" + (said.get("content") or "")


def _renamed(choice: Json, _told: Told) -> None:
    said = spoken(choice)
    if thought := _thought(said):
        said["thinking"] = thought


def _nothing_else(choice: Json, _told: Told) -> None:
    said = spoken(choice)
    if any(said.get(name) for name in MEMBERS):
        said["content"] = None


thoughts_leak = said_by(
    "thoughts-leak", _leak, "Thoughts stand in the content of plain answers, between their tags.",
    streamed=False, fits=thinks, bugs=[136],
)  # fmt: skip
thoughts_leak_in_streams = at_seams(
    "thoughts-leak-in-streams", "Thoughts stand in the content of streams, between their tags.", chunk=_leak_pieces,
    fits=thinks, bugs=[135],
)  # fmt: skip
thoughts_renamed = said_by("thoughts-renamed", _renamed, "Thoughts stand under another name.", fits=thinks, bugs=[137])
nothing_but_thoughts = said_by(
    "nothing-but-thoughts", _nothing_else, "An answer that thinks has no content.", fits=thinks, bugs=[138]
)
