"""Words that other vendors have in place of an enumerated string: servers that were written for several take them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

UNKNOWN: Final = "chatproof-stranger"
WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    "default": ("standard", "premium"),
    "user": ("model", "human"),
    "function": ("tool", "function_call"),
    "json_object": ("json", "regex"),
    "minimal": ("off", "max"),
    "high": ("max", "ultra"),
    "low": ("minimum",),
    "text": ("input_text",),
    "image_url": ("image",),
    "mp3": ("ogg",),
    "in-memory": ("ephemeral",),
    "left": ("start",),
    "auto": ("any", "force"),
}
"""Words by a value that stands next to them in another vendor's list; the first value that is known decides."""


def choose_foreign(values: Collection[object]) -> str:
    """Return a word that none of the values is, which another vendor has if one is known."""
    known = (word for value, words in WORDS.items() if value in values for word in words)
    return next((word for word in known if word not in values), UNKNOWN)
