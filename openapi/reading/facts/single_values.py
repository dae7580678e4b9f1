"""Tell what is stated about a list from what is stated about its elements: `two sequences of up to 32 characters each`.

A parameter that is a string or a list of strings has one sequence if it is a string. Words about elements, entries or
a list are about the list alone.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from openapi.reading.grammar.statement import Statement

_ONE: Final = re.compile(r"\b(?:sequences?|strings?|words?|phrases?|keywords?)\b|序列|字符串|词", re.IGNORECASE)
_LIST: Final = re.compile(r"\b(?:elements?|items?|entry|entries|lists?|arrays?)\b|元素|列表|数组", re.IGNORECASE)
_EITHER: Final = frozenset({"array", "string"})


def limit_single(by_subject: Mapping[str, Iterable[Statement]]) -> list[Statement]:
    """Return the statements about the value itself that follow from those about its elements.

    by_subject: the statements of a row by what they are about.
    """
    own, elements = list(by_subject.get("", ())), by_subject.get("[]", ())
    types = {name for item in own if item.attribute in ("types", "also") for name in item.value}
    if not types >= _EITHER or any(item.attribute == "length" for item in own):
        return []
    counted = " ".join(item.text for item in own if item.attribute in ("items", "count"))
    return [
        replace(item, at="")
        for item in elements
        if item.attribute == "length"
        and _ONE.search(f"{counted} {item.text}")
        and not _LIST.search(f"{counted} {item.text}")
    ]


def move_to_elements(by_subject: dict[str, list[Statement]]) -> None:
    """Let the listed values of a list be those of its elements: a list itself is not `calm`."""
    own = by_subject[""]
    types = {kind for item in own if item.attribute == "types" for kind in item.value}
    listed = [item for item in own if item.attribute == "enum" and not any(isinstance(one, list) for one in item.value)]
    if types == {"array"} and listed:
        by_subject[""] = [item for item in own if item not in listed]
        by_subject.setdefault("[]", []).extend(replace(item, at="[]") for item in listed)
