"""Read the description of a schema with the grammar of pages: ranges, defaults and values that only its words state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from bs4 import BeautifulSoup
from markdown_it import MarkdownIt

from openapi.reading.compare.contract_facts import schema_fact
from openapi.reading.compare.schema_keywords import close_ends, is_expressible, update_schema
from openapi.reading.facts.fact import ATTRIBUTES, RANGES, Fact, is_stated
from openapi.reading.facts.facts import read_facts
from openapi.reading.grammar.interval import same_values
from openapi.reading.grammar.statement import DescribedDefault
from openapi.reading.pages.cell_items import cell_items
from openapi.reading.pages.row import Cell, Rows, TableRow

if TYPE_CHECKING:
    from openapi.schema.json_schema import Schema, Schemas

DEFAULT_NOTE = "x-default-note"
"""Where a schema that is being imported keeps a default that its description states in words."""


def add_described_facts(
    schema: Schema, description: str, name: str, schemas: Schemas
) -> tuple[Schema, list[str], list[str]]:
    """Return the schema with what its description states in addition, the text that is not understood, and prose.

    name: of the parameter or field that the description is about. Text that contradicts the schema is not understood.
    Prose is not understood either, and does not seem to state a fact.
    """
    fact, inner = _read(description, name)
    left = list(fact.unread)
    known = schema_fact(schema, schemas)
    news = []
    for attribute in ATTRIBUTES:
        value = getattr(fact, attribute)
        if attribute == "required" or not is_stated(attribute, value):
            continue
        own = getattr(known, attribute)
        if attribute == "types" and own:
            if not set(value) <= {*own, *(("number",) if "integer" in own else ())}:
                left += _words(fact, attribute)
        elif attribute == "default":
            left += _set_default(schema, value, _words(fact, attribute))
        elif is_stated(attribute, own) and attribute != "nullable":
            if not _agrees(attribute, value, own):
                left += _words(fact, attribute)
        elif is_expressible(attribute, fact):
            news.append(attribute)
        elif attribute != "nullable":
            left += _words(fact, attribute)
    left += [statement.text for other in inner for statement in other.read if statement.attribute != "exists"]
    prose = [text for one in (fact, *inner) for text in one.prose]
    return (update_schema(schema, fact, news) if news else schema), list(dict.fromkeys(filter(None, left))), prose


def _read(description: str, name: str) -> tuple[Fact, list[Fact]]:
    """Read the fact about a name, and those about its elements and fields."""
    html = MarkdownIt("commonmark").render(description)
    items = tuple(cell_items(BeautifulSoup(html, "html.parser")))
    row = TableRow("response", (name,), 0, prose=Cell(items, 0))  # unread prose counts only if it may state a fact
    first, *others = read_facts(Rows("description", (row,))).facts
    return close_ends(first), others


def _set_default(schema: Schema, value: Any, words: list[str]) -> list[str]:
    if isinstance(value, DescribedDefault):
        if "default" not in schema:
            schema[DEFAULT_NOTE] = str(value)
        return []
    if "default" not in schema:
        schema["default"] = value
        return []
    return [] if schema["default"] == value or str(schema["default"]) == str(value) else words


def _words(fact: Fact, attribute: str) -> list[str]:
    return [statement.text for statement in fact.read if statement.attribute in (attribute, "also")]


def _agrees(attribute: str, value: Any, own: Any) -> bool:
    if attribute in RANGES:
        return same_values(value, own, whole=attribute != "range")
    return (
        bool(value == own or set(map(str, value)) <= set(map(str, own))) if isinstance(value, tuple) else value == own
    )
