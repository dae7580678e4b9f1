"""Read the name of a parameter as pages write it: `messages[].role`, `temperature*`, `n (optional)`, `└ role`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from openapi.reading.grammar.vocabulary import normalize

STEP: Final = r"[A-Za-z_$][\w$-]*"
PATH: Final = rf"{STEP}(?:(?:\[[\w*]*\])?\.{STEP})*(?:\[[\w*]*\])?"
_NAME: Final = re.compile(rf"(?P<indent>(?:[└├─>↳»•+|-]+\s*)+|)(?P<path>{PATH})\s*(?P<rest>.*)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class WrittenName:
    """A name as a page writes it.

    path: its steps, outermost first; a step inside a list ends with `[]`, except the last.
    depth: how many levels below the parameter above it is, as a mark in front of it says; 0 without one.
    rest: the words after it, such as `(optional)`; `*` stands for required.
    """

    path: tuple[str, ...]
    depth: int = 0
    rest: str = ""


def parse_name(text: str) -> WrittenName | None:
    """Parse the name at the start of a cell; None without a name."""
    match = _NAME.fullmatch(" ".join(normalize(text).split()))
    if match is None:
        return None
    rest = match["rest"].strip()
    rest = rest[1:-1].strip() if rest[:1] + rest[-1:] in ("()", "[]") else rest
    *outer, last = (re.sub(r"\[[\w*]*\]", "[]", step) for step in match["path"].split("."))
    steps = (*outer, last.removesuffix("[]"))
    depth = match["indent"].count("└") or bool(match["indent"])
    return WrittenName(steps, int(depth), "required" if rest == "*" else rest)
