"""Pages with unknown headers, merged cells or lists: what is read, and what a person has to confirm."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from openapi.contract.contract import ContractError
from openapi.contract.parameter import ABSENT
from openapi.reading.facts.facts import read_facts
from openapi.reading.pages.columns import READ_AS, VALUES
from openapi.reading.pages.page import read_page
from openapi.tests.importing.importing import imported

if TYPE_CHECKING:
    from pathlib import Path

    from openapi.contract.contract import Contract
    from openapi.reading.facts.fact import Fact

ODD_HEADERS = """\
## Body of a chat request

| Knob | {shape} | {absent} | What it does | Bounds of it |
|---|---|---|---|---|
| `model` | string | - | Which model answers. Required. | |
| `messages` | list of messages | - | The conversation. Required. | Between 1 and 64 entries |
| `stream` | bool | false | Sends the answer in pieces. | |
| `temperature` | number or null | 0.8 | How bold the answer is. | from 0 to 1.6, inclusive |
| `stop` | list of strings | null | Words that end the answer. | no more than four items |
| `user` | string | everyone | Your user. | up to 128 characters |
"""
PROSE = """\
## Request fields

- **model** - string. Mandatory.
- **messages** - array of objects, mandatory. Holds 1 to 64 elements.
- **temperature** - a number or null; between 0 and 1.6; when omitted, 0.8.
- **stream** - boolean. Omitted means false.
- **stop** - array of strings. Up to 4 strings. It falls back to null.
- **user** - string of up to 128 characters.
"""
DEFINITIONS = """<html><body><h1>Gull</h1><h2>Request parameters</h2>
<dl>
<dt><code>model</code> string, required</dt><dd>The model.</dd>
<dt><code>messages</code> array of objects; mandatory</dt><dd><p>The turns.</p><p>From 1 to 64 messages.</p>
<dl><dt><code>role</code> string, required</dt><dd>Who speaks.</dd>
<dt><code>weight</code> number</dt><dd>0 if absent.</dd></dl></dd>
<dt><code>temperature</code> (number or null)</dt><dd>From 0 to 1.6 inclusive. Defaults to 0.8.</dd>
<dt><code>stream</code> (boolean, optional)</dt><dd>false if not given.</dd>
<dt><code>stop</code> list of strings</dt><dd>At most 4 items. If you leave it out, null is used.</dd>
<dt><code>user</code> string</dt><dd>At most 128 characters long.</dd>
</dl></body></html>"""
MERGED = """<html><body><h1>Heron</h1><h2>Chat completion parameters</h2><table><thead>
<tr><th rowspan="2">Field</th><th rowspan="2">Holds</th><th colspan="2">Limits</th><th rowspan="2">When absent</th>
<th rowspan="2">Can be omitted?</th></tr><tr><th>Smallest</th><th>Largest</th></tr></thead><tbody>
<tr><td colspan="6"><b>Basics</b></td></tr>
<tr><td>model</td><td>string</td><td></td><td></td><td></td><td>no</td></tr>
<tr><td>messages</td><td>array of objects</td><td>1 message</td><td>64 messages</td><td></td><td>no</td></tr>
<tr><td colspan="6"><b>Sampling</b></td></tr>
<tr><td>temperature</td><td rowspan="2">number or null</td><td rowspan="2">0</td><td>1.6</td><td>0.8</td>
<td rowspan="3">yes</td></tr>
<tr><td>top_p</td><td>1</td><td>0.95</td></tr>
<tr><td>stream</td><td>boolean</td><td></td><td></td><td>false</td></tr>
<tr><td>stop</td><td>list of strings</td><td></td><td>4 sequences</td><td>null</td><td>yes</td></tr>
<tr><td>user</td><td>string</td><td></td><td>128 characters</td><td></td><td>yes</td></tr>
</tbody></table></body></html>"""
PAGES = {
    "odd.md": ODD_HEADERS.format(shape="Shape", absent="If left out"),
    "prose.md": PROSE,
    "definitions.html": DEFINITIONS,
    "merged.html": MERGED,
}


def facts_of(page: str, name: str = "page.md") -> dict[str, Fact]:
    """The facts of a page by their paths."""
    return {fact.path: fact for fact in read_facts(read_page(page.encode(), name), strict=False).facts}


def sizes(contract: Contract, name: str) -> dict[str, Any]:
    schema = contract.parameters[name].schema
    return {key: value for key, value in schema.items() if key.startswith(("min", "max"))}


@pytest.mark.parametrize("name", PAGES)
def test_the_same_facts_are_read_from_each_style(name: str, tmp_path: Path) -> None:
    contract, todos = imported(PAGES[name], tmp_path, name)
    parameters = contract.parameters
    assert {"minItems": 1, "maxItems": 64} == sizes(contract, "messages")
    assert {"maxItems": 4} == sizes(contract, "stop")
    assert {"maxLength": 128} == sizes(contract, "user")
    assert {"minimum": 0.0, "maximum": 1.6} == sizes(contract, "temperature")
    assert (0.8, False, None) == tuple(parameters[name].default for name in ("temperature", "stream", "stop"))
    assert [True, True, False, False] == [
        parameters[name].required for name in ("model", "messages", "stream", "temperature")
    ]
    assert "accept" == parameters["temperature"].null.expect
    assert "boolean" == parameters["stream"].schema["type"]
    lost = ("stream", "temperature", "stop", "If left out", "When absent")
    assert [] == [todo for todo in todos if todo.startswith(lost)]


@pytest.mark.parametrize(
    "header", ["Shape", "Form of it", "What to send", "JSON", "Holds", "Takes a", "Of which sort", "🛠"]
)
def test_a_column_of_types_is_known_by_its_cells_and_a_person_confirms_it(header: str, tmp_path: Path) -> None:
    contract, todos = imported(ODD_HEADERS.format(shape=header, absent="Default"), tmp_path, "odd.md")
    assert ["array", "boolean", "string"] == [
        contract.parameters[name].schema["type"] for name in ("stop", "stream", "user")
    ]
    assert f"page (line 3): {header}: {READ_AS.format('types')}" in todos
    assert "messages (line 6): list of messages" in todos  # what the elements are is left to a person


@pytest.mark.parametrize(
    "header",
    [
        *("Default", "If left out", "When omitted", "When absent", "Unset", "If not sent", "Value when missing"),
        *("Preset", "Fallback", "Falls back to", "Leaving it out means", "If unspecified", "Initial value", "缺省"),
    ],
)
def test_a_header_about_absence_makes_a_column_of_defaults(header: str, tmp_path: Path) -> None:
    contract, _ = imported(ODD_HEADERS.format(shape="Type", absent=header), tmp_path, "odd.md")
    values = [contract.parameters[name].default for name in ("stream", "temperature", "stop", "model")]
    assert [False, 0.8, None, ABSENT] == values
    assert ("everyone", ABSENT) == (contract.parameters["user"].default_note, contract.parameters["user"].default)


def test_values_below_a_header_that_does_not_say_of_what_are_left_to_a_person(tmp_path: Path) -> None:
    page = ODD_HEADERS.format(shape="Type", absent="In the wild").replace("| everyone |", "| 7 |")
    contract, todos = imported(page, tmp_path, "odd.md")
    assert f"page (line 3): In the wild: {VALUES}" in todos
    assert contract.parameters["temperature"].default != 0.8
    examples, others = imported(page.replace("In the wild", "Example"), tmp_path, "odd.md")
    assert [] == [todo for todo in others if VALUES in todo]
    assert examples.parameters["temperature"].default != 0.8


@pytest.mark.parametrize("header", ["Optional", "Optional?", "Is optional", "Can be omitted", "May be left out?"])
def test_an_answer_about_omission_is_the_opposite_of_one_about_requirement(header: str) -> None:
    page = f"### Request\n\n| Name | Type | {header} |\n|---|---|---|\n| a | string | no |\n| b | string | yes |\n"
    assert {"a": "yes", "b": "no"} == {path: fact.required for path, fact in facts_of(page).items()}
    required = page.replace(header, "Required")
    assert {"a": "no", "b": "yes"} == {path: fact.required for path, fact in facts_of(required).items()}
    words = page.replace("| no |", "| required |").replace("| yes |", "| optional |")
    assert {"a": "yes", "b": "no"} == {path: fact.required for path, fact in facts_of(words).items()}


@pytest.mark.parametrize(
    ("words", "kind", "expected"),
    [
        ("between 1 and 64 entries", "array", {"items": "[1, 64]"}),
        ("Must contain 2 to 8 pictures", "array", {"items": "[2, 8]"}),
        ("at least one file", "array", {}),  # the singular of an unknown unit may be another word
        ("at least one message", "array", {"items": "[1, ∞)"}),
        ("exactly three voices", "list of strings", {"items": "3"}),
        ("12 or fewer labels", "array", {"items": "[0, 12]"}),
        ("2+ turns", "array", {"items": "[2, ∞)"}),
        ("up to 1,000 rows", "string or list of strings", {"items": "[0, 1000]"}),
        ("Maximum length: 5", "array", {"items": "[0, 5]"}),
        ("up to 30 seconds", "integer", {"range": "(-∞, 30]"}),
        ("between 1 and 5 choices", "integer", {"range": "[1, 5]"}),
        ("at most 9 items", "number", {"range": "(-∞, 9]"}),
        ("between 2 and 40 characters", "string", {"length": "[2, 40]"}),
        ("1 to 4096 tokens", "integer", {"range": "[1, 4096]"}),
        ("at most 9 lines", "string", {}),
        ("at most 3 items", "boolean", {}),
        ("at most 2 decimals", "number", {}),
        ("between 0 and 1 exclusive", "number", {}),
        ("at least 2 of the messages", "array", {}),
        ("between 8 and 2 entries", "array", {}),
        ("up to 5 bytes", "array", {}),
    ],
)
def test_an_amount_is_read_by_its_unit_and_the_type_and_else_left_to_a_person(
    words: str, kind: str, expected: dict[str, str]
) -> None:
    page = (
        f"### Request\n\n| Name | Type | Description |\n|---|---|---|\n| a | {kind} | {words} |\n| b | string | x |\n"
    )
    fact = facts_of(page)["a"]
    found = {name: str(getattr(fact, name)[0]) for name in ("items", "length", "range") if getattr(fact, name)}
    assert (expected, () if expected else (words,)) == (found, fact.unread)


def test_the_unit_of_numbers_may_stand_in_the_header() -> None:
    page = """### Request

