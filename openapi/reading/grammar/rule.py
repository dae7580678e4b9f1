"""A rule of the grammar: a pattern for a whole stretch of text, and what it says when it fits."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from openapi.reading.fact import Piece

    Build = Callable[[re.Match[str], str], list[Piece] | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """`build` gets the match and the parameter's name; it may still decline, with None.

    `bare`: the words do not say what they are about, so they count only where nothing unread stands before them.
    """

    pattern: re.Pattern[str]
    build: Build
    bare: bool = False

    def read(self, text: str, name: str) -> list[Piece] | None:
        """What the whole text says, or None."""
        match = self.pattern.fullmatch(text)
        return None if match is None else self.build(match, name)


def rule(pattern: str, build: Build, *, bare: bool = False) -> Rule:
    """A rule whose pattern ignores case and takes any run of spaces for one."""
    return Rule(re.compile(pattern.replace(" ", r"\s+"), re.IGNORECASE), build, bare)
