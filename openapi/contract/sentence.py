"""Sentences: every demand, promise or permission of a document, in our own words, each with one home.

A sentence belongs to one document; a dialect does not inherit the sentences of another one. The home of a sentence is
the part of the project that tests it: checks of the suite, or places in the dialect's resolved tree, from which the
description and the generated scenarios are made. A sentence that is not tested has a reason instead.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

from openapi.contract.tree.delta import identify_item
from openapi.contract.tree.yaml_file import ITEM_NAMES
from openapi.schema.json_schema import REFERENCE

if TYPE_CHECKING:
    from openapi.contract.parameter import Keyword

NOT_YET: Final = "not judged yet: "
"""Prefix of the reason for a sentence that a client could test and that has no check yet."""


class Category(StrEnum):
    """Why a sentence is not judged."""

    OPERATOR = "operator setting"  # what the operator decides, or how the server is deployed
    ADVICE = "advice"  # to the client or the operator; nothing is demanded of the server
    REFERENCE = "reference"  # to another page, which states the demand
    DEFINITION = "definition"  # of a term; other sentences use it
    ATTEMPTED = "attempted"  # a client was tried, and its responses do not show it or cost too much


@dataclass(frozen=True, slots=True)
class Home:
    """What tests a sentence: `checks`, `places`, or nothing for the reason `excluded`. Only one of the three is set.

    `places` are slash-separated paths in the resolved tree such as `parameters/top_p/schema/maximum`. An exclusion has
    a category, and an attempt if only requests can tell that no response shows the sentence: what was sent to the
    reference server, and what it responded.
    """

    checks: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    excluded: str | None = None
    category: Category | None = None
    attempt: str | None = None

    @property
    def kind(self) -> str:
        """The kind of home: `check`, `schema`, `excluded`, or `uncovered` for a sentence without one."""
        if self.checks:
            return "check"
        if self.places:
            return "schema"
        return "uncovered" if self.excluded is None else "excluded"


@dataclass(frozen=True, slots=True)
class Sentence:
    """One normative sentence of a document: what it says, its place in the document, and its requirement level."""

    id: str
    says: str
    source: str
    keyword: Keyword
    home: Home
    interpretation: str | None = None


def is_place(tree: Any, place: str) -> bool:
    """Return whether a path leads to a value of a resolved tree.

    A step is a key of a mapping, or identifies an item of a list: by its `name`, else its `value`, else by itself, or
    by its index if it is a schema. Below a reference, the steps lead on into the named schema.
    """
    node: Any = tree
    for step in place.split("/"):
        children = _children(node, tree)
        if step not in children:
            return False
        node = children[step]
    return True


def _children(node: Any, tree: Any) -> dict[str, Any]:
    if isinstance(node, dict):
        named = tree.get("schemas", {}).get(str(node.get("$ref", "")).removeprefix(REFERENCE))
        return {**({} if named is None else _children(named, tree)), **{str(key): item for key, item in node.items()}}
    if isinstance(node, list):
        return {_step(item, at): item for at, item in enumerate(node)}
    return {}


def _step(item: Any, at: int) -> str:
    is_schema = isinstance(item, dict) and item.keys().isdisjoint(ITEM_NAMES)
    return str(at) if is_schema else identify_item(item)
