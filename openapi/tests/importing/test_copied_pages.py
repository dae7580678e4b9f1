"""Pages whose text was copied: a line for each parameter, with its type and its description around it."""

from __future__ import annotations

from typing import Any

import pytest

from openapi.contract.contract import ContractError
from openapi.reading.grammar.interval import format_range
from openapi.reading.grammar.statement import UNSTATED
from openapi.reading.pages.page import read_page
from openapi.tests.importing.test_unusual_pages import facts_of

BELOW = """\
Puffin speaks

Request

messages
array

Required
The turns.

temperature
number or null

Optional
Defaults to 0.4
How bold it is, between 0 and 3.

stream
boolean

Optional
Defaults to false
Sends pieces.

n
integer

Optional
Defaults to 2
How many answers.

Returns

model
string

The model that answered.
"""
ABOVE = """\
Puffin speaks

array
messages
Required
The turns.

number or null
temperature
Optional
Constraints: minimum: 0 maximum: 3 default: 0.4

temperature

boolean
stream
Optional
Constraints: default: false

integer
n
Optional
Constraints: default: 2
"""
GLUED = """\
Puffin speaks

messages*array
The turns.

temperature?number | null
Default
0.4
Range
0 <= value <= 3

stream?boolean
Default
false

n?integer
Default
2
"""
LABELLED = """\
# Puffin speaks

 ** messages **  <a name="m"></a>
The turns.
Type: array
Required: Yes

 ** temperature **  <a name="t"></a>
How bold it is.
Type: number or null
Valid Range: Minimum value of 0. Maximum value of 3.
Required: No
Default: 0.4

 ** stream **  <a name="s"></a>
Type: boolean
Required: No
Default: false

 ** n **  <a name="n"></a>
Type: integer
Required: No
Default: 2
"""
SPANS = """\
# Puffin speaks

**messages**
<span style='color:#888'>array</span>
<span style='color:#f00'>必须</span>

对话。

**temperature**
<span style='color:#888'>number or null</span>
<span style='color:#888'>可选的</span>
<span style='color:#888'>默认值：0.4</span>

活泼程度，介于 0 和 3 之间。

**stream**
<span style='color:#888'>boolean</span>
<span style='color:#888'>可选的</span>
<span style='color:#888'>默认值：false</span>

**n**
<span style='color:#888'>integer</span>
<span style='color:#888'>可选的</span>
<span style='color:#888'>默认值：2</span>
"""
EXPECTED: dict[str, Any] = {
    "messages": (("array",), "yes", UNSTATED, None, False),
    "temperature": (("number",), "no", 0.4, True, True),
    "stream": (("boolean",), "no", False, None, False),
    "n": (("integer",), "no", 2, None, False),
}
STYLES = {"below": BELOW, "above": ABOVE, "glued": GLUED, "labelled": LABELLED, "spans": SPANS}


@pytest.mark.parametrize("style", STYLES)
def test_the_same_facts_are_read_from_each_style_of_a_copied_page(style: str) -> None:
    facts = facts_of(STYLES[style], "page.txt")
    assert EXPECTED == {
        name: (fact.types, fact.required, fact.default, fact.nullable, bool(fact.range))
        for name, fact in facts.items()
        if "[" not in name
    }
    assert format_range(facts["temperature"].range) in ("0..3", "[0, 3]")


def test_lines_below_the_answer_are_not_read_as_parameters_of_the_request() -> None:
    assert "model" not in facts_of(BELOW, "page.txt")
    assert "model" in facts_of(BELOW.replace("Returns\n\n", ""), "page.txt")


def test_a_few_names_alone_do_not_make_a_page() -> None:
    with pytest.raises(ContractError):
        read_page(b"Puffin\n\nstream\n\nIt flows.\n\nstop\n\nIt ends.\n\nuser\n\nIt is you.\n", "page.txt")


def test_names_in_code_and_in_objects_are_not_parameters() -> None:
    code = "```\nseed\nuser\n```\n{\n  top_p\n}\n"
    assert list(EXPECTED) == [path for path in facts_of(code + GLUED, "page.txt") if "[" not in path]


def test_a_role_of_restructured_text_is_not_a_part_of_a_value() -> None:
    page = (
        "## Request\n\n- `messages` (array, required): The turns.\n- `n` (int): At most :obj:`3`. (default: :obj:`2`)\n"
    )
    fact = facts_of(page)["n"]
    assert ("(-∞, 3]", 2) == (format_range(fact.range), fact.default)


def test_names_show_a_request_only_if_nothing_else_does() -> None:
    section = "### temperature [number]\n\nHow bold.\n\n### stop [string]\n\nIts end.\n"
    assert ["temperature", "stop"] == list(facts_of(section))
    table = "\n## Request body\n\n| Name | Type |\n|---|---|\n| messages | array |\n"
    assert ["messages"] == list(facts_of(section + table))


def test_a_parameter_of_its_own_below_the_heading_of_another_is_no_field_of_it() -> None:
    page = (
        "## Request\n\n### `tools` [object[]]\n\nThe tools.\n\n### `tool_choice` [string]\n\nWhich tool.\n\n"
        "logprobs [boolean]\nWhether to tell.\n\nwing [integer]\nHow wide.\n"
    )
    assert {"tools", "tools[]", "tool_choice", "logprobs", "tool_choice.wing"} == set(facts_of(page))
