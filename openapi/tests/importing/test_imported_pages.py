"""Pages of an invented vendor: every notation is read, and every cell that is not becomes a to-do."""

from __future__ import annotations

from random import Random
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from click.testing import CliRunner

from openapi.contract.contract import load
from openapi.contract.parameter import ABSENT, Keyword
from openapi.importing.dialect_commands import new
from openapi.reading.facts.facts import read_facts
from openapi.reading.pages.nesting import NOWHERE
from openapi.reading.pages.page import read_page
from openapi.tests.importing.importing import imported

if TYPE_CHECKING:
    from pathlib import Path

    from openapi.contract.contract import Contract

# The cell of a range, and its bounds for a number
RANGES = {
    "[0, 1.5]": {"minimum": 0.0, "maximum": 1.5},
    "(0, 2]": {"exclusiveMinimum": 0.0, "maximum": 2.0},
    "0 <= x <= 2": {"minimum": 0.0, "maximum": 2.0},
    "0 < x < 2": {"exclusiveMinimum": 0.0, "exclusiveMaximum": 2.0},
    "Between 0 and 1.5": {"minimum": 0.0, "maximum": 1.5},
    "1 to 4096": {"minimum": 1.0, "maximum": 4096.0},
    "0 through 2": {"minimum": 0.0, "maximum": 2.0},
    "from 0.0 to 2.0": {"minimum": 0.0, "maximum": 2.0},
    "up to 8192": {"maximum": 8192.0},
    "at least 1": {"minimum": 1.0},
    "1+": {"minimum": 1.0},
    ">= 0": {"minimum": 0.0},
    "-2.0 - 2.0": {"minimum": -2.0, "maximum": 2.0},
}
PARAGRAPH = """\
<ParamField body="temperature" type="number" default="0.7">
  Required range: `0 <= x <= 1.5`
</ParamField>
<ParamField body="model" type="string" required>The model.</ParamField>
<ParamField body="voice" type="enum<string>" default={"low"}>Available options: `low`, `high`</ParamField>
<ParamField body="n" type="integer | null">Defaults to 1. At most 4.</ParamField>
"""
BULLETS = """\
## Request parameters

- `temperature` (number, optional): Between 0 and 1.5. Defaults to 0.7.
- `model` (string, required): The model.
- **voice** (string): One of low, high. Default: `low`.
- `n` (integer | null) - At most 4. Defaults to 1.
"""
TABLE = """\
### Body

| Default | Nullable note | Parameter | Range | Data type | Description | Required |
|---|---|---|---|---|---|---|
| 0.7 | | temperature | Between 0 and 1.5 | float | Sampling. | no |
| - | | `model` | | string | The model. | yes |
| low | | voice | Possible values: low, high | string | | no |
| 1 | can be null | n | at most 4 | integer | Choices. | no |
"""
BLOCK = """\
# Chat

````yaml POST /chat/completions
openapi: 3.1.0
info: {title: Acme, version: '1'}
paths:
  /chat/completions:
    post:
      requestBody:
        content:
          application/json:
            schema:
              type: object
              required: [model]
              properties:
                model: {type: string}
                temperature: {type: number, minimum: 0, maximum: 1.5, default: 0.7}
                voice: {type: string, enum: [low, high], default: low}
                n: {type: [integer, 'null'], maximum: 4, default: 1}
````
"""
HTML = """<html><body><h2>Request body</h2><table>
<tr><th>Type</th><th>Field</th><th>Default</th><th>Constraints</th><th>Required</th></tr>
<tr><td>number</td><td>temperature</td><td>0.7</td><td>between 0 and 1.5</td><td>&#10060;</td></tr>
<tr><td>string</td><td><code>model</code></td><td></td><td>any text</td><td>&#9989;</td></tr>
<tr><td>string</td><td>voice</td><td>low</td><td>one of low, high</td><td>No</td></tr>
<tr><td>integer or null</td><td>n</td><td>1</td><td>at most 4</td><td>No</td></tr>
</table></body></html>"""
OTHER_HEADERS = """\
### Body

| Setting key | Notes for users | Kind | Permitted interval | Preset | Is it mandatory? | Small print |
|---|---|---|---|---|---|---|
| temperature | Sampling. | number | 0 through 1.5 | 0.7 | no | - |
| model | The model. | string | | | yes | - |
| voice | One of low, high. | string | | low | no | - |
| n | Can be null. | integer | at most 4 | 1 | no | - |
"""
PAGES = {
    "others.md": OTHER_HEADERS,
    "fields.mdx": PARAGRAPH,
    "list.md": BULLETS,
    "table.md": TABLE,
    "block.md": BLOCK,
    "page.html": HTML,
}


def bounds(contract: Contract, name: str) -> dict[str, Any]:
    schema = contract.parameters[name].schema
    return {key: value for key, value in schema.items() if "imum" in key}