| Name | Type | Max length | Min items | Minimum | Maximum tokens |
|---|---|---|---|---|---|
| user | string | 64 | | | |
| stop | list of strings | 4 | 1 | | |
| n | integer | | | 1 | |
| limit | integer | | | | 512 |
"""
    facts = facts_of(page)
    assert "[0, 64]" == str(facts["user"].length[0])
    assert "[1, 4]" == str(facts["stop"].items[0])
    assert ("[1, ∞)", "(-∞, 512]") == (str(facts["n"].range[0]), str(facts["limit"].range[0]))


def test_a_title_in_a_table_is_no_parameter_and_a_second_row_of_headers_neither() -> None:
    assert {"model", "messages", "temperature", "top_p", "stream", "stop", "user"} == {
        path for path in facts_of(MERGED, "page.html") if not path.endswith("[]")
    }


def test_fields_in_a_definition_belong_to_the_parameter_that_it_defines() -> None:
    facts = facts_of(DEFINITIONS, "page.html")
    assert ("yes", 0) == (facts["messages[].role"].required, facts["messages[].weight"].default)
    assert {"role", "weight"}.isdisjoint(facts)


def test_a_range_is_kept_when_a_page_states_nothing_else_of_a_parameter(tmp_path: Path) -> None:
    contract, _ = imported("## Parameters\n\n- `top_p`: Between 0 and 0.9.\n- `n`: From 1 to 3.\n", tmp_path, "page.md")
    assert {"minimum": 0.0, "maximum": 0.9} == sizes(contract, "top_p")
    assert {"minimum": 1, "maximum": 3} == sizes(contract, "n")


BAD = {
    "models": "## Models\n\n| Model | Context | Price |\n|---|---|---|\n| small | 4096 | 1 |\n| large | 8192 | 2 |\n",
    "a glossary": "<html><h1>Words</h1><dl><dt>Token</dt><dd>A piece.</dd><dt>Prompt</dt><dd>Text.</dd></dl></html>",
    "titles alone": "<h2>Request</h2><table><tr><th>A</th><th>B</th></tr><tr><td colspan=2>x</td></tr></table>",
    "no names": "## Request\n\n| Thing | Shape |\n|---|---|\n| one big thing | string |\n| two of them | number |\n",
    "one row": "## Request\n\n| Knob | Shape |\n|---|---|\n| temperature | number |\n",
    "mixed cells": "## Request\n\n| Knob | Shape |\n|---|---|\n| a | number |\n| b | a while |\n| c | soon |\n",
    "only headers": "<h2>Request</h2><table><tr><th rowspan=3>Name</th><th>Type</th></tr></table>",
}


@pytest.mark.parametrize("name", BAD)
def test_a_page_without_parameters_is_one_line(name: str) -> None:
    with pytest.raises(ContractError) as caught:
        read_page(BAD[name].encode(), "page.md")
    assert str(caught.value).startswith("page.md: line 1: no table of parameters: expected ")
    assert "\n" not in str(caught.value)


def test_json_in_the_line_of_a_parameter_is_no_answer(tmp_path: Path) -> None:
    page = (
        "# Wren\n\n## Request\n\n- `model` (string, required)\n- `messages` (array, required)\n"
        '- `response_format` (object, optional) `{"type": "text"}` or `{"type": "json_object"}`\n'
    )
    contract, todos = imported(page, tmp_path, "page.md")
    assert "type" not in contract.schemas["ChatCompletion"]["properties"]
    assert ["response_format (line 7)"] == [todo.partition(":")[0] for todo in todos]
