"""Faults in how the server returns reasoning."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reference_server.faults.decorators import at_seams, held_by, knows, said_by, spoken

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from reference_server.faults.hooks import Json, Told

MEMBERS: Final = ("reasoning_content", "reasoning")


thought_empty = said_by(
    "thought-empty",
    lambda choice, _told: spoken(choice).update(reasoning_content=7),
    "A thought is a number.",
    bugs=[139],
)


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


def _dropped(choice: Json, _told: Told) -> None:
    _thought(spoken(choice))


def _last_thought(choice: Json, _told: Told) -> None:
    if choice["finish_reason"] is not None:
        spoken(choice)[MEMBERS[0]] = "And so on."


def _think_always(told: Told) -> None:
    options = told.sent.get("chat_template_kwargs")
    if isinstance(options, dict):
        options.pop("enable_thinking", None)
    told.sent.pop("reasoning_effort", None)


def _counted_as_none(holder: Json, _told: Told) -> None:
    details = (holder.get("usage") or {}).get("completion_tokens_details")
    if isinstance(details, dict) and "reasoning_tokens" in details:
        details["reasoning_tokens"] = 0


thoughts_counted_as_none = held_by(
    "thoughts-counted-as-none",
    _counted_as_none,
    "Usage says that an answer with thoughts holds no token of them.",
    fits=lambda contract: thinks(contract) and knows("chat_template_kwargs", "reasoning_effort")(contract),
)
thoughts_dropped = said_by("thoughts-dropped", _dropped, "Thoughts that were wanted are dropped.", fits=thinks)
thoughts_dropped_in_streams = said_by(
    "thoughts-dropped-in-streams", _dropped, "Streams drop thoughts.", plain=False, fits=thinks, bugs=[135]
)
thoughts_at_the_end = said_by(
    "thoughts-at-the-end", _last_thought, "The last delta of a stream holds a thought.", plain=False, fits=thinks
)
thoughts_not_off = at_seams("thoughts-not-off", "Thoughts cannot be turned off.", request=_think_always, fits=thinks)
