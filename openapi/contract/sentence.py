"""Sentences: all that a document demands, promises or allows, each in our own words and with one home.

A sentence belongs to one document and is never inherited from another dialect. Its home is what keeps watch over it:
checks of the suite, by id; places of the dialect's resolved tree, which the description is made of and scenarios are
generated from; or nothing, with a reason.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from openapi.contract.parameter import Keyword

NOT_YET: Final = "not judged yet: "
"""How the reason begins when a client could see the sentence broken and nothing looks so far."""


@dataclass(frozen=True, slots=True)
class Home:
    """Where a sentence lives. One of the three holds something; a sentence is homeless when none does.

    `places` are slash-separated paths such as `parameters/top_p/schema/maximum`.
    """

    checks: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    excluded: str | None = None

    @property
    def kind(self) -> str:
        """`check`, `schema` or `excluded`, as the data call it; `homeless` when there is no home."""
        if self.checks:
            return "check"
        if self.places:
            return "schema"
        return "homeless" if self.excluded is None else "excluded"


@dataclass(frozen=True, slots=True)
class Sentence:
    """One normative sentence of a document: what it says, where it stands, and how binding it is."""

    id: str
    says: str
    source: str
    keyword: Keyword
    home: Home
    interpretation: str | None = None


def is_place(tree: Any, place: str) -> bool:
    """Whether something stands at a place of a resolved tree.

    Mappings are walked by key. Lists by what their items are called: the name, else the value, else the item itself.
    """
    at: Any = tree
    for step in place.split("/"):
        found = _steps(at)
        if step not in found:
            return False
        at = found[step]
    return True


def _steps(holder: Any) -> dict[str, Any]:
    if isinstance(holder, dict):
        return {str(key): item for key, item in holder.items()}
    if isinstance(holder, list):
        return {_called(item): item for item in holder}
    return {}


def _called(item: Any) -> str:
    return str(item.get("name", item.get("value", item))) if isinstance(item, dict) else str(item)
