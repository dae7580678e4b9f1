"""Values and labels of pages: values in lists and behind words, labels of sections, examples, and the document's id."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from openapi.contract.parameter import ABSENT
from openapi.tests.importing.importing import imported
from openapi.tests.importing.test_unusual_pages import facts_of

if TYPE_CHECKING:
    from pathlib import Path

ROW = "### Request body\n\n| Name | Type | Required | Default | Description |\n|---|---|---|---|---|\n{0}\n"
FIELD = """\
## Body

<ParamField body="messages" type="object[]" required>The turns.</ParamField>

<ParamField body="mood" type="string | object">
  How it speaks.

  * `calm` - softly
  * `user` - as you are
</ParamField>
"""
VALUES = """\
## Request body

| Name | Type | Required |
|---|---|---|
| messages | array | yes |

**`mood`** (string)
How it speaks. Some values:

- `calm`
- `wild`
"""


@pytest.mark.parametrize("page", [FIELD, VALUES])
def test_values_in_a_list_are_no_parameters(page: str) -> None:
    names = {path.partition("[")[0] for path in facts_of(page)}
    assert set() == names - {"messages", "mood"}


def test_values_in_code_behind_words_that_name_them_are_all_values_of_a_string() -> None:
    page = ROW.format(
        "| depth | string | no | | Depth of thought: `low`/`mid`/`high` |\n"
        "| 深度 | string | no | | 不读 |\n"
        "| tone | string | no | | 语气：`soft`、`loud` |\n"
        "| voice | string | no | | Such as: `alto`/`bass` |\n"
        "| shape | object | no | | Shape: `round`/`flat` |\n"
    )
    facts = facts_of(page)
    expected = {"depth": ("low", "mid", "high"), "tone": ("soft", "loud"), "voice": (), "shape": ()}
    assert expected == {name: facts[name].enum for name in expected}


def test_labels_of_a_section_are_read_in_chinese_and_behind_a_sign() -> None:
    page = (
        "## 请求参数\n\n### 🎈 **`mood`**\n\n- 类型：字符串或 null\n- 必需：否\n- 默认值：calm\n\n语气。\n\n"
        "### 🪶 `messages` [array]\n\n- 必填：是\n"
    )
    facts = facts_of(page)
    assert (("string",), True, "no") == (facts["mood"].types, facts["mood"].nullable, facts["mood"].required)
    assert (("array",), "yes") == (facts["messages"].types, facts["messages"].required)


@pytest.mark.parametrize(
    ("titles", "expected"),
    [
        (("Required parameters", "Optional parameters"), ("yes", "no")),
        (("必填参数", "可选参数（其他）"), ("yes", "no")),
        (("Request parameters", "More parameters"), (None, None)),
    ],
)
def test_a_heading_says_whether_the_parameters_below_it_are_required(
    titles: tuple[str, str], expected: tuple[str | None, str | None]
) -> None:
    table = "| Parameter | Type |\n|---|---|\n| {0} | array |\n| {1} | string |\n"
    page = (
        f"# Request\n\n## {titles[0]}\n\n{table.format('messages', 'model')}\n"
        f"## {titles[1]}\n\n- `user` (string): You.\n- `stop` (string): The end.\n"
    )
    facts = facts_of(page)
    assert (expected[0], expected[0], expected[1]) == tuple(
        facts[name].required for name in ("messages", "model", "stop")
    )


def test_examples_in_a_column_of_their_own_are_not_todos(tmp_path: Path) -> None:
    page = (
        "## Request body\n\n| Name | Type | Required | Description | Example value |\n|---|---|---|---|---|\n"
        "| model | string | yes | The model. | 12 |\n| messages | array | yes | The turns. | `[1]` |\n"
    )
    contract, todos = imported(page, tmp_path, "page.md")
    assert [] == todos
    assert ABSENT == contract.parameters["model"].default


@pytest.mark.parametrize(
    ("title", "expected"),
    [("Heron Chat API", "heron-chat-api"), ("Heron Chat", "heron-chat-api"), ("苍鹭 API", "imported-api")],
)
def test_the_id_of_the_document_ends_with_api_once(title: str, expected: str, tmp_path: Path) -> None:
    page = f"# {title}\n\n{ROW.format('| model | string | yes | | The model. |')}"
    contract, _ = imported(page, tmp_path, "page.md")
    assert expected == contract.document.id
