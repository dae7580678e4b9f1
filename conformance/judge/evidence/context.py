"""Evidence of how long prompts may be: a server that serves a small context is not at fault."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any, Final

from conformance.check import NotExercised

if TYPE_CHECKING:
    from conformance.exchange import Exchange

LEAST_CHARACTERS: Final = 1_000
"""Of a prompt that may be too long for a server."""
ABOUT_LENGTH: Final = re.compile(r"token|context|too long|length", re.IGNORECASE)
NUMBER: Final = re.compile(r"\d+")


def require_short_enough(exchange: Exchange) -> None:
    """Raise NotExercised if a long prompt is refused because of its length.

    The refusal has to be a 4xx that names the length and a limit which the prompt may exceed: no token is shorter than
    one character.
    """
    if exchange.status is None or not 400 <= exchange.status < 500:
        return
    characters = _count_characters(exchange.request_json)
    text = exchange.text
    names_limit = any(0 < int(number) < characters for number in NUMBER.findall(text) if len(number) < 9)
    if characters >= LEAST_CHARACTERS and ABOUT_LENGTH.search(text) and names_limit:
        raise NotExercised("the server refuses prompts of this length")


def _count_characters(sent: Any) -> int:
    """Return the number of characters of the messages and tools of a request."""
    if not isinstance(sent, dict):
        return 0
    return sum(len(json.dumps(sent.get(name), ensure_ascii=False)) for name in ("messages", "tools"))
