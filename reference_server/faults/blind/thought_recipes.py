"""Read and change what a request asks of the reasoning, and read the reasoning of a response."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from reference_server.faults.hooks import Json, ServedRequest

THOUGHTS: Final = ("reasoning_content", "reasoning")
"""The names of the field with the reasoning, of which a dialect has one."""


def thinks(sent: Json) -> bool:
    """Whether a request asks for reasoning."""
    return _switch(sent) is True or bool(sent.get("reasoning_effort"))


def forbids_thinking(sent: Json) -> bool:
    """Whether a request turns reasoning off."""
    return _switch(sent) is False


def _switch(sent: Json) -> object:
    keywords = sent.get("chat_template_kwargs")
    return keywords.get("enable_thinking") if isinstance(keywords, dict) else None


def turn_thinking_off(request: ServedRequest) -> None:
    """Turn reasoning off."""
    request.payload.pop("reasoning_effort", None)
    keywords = request.payload.get("chat_template_kwargs") or {}
    request.payload["chat_template_kwargs"] = {**keywords, "enable_thinking": False}


def thoughts_of(said: Json) -> tuple[str, str] | None:
    """Return the name and the text of the reasoning of a message or delta; None if it has none."""
    return next(((name, said[name]) for name in THOUGHTS if isinstance(said.get(name), str) and said[name]), None)
