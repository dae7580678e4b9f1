"""Parameters without lists and tables: plain lines, types of TypeScript, and requests with comments."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from openapi.contract.parameter import Keyword
from openapi.importing.page_interface import ABSENT_NAME, UNREAD_LINE
from openapi.reading.facts.facts import read_facts
from openapi.reading.pages.code.declared_types import OTHER, UNDECLARED, UNREAD
from openapi.reading.pages.page import read_page
from openapi.tests.importing.importing import imported

if TYPE_CHECKING:
    from pathlib import Path

    from openapi.reading.facts.fact import Fact

LINES = """# Merlin

## Request

{}
"""
TYPES = """# Merlin

```ts
{}
export interface ChatRequest extends Shared {{
  model: string;
  messages: Message[]; // 1 to 64 entries
  n?: 1 | 2;
  max_tokens?: number;
  weight?: number;
  tool?: Tool | null;
}}
interface Shared {{ user?: string }} // at most 64 characters
type Message = {{ role: "user"; content: string }} | {{ role: Other; content: string | null; name?: string }};
enum Other {{ Bot = "bot" }}
```
"""


def facts_of(page: str) -> dict[str, Fact]:
    return {fact.path: fact for fact in read_facts(read_page(page.encode(), "page.md"), strict=False).facts}


def unread_of(page: str) -> list[str]:
    return [passage.reason for passage in read_page(page.encode(), "page.md").unread]


def test_lines_of_a_paragraph_describe_one_parameter_each() -> None:
    facts = facts_of(
        LINES.format(
            "These fields are sent:\nmodel: string, required. The model's name.\n"
            'messages: list of objects, required. Each has a role ("user" or "bot") and content, a string.\n'
            "top_p - number between 0 and 1, default 1\n  and nothing else.\nmood: string, one of calm, wild."
        )
    )
    assert ["model", "messages", "messages[]", "messages[].role", "messages[].content", "top_p", "mood"] == list(facts)
    assert (("user", "bot"), ("string",)) == (facts["messages[].role"].enum, facts["messages[].content"].types)
    assert ("calm", "wild") == facts["mood"].enum


@pytest.mark.parametrize(
    "line", ["note: string values are cut", "Note: string", "string, required", "model small", "size, a word, string"]
)
def test_a_sentence_that_begins_with_a_word_is_no_parameter(line: str) -> None:
    facts = facts_of(LINES.format(f"model: string\n\nmessages: array\n\n{line}\n\nThe end."))
    assert ["model", "messages"] == list(facts)


def test_parameters_of_a_manual_page_end_with_its_next_heading_in_capitals() -> None:
    page = "NAME\n     merlin\n\nREQUEST BODY\n     model string\n             Required.\n\n"
    page += "     messages array\n             Required.\n\nRESPONSE BODY\n     id string\n\n     cost: number\n"
    rows = read_page(page.encode(), "page.txt").rows
    expected = [("request", "model"), ("request", "messages"), ("response", "id"), ("response", "cost")]
    assert expected == [(row.part, *row.path) for row in rows]


def test_types_state_fields_of_unions_references_and_parents(tmp_path: Path) -> None:
    facts = facts_of(TYPES.format(""))
    assert {"user", "bot"} == set(facts["messages[].role"].enum)
    assert {"content": "yes", "name": "no"} == {
        name: facts[f"messages[].{name}"].required for name in ("content", "name")
    }
    assert (True, None) == (facts["messages[].content"].nullable, facts["messages[].name"].nullable)
    assert (1, 2) == facts["n"].enum
    assert [UNDECLARED] == unread_of(TYPES.format(""))
    contract, _ = imported(TYPES.format(""), tmp_path, "page.md")
    assert ("string", True) == (contract.parameters["user"].schema["type"], "weight" in contract.parameters)


def test_a_number_of_typescript_is_an_integer_only_by_analogy(tmp_path: Path) -> None:
    contract, _ = imported(TYPES.format(""), tmp_path, "page.md")
    tokens, weight = contract.parameters["max_tokens"], contract.parameters["weight"]
    assert ("integer", Keyword.SHOULD) == (tokens.schema["type"], tokens.level("type"))
    assert ("number", Keyword.MUST) == (weight.schema["type"], weight.level("type"))


@pytest.mark.parametrize(
    ("code", "reason"), [("interface Price { amount: number }", OTHER), ("interface Price { ( amount", UNREAD)]
)
def test_types_that_are_no_part_of_the_interface_are_todos(code: str, reason: str) -> None:
    page = TYPES.format("") + f"\n```ts\n{code}\n```\n"
    assert [UNDECLARED, reason] == sorted(unread_of(page), key=[UNDECLARED, reason].index)


def test_comments_of_a_request_belong_to_the_field_on_their_line_or_below_them() -> None:
    page = '# Merlin\n\n```js\nsend({\n  model: "small", // required\n  // array, 1-64 entries\n  messages: [\n'
    page += '    { role: "user", // "user" or "bot"\n      content: "Hi. // no" }\n  ],\n  stream: false,\n'
    page += '  max_tokens: 16 // integer, 1-4096\n})\n```\n\n```json\n{"messages": [], "seed": 1}\n```\n'
    facts = facts_of(page)
    assert ["model", "messages", "messages[].role", "stream", "max_tokens"] == list(facts)
    actual: dict[str, Any] = {name: (fact.types, fact.required, fact.enum) for name, fact in facts.items()}
    assert ((), "yes", ()) == actual["model"]
    assert (("string",), None, ("user", "bot")) == actual["messages[].role"]
    assert (1, 4096) == (facts["max_tokens"].range[0].low, facts["max_tokens"].range[0].high)
    assert (1, 64) == (facts["messages"].items[0].low, facts["messages"].items[0].high)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("messages hold the turns.", f"messages (line 8): {UNREAD_LINE}: inherited"),
        ("> **messages** hold the turns.", f"messages (line 8): {UNREAD_LINE}: inherited"),
        ("The messages hold the turns.", f"messages (page): {ABSENT_NAME}"),
        ("messages_sent hold the turns.", f"messages (page): {ABSENT_NAME}"),
    ],
)
def test_no_todo_says_that_a_name_is_not_on_the_page_if_a_line_begins_with_it(
    line: str, expected: str, tmp_path: Path
) -> None:
    page = LINES.format(f"model: string, required.\nn: integer, 1 to 4.\n\n{line}")
    _, todos = imported(page, tmp_path, "page.md")
    assert expected in todos


def test_a_single_line_that_no_reader_takes_for_a_parameter_is_a_todo(tmp_path: Path) -> None:
    page = LINES.format("| Name | Type |\n|---|---|\n| model | string |\n| n | integer |")
    _, todos = imported(f"{page}\n## Elsewhere\n\ntop_p: number, 0 to 1.\n", tmp_path, "page.md")
    assert f"top_p (line 12): {UNREAD_LINE}: left out" in todos