@pytest.mark.parametrize("name", PAGES)
def test_the_same_facts_are_read_from_each_form(name: str, tmp_path: Path) -> None:
    contract, _ = imported(PAGES[name], tmp_path, name)
    parameters = contract.parameters
    assert (0.7, {"minimum": 0.0, "maximum": 1.5}) == (
        parameters["temperature"].default,
        bounds(contract, "temperature"),
    )
    assert (["low", "high"], "low") == (parameters["voice"].schema["enum"], parameters["voice"].default)
    n = parameters["n"]
    assert (4, 1, "accept") == (n.schema["maximum"], n.default, n.null.expect)
    assert (True, False) == (parameters["model"].required, parameters["temperature"].required)


@pytest.mark.parametrize("seed", range(3))
def test_a_table_is_read_in_any_order_of_columns_and_notation(seed: int, tmp_path: Path) -> None:
    chance = Random(seed)
    headers = ["Parameter", "Type", "Required", "Default", "Range", "Small print"]
    chance.shuffle(headers)
    rows = []
    for at, notation in enumerate(RANGES):
        cells = {"Parameter": f"knob_{at}", "Type": "number", "Required": "no", "Default": "", "Range": notation}
        rows.append([cells.get(header, "") for header in headers])
    lines = ["### Request", "", *(f"| {' | '.join(row)} |" for row in (headers, ["---"] * len(headers), *rows))]
    contract, todos = imported("\n".join(lines), tmp_path, "table.md")
    assert list(RANGES.values()) == [bounds(contract, f"knob_{at}") for at in range(len(RANGES))]
    assert [] == [todo for todo in todos if "knob" in todo]


@pytest.mark.parametrize(
    ("cell", "todo"),
    [
        ("| level | integer | no | 1 | somewhere below 7 | |", "Range: somewhere below 7"),
        ("| level | frobnitz | no | 1 | [0, 7] | |", "frobnitz"),
        ("| level | integer | sometimes | 1 | [0, 7] | |", "sometimes"),
        ("| level | integer | no | 1 | [0, 7] | must be prime |", "Small print: must be prime"),
        ("| level | integer | no | 1 | [0, 7] | ignored by other models |", "Small print: ignored by other models"),
        ("| level | integer | no | 1 | [0, 7] | greater than that of the parent |", "Small print: greater than that"),
        ("| level | integer | no | 1 | [0, 7] | mutually exclusive with stage |", "Small print: mutually exclusive"),
        ("| level | integer | no | 9 | [0, 7] | |", "9"),
    ],
)
def test_a_cell_that_is_not_understood_is_a_todo_with_its_line(cell: str, todo: str, tmp_path: Path) -> None:
    header = "| Parameter | Type | Required | Default | Range | Small print |\n|---|---|---|---|---|---|"
    page = f"### Request\n\n{header}\n{cell}\n"
    contract, todos = imported(page, tmp_path, "table.md")
    assert "level" in contract.parameters
    assert [line for line in todos if line.startswith("level (line 5)") and todo in line]


