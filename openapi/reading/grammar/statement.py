"""Statements: attributes of a parameter and their values, as a page states them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Final


class Unstated:
    """The type of UNSTATED, which differs from None: None is a stated null."""

    def __repr__(self) -> str:
        return "unstated"


UNSTATED: Final = Unstated()


class DescribedDefault(str):
    """A default that is described in words instead of given as a value."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class Statement:
    """One attribute of a parameter, as a page states it.

    attribute: the name of an attribute of `Fact`, or `also` (one type of several), `exists` (a field without further
        facts), `count` (of what, follows from the type) or `unread` (text that no rule reads).
    at: what the statement is about, relative to the parameter: "" the parameter itself, `[]` each of its elements,
        `.name` one of its fields.
    text: the exact words.
    """

    attribute: str
    value: Any
    text: str = field(default="", compare=False)
    at: str = ""
