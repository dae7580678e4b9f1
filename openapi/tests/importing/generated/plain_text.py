"""Notations without marks: lines, and the terms of a manual page."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from random import Random

    from openapi.tests.importing.generated.drawn_page import DrawnParameter

SEPARATORS: Final = (": ", " - ", " – ", " — ", "\t", "  ", " = ")
SHOWN: Final = tuple(separator for separator in SEPARATORS if separator.strip())
"""Separators that HTML keeps."""
DESCRIBED: Final = ("Most {0}", "The {0} of the value", "How much {0} there is", "{0}", "Number of {0}")
SPANS: Final = ("{} to {}", "{}-{}", "between {} and {}", "from {} up to {}", "from {} to {}", "[{}, {}]", "{}..{}")
JOINTS: Final = (", {}", ": {}", " ({})", " - {}")


def say(one: DrawnParameter, chance: Random) -> str:
    """Return the words about a value; a range of a number is written behind a description in many forms."""
    ends = [one.keywords.get(key) for key in ("minimum", "maximum")]
    if None in ends:
        return one.says
    span = chance.choice(SPANS).format(*ends)
    lead = chance.choice(DESCRIBED).format(chance.choice(("tokens", "randomness", "weight")))
    return f"{lead}{chance.choice(JOINTS).format(span)}."


def write_lines(parameters: list[DrawnParameter], chance: Random, separators: tuple[str, ...] = SEPARATORS) -> str:
    """Write lines without marks, in one paragraph or several."""
    separator, lines = chance.choice(separators), []
    for one in parameters:
        presence = ", required" if one.required else chance.choice(("", ", optional"))
        default = "" if one.default is None else f" Defaults to {json.dumps(one.default)}."
        lines.append(f"{one.name}{separator}{one.kind}{presence}. {say(one, chance)}{default}")
    return chance.choice(("\n", "\n\n", "\n  \n")).join(lines)


def write_manual(parameters: list[DrawnParameter], chance: Random) -> str:
    """Write the terms of a manual page, each with its indented description below it."""
    form = chance.choice(("{} ({}{})", "{}: {}{}"))
    terms = []
    for one in parameters:
        term = form.format(one.name, one.kind, ", required" if one.required else "")
        default = "" if one.default is None else f" (default {json.dumps(one.default)})"
        terms.append(f"       {term}\n              {say(one, chance).rstrip('.')}{default}.")
    return "\n\n".join(terms)