@pytest.mark.parametrize("quotes", [True, False])
def test_prose_without_a_hint_is_a_comment_at_the_end(quotes: bool, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    header = "| Parameter | Type | Description |\n|---|---|---|"
    page.write_text(f"### Request\n\n{header}\n| level | integer | At most 9. May be odd on Mondays. |\n")
    result = CliRunner().invoke(new, [str(page), "--extends", "openai", "--quotes" if quotes else "--no-quotes"])
    assert 0 == result.exit_code
    told = "# - level (line 5): May be odd on Mondays"
    few = "# Left out: 1 passage without a word that hints at a fact."
    assert [told if quotes else few] == result.stdout.splitlines()[-1:]
    assert not [todo for todo in yaml.safe_load(result.stdout)["todo"] if "odd" in todo]


def test_operations_on_other_paths_are_not_read(tmp_path: Path) -> None:
    other = BULLETS.replace("temperature", "pooling")
    page = f"# API\n\n## POST `/v1/chat/completions`\n\n#{BULLETS}\n## POST `/v1/embeddings`\n\n#{other}"
    contract, _ = imported(page, tmp_path, "list.md")
    assert {"temperature", "model", "voice", "n", "messages"} == set(contract.parameters)


def test_what_a_page_does_not_state_is_inherited(tmp_path: Path) -> None:
    contract, _ = imported(BULLETS, tmp_path, "list.md")
    assert load("openai").parameters["model"].schema == contract.parameters["model"].schema
    assert contract.parameters["model"].default is ABSENT
    assert {"minimum": 1, "maximum": 4} == bounds(contract, "n")


@pytest.mark.parametrize("name", [name for name in PAGES if name != "block.md"])
def test_a_fact_that_a_page_does_not_state_is_by_analogy(name: str, tmp_path: Path) -> None:
    """No page says that the temperature may be null, and its type leaves null out, so that both answers pass."""
    contract, _ = imported(PAGES[name], tmp_path, name)
    model, temperature = contract.parameters["model"], contract.parameters["temperature"]
    assert ("openai-api-2026#request/model", Keyword.SHOULD) == (model.null.source, model.null.keyword)
    assert (f"{contract.document.id}#request/temperature", Keyword.MAY) == (
        temperature.null.source,
        temperature.null.keyword,
    )
    for parameter in (model, temperature):
        assert parameter.source == f"{contract.document.id}#request/{parameter.name}"


def test_the_form_of_messages_is_by_analogy_if_a_page_states_only_how_many_there_are(tmp_path: Path) -> None:
    page = "### Request parameters\n\n| Name | Type | Notes |\n|---|---|---|\n| messages | array | 1 to 32 messages |\n"
    contract, _ = imported(page, tmp_path, "table.md")
    messages = contract.parameters["messages"]
    assert (1, 32) == (messages.schema["minItems"], messages.schema["maxItems"])
    own, other = f"{contract.document.id}#request/messages", "openai-api-2026#request/messages"
    cited = {key: messages.source_of(key) for key in ("type", "minItems", "maxItems", "items")}
    assert {"type": own, "minItems": own, "maxItems": own, "items": other} == cited
    binding = {probe.name for probe in messages.probes if probe.keyword is Keyword.MUST}
    assert {"not-a-list"} == binding


def test_an_unstated_default_is_by_analogy(tmp_path: Path) -> None:
    page = "### Request parameters\n\n| Name | Type |\n|---|---|\n| temperature | number |\n| top_p | number |\n"
    contract, _ = imported(page, tmp_path, "table.md")
    temperature = contract.parameters["temperature"]
    assert load("openai").parameters["temperature"].default == temperature.default
    assert ("openai-api-2026#request/temperature", Keyword.SHOULD) == (
        temperature.source_of("default"),
        temperature.acceptance("default"),
    )


OBJECT = """## Parameters

| Name | Type | Required |
|---|---|---|
| model | string | yes |
| messages | array | yes |
| style | object | no |

## {title}

| Field | Type | Required |
|---|---|---|
| role | string | yes |
| weight | number | yes |
"""


def paths(page: str) -> set[str]:
    """Return the paths of all facts of a page."""
    return {fact.path for fact in read_facts(read_page(page.encode(), "page.md"), strict=False).facts}


@pytest.mark.parametrize(
    ("title", "path"),
    [("Message object", "messages[]"), ("The `Messages` item", "messages[]"), ("Style fields", "style")],
)
def test_a_table_about_an_object_describes_the_parameter_with_its_name(title: str, path: str) -> None:
    assert {"model", "messages", "style", f"{path}.role", f"{path}.weight"} == paths(OBJECT.format(title=title))


@pytest.mark.parametrize("title", ["Pricing object", "Tool call item"])
def test_a_table_about_an_object_that_no_parameter_has_is_a_todo(title: str, tmp_path: Path) -> None:
    contract, todos = imported(OBJECT.format(title=title), tmp_path, "table.md")
    assert not {"role", "weight"} & set(contract.parameters)
    assert [todo for todo in todos if todo.startswith("page (line 11)") and NOWHERE in todo]


def test_a_table_about_the_body_of_the_request_is_about_no_object() -> None:
    assert {"model", "messages", "style", "role", "weight"} == paths(OBJECT.format(title="Request body schema"))


TYPES_ONLY = """### Request parameters

| Name | Type | Description |
|---|---|---|
| model | string | required |
| messages | array | required |
| temperature | number | Randomness. |
| presence_penalty | number | At most 0.9. |
| n | string | How many. |
"""


def test_limits_of_a_parameter_of_which_a_page_states_only_the_type_are_by_analogy(tmp_path: Path) -> None:
    contract, _ = imported(TYPES_ONLY, tmp_path, "table.md")
    cited = {
        (name, key): (parameter.schema[key], parameter.source_of(key).partition("#")[0], parameter.level(key))
        for name in ("temperature", "presence_penalty", "n")
        for parameter in [contract.parameters[name]]
        for key in ("type", "minimum", "maximum")
        if key in parameter.schema
    }
    own, parent = (contract.document.id, Keyword.MUST), ("openai-api-2026", Keyword.SHOULD)
    assert {
        ("temperature", "type"): ("number", *own),
        ("temperature", "minimum"): (0.0, *parent),
        ("temperature", "maximum"): (2.0, *parent),
        ("presence_penalty", "type"): ("number", *own),
        ("presence_penalty", "minimum"): (-2.0, *parent),
        ("presence_penalty", "maximum"): (0.9, *own),
        ("n", "type"): ("string", *own),
    } == cited
    says = {item.source.rpartition("/")[2]: item.says for item in contract.sentences}
    assert "temperature is a number" == says["temperature"]
    assert "presence_penalty is a number ≤ 0.9" == says["presence_penalty"]
    assert "messages is an array" == says["messages"]
