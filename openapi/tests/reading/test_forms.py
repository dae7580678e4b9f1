"""The four forms of a page: one small page of our own in each, with its facts written out by hand."""

from __future__ import annotations

import random
from decimal import Decimal

import pytest
import yaml

from openapi.contract import load
from openapi.reading.cells import EMPTY, LOST
from openapi.reading.columns import part
from openapi.reading.delta import delta_text
from openapi.reading.drift import compare
from openapi.reading.fact import Fact, InWords
from openapi.reading.facts import Facts, facts_of
from openapi.reading.interval import Interval
from openapi.reading.page import rows_of
from openapi.resolution import ContractError

CURE = "give a page with its tables of parameters as HTML, Markdown or text"

MARKDOWN = """\
# The API of a lamp

Some words before the table.

```html
<table><tr><th>Parameter</th><th>Required</th><th>Description</th><th>Value</th></tr>
<tr><td>shown_only</td><td>Required</td><td>an example</td><td>String.</td></tr></table>
```

<table>
  <thead><tr>
    <th colspan="3"><p>Parameter</p></th><th><p>Required</p></th><th><p>Description</p></th><th>Value Requirements</th>
  </tr></thead>
  <tbody>
  <tr><td colspan="3"><p>lamps</p></td><td><p>Required</p></td><td><p>All lamps.</p></td>
      <td><p>List[dict] type.</p></td></tr>
  <tr><td rowspan="4">-</td><td colspan="2">kind</td><td>Required</td><td>Its kind.</td>
      <td><p>String type. Possible roles are:</p>
          <ul><li>desk: on a desk</li><li>floor: on the floor</li></ul></td></tr>
  <tr><td colspan="2">bulb</td><td>Optional</td><td>Its bulb.</td><td><p>dict type.</p>
      <ul><li>watts, required, int, its power</li>
      <li>name, optional, a string representing the maker</li></ul></td></tr>
  <tr><td>-</td><td>colour</td><td>Optional</td><td>Of its light.</td><td>String, only supports "white".</td></tr>
  <tr><td colspan="2">lamp_id</td><td>Required when the kind is "desk", otherwise optional.</td><td>Name.</td>
      <td>String.</td></tr>
  <tr><td colspan="3">dim</td><td>Optional</td><td>How dim it is.</td>
      <td><p>Float type, value range (0.0, 2.0], default value 1.0.</p>

          <p>It is wise to stay above 0.5.</p></td></tr>
  </tbody>
</table>

## Answers

### Table 1

What is in the response

| Parameter Name | Type | Description |
|----------------|------|-------------|
| lit | bool | Whether it is lit. |
| lamp.name | string | Its name, currently always "lamp". |

| code | means |
|------|-------|
| 1    | dark  |
| 20   | smoke |
"""
MARKDOWN_FACTS = (
    Fact("request", "lamps", types=("array",), required="yes"),
    Fact("request", "lamps[]", types=("object",)),
    Fact("request", "lamps[].kind", types=("string",), enum=("desk", "floor"), required="yes"),
    Fact("request", "lamps[].bulb", types=("object",), required="no"),
    Fact("request", "lamps[].bulb.watts", types=("integer",), required="yes"),
    Fact("request", "lamps[].bulb.name", types=("string",), required="no"),
    Fact("request", "lamps[].bulb.colour", types=("string",), enum=("white",), required="no"),
    Fact("request", "lamps[].lamp_id", types=("string",), required="when kind=desk"),
    Fact(
        *("request", "dim"),
        types=("number",),
        range=(Interval(Decimal("0.0"), Decimal("2.0"), low_open=True),),
        default=1.0,
        required="no",
    ),
    Fact("response", "lit", types=("boolean",)),
    Fact("response", "lamp.name", types=("string",), enum=("lamp",)),
    Fact("errors", "code", types=("integer",), enum=(1, 20)),
)

PIPED = """\
The API
Request Parameters
Parameter |
Mandatory/Optional |
Description |
Value |
||
|---|---|---|---|---|---|
model |
Mandatory |
Names the model. |
Character string. |
||
messages |
Mandatory |
What was said. |
The value is of the list type.
|
||
- |
role |
Mandatory |
Who says it. |
Character string type. The available roles are as follows:
|
|
content |
Mandatory |
What is said. |

|
||
top_p |
Optional |
Some words. |
The value range is (1e-6, 1.0]. The default value is 1.0. |
||
Usage Example
POST | something
"""
PIPED_FACTS = (
    Fact("request", "model", types=("string",), required="yes"),
    Fact("request", "messages", types=("array",), required="yes"),
    Fact("request", "messages[].role", types=("string",), required="yes"),
    Fact("request", "messages[].content", required="yes"),
    Fact(
        *("request", "top_p"),
        range=(Interval(Decimal("1e-6"), Decimal("1.0"), low_open=True),),
        default=1.0,
        required="no",
    ),
)

CELLS = """\
下载

请求参数

参数

是否必选

说明

取值要求

messages

必选

说过的话。

list类型。

-

role

必选

谁说的。

字符串类型,可取角色有:

  • user:提问者
  • assistant:回答者

tool_calls

可选

工具。

类型为List[dict]。

-

function

必选

哪个工具。

dict类型。

  • name,必选,字符串,名字。

id

必选

编号。

字符串。

temperature

可选

越高越随机。

不要一起改。

float类型,取值范围大于或等于0.0,默认值1.0,可以为null。

小于0.001不好。

使用样例

{ "temperature": 5 }

表1 文本推理结果说明

参数名

类型

说明

object

string

目前都返回"x.y"。

choices

list

结果。

-

index

integer

当前只能为0。

表2 流式推理结果说明

参数名

类型

说明

data

object

一次结果。

-

object

string

类型。
"""
CELLS_FACTS = (
    Fact("request", "messages", types=("array",), required="yes"),
    Fact("request", "messages[].role", types=("string",), enum=("user", "assistant"), required="yes"),
    Fact("request", "messages[].tool_calls", types=("array",), required="no"),
    Fact("request", "messages[].tool_calls[]", types=("object",)),
    Fact("request", "messages[].tool_calls[].function", types=("object",), required="yes"),
    Fact("request", "messages[].tool_calls[].function.name", types=("string",), required="yes"),
    Fact("request", "messages[].tool_calls[].id", types=("string",), required="yes"),
    Fact(
        *("request", "temperature"),
        types=("number",),
        range=(Interval(Decimal("0.0")),),
        default=1.0,
        nullable=True,
        required="no",
    ),
    Fact("response", "object", types=("string",), enum=("x.y",)),
    Fact("response", "choices", types=("array",)),
    Fact("response", "choices[].index", types=("integer",), enum=(0,)),
    Fact("stream", "data", types=("object",)),
    Fact("stream", "data.object", types=("string",)),
)

PARAGRAPHS = """\
A lamp's endpoint#

Request#

Generic#

Param

Our Server

Their API

Type

Description

lamp

✅

string (required)

Which lamp. Cannot be empty.

watch

⚠️

❌

object (optional)

watch.often

bool (default: false)

Whether to look often. In 3 of 4 cases that is too much.

dim

int (default: all tokens)

Number between -2 and 2.

Unsupported params of others:#

  • heat

  • smell (use your nose)

Response#

Param

Our Server

Type

Description

lit

bool or null

Whether it is lit.

Unsupported params of others:#

  • lit.since

The end#

dim
"""
PARAGRAPHS_FACTS = (
    Fact("request", "lamp", types=("string",), length=(Interval(1),), required="yes"),
    Fact("request", "watch", types=("object",), required="no"),
    Fact("request", "watch.often", types=("boolean",), default=False, required="no"),
    Fact(
        *("request", "dim"),
        types=("integer",),
        range=(Interval(-2, 2, None, None),),
        default=InWords("all tokens"),
        required="no",
    ),
    Fact("request", "heat", supported=False),
    Fact("request", "smell", supported=False),
    Fact("response", "lit", types=("boolean",), nullable=True),
    Fact("response", "lit.since", supported=False),
)


def read(text: str) -> Facts:
    return facts_of(rows_of(text.encode(), "own"))


def unread(facts: Facts) -> dict[str, tuple[str, ...]]:
    return {fact.path: fact.unread for fact in facts.facts if fact.unread}


@pytest.mark.parametrize(
    ("page", "form", "expected"),
    [
        (MARKDOWN, "HTML or Markdown tables", MARKDOWN_FACTS),
        (PIPED, "tables flattened to `cell |` lines", PIPED_FACTS),
        (CELLS, "one cell per line", CELLS_FACTS),
        (PARAGRAPHS, "headed paragraphs", PARAGRAPHS_FACTS),
    ],
    ids=["markdown", "piped", "cells", "paragraphs"],
)
def test_a_page_in_each_form_gives_its_facts(page: str, form: str, expected: tuple[Fact, ...]) -> None:
    actual = read(page)
    assert form == actual.form
    assert expected == actual.facts
    assert actual.left == ()


def test_what_is_not_read_is_listed_beside_its_parameter() -> None:
    assert unread(read(MARKDOWN)) == {"dim": ("It is wise to stay above 0.5",)}
    assert unread(read(PIPED)) == {
        "messages": (LOST,),
        "messages[].role": ("The available roles are as follows:", LOST),
        "messages[].content": (EMPTY,),
    }
    assert unread(read(CELLS)) == {"temperature": ("小于0.001不好",)}
    assert unread(read(PARAGRAPHS)) == {
        "lamp": ("Which lamp",),
        "watch": (EMPTY,),
        "watch.often": ("Whether to look often", "In 3 of 4 cases that is too much"),
    }


def test_facts_know_the_line_of_their_row() -> None:
    lines = MARKDOWN.split("\n")
    for fact in read(MARKDOWN).facts:
        name = fact.path.removesuffix("[]").rpartition(".")[2]
        if name not in ("watts", "name", "code"):
            assert name in lines[fact.line - 1], fact.path
    assert [fact.line for fact in read(PIPED).facts[:3]] == [9, 14, 21]


def test_cells_are_counted_by_how_far_they_are_read() -> None:
    count = read(PIPED).count
    # rows x (name, required, description, value): two values in part, one not at all
    assert (count.read, count.partly, count.left) == (17, 2, 1)


def test_html_alone_is_read_too_and_comments_are_not() -> None:
    page = """<!doctype html><html><body><h2>Response</h2><table>
    <tr><th>Parameter</th><th>Type</th><th>Description</th></tr>
    <tr><td>a</td><td>int<!-- or string --></td><td>What <b>it</b> is,<br>roughly.</td></tr></table></body></html>"""
    assert (Fact("response", "a", types=("integer",)),) == read(page).facts


def test_marks_inside_numbers_are_not_lost() -> None:
    cells = "int type, value range [0, 2<sup>31</sup>].", "int type, value range [0, <del>1</del>2]."
    for words in cells:
        page = MARKDOWN.replace("<p>Float type, value range (0.0, 2.0], default value 1.0.</p>", f"<p>{words}</p>")
        dim = next(fact for fact in read(page).facts if fact.path == "dim")
        assert (dim.types, dim.range) == (("integer",), ())
        assert "value range" in dim.unread[0]


NESTED = """\
# The API of a lamp

## Request

### Generic

| Param | Our Server | Their API | Type | Description |
|-------|------------|-----------|------|-------------|
| dim   | ✅ | ❌ | int (default: `5`) | Number between `-2` and `9`. |

### Unsupported params of others:
- heat
- smell (**use your _nose_**)

### Unsupported params that nobody lists:

None at all.

## Response

### Generic

| Param | Our Server | Type | Description |
|-------|------------|------|-------------|
| lit   | ✅ | bool | Whether. |

## Odds and ends

### Generic

| Param | Our Server | Type | Description |
|-------|------------|------|-------------|
| odd   | ✅ | bool | Whether. |
"""


def test_headings_of_markdown_tell_parts_by_their_level() -> None:
    actual = read(NESTED)
    assert actual.facts == (
        Fact("request", "dim", types=("integer",), range=(Interval(-2, 9, None, None),), default=5, required="no"),
        Fact("request", "heat", supported=False),
        Fact("request", "smell", supported=False),
        Fact("response", "lit", types=("boolean",)),
    )
    assert [(left.line, left.text) for left in actual.left] == [(31, "Generic < Odds and ends < The API of a lamp")]


def test_lists_of_unsupported_parameters_in_html_are_read() -> None:
    page = "<h2>Response</h2><h3>Unsupported params</h3><ul><li>a.b</li><li><b>c</b> (later)</li><li>+</li></ul>"
    actual = read(page)
    assert actual.facts == (Fact("response", "a.b", supported=False), Fact("response", "c", supported=False))
    assert [left.text for left in actual.left] == ["+"]


def test_only_an_event_of_a_stream_is_called_data() -> None:
    assert part(("name", "type", "prose"), [], "data") == "stream"
    assert part(("name", "type", "prose"), ["Response"], "data") == "stream"
    assert part(("name", "required", "prose"), ["Response"], "data") == "request"
    assert part(("name", "type", "prose"), ["Odd", "Response"], "id") == "response"
    assert part(("name", "type", "prose"), [], "id") is None


def test_tables_of_other_things_are_no_parameters() -> None:
    page = (
        MARKDOWN
        + "\n| Name | Price |\n|---|---|\n| dim | 5 |\n\n| What | Type | Text |\n|---|---|---|\n| a | int | b |\n"
    )
    assert read(page).facts == MARKDOWN_FACTS


def test_a_table_whose_part_nothing_tells_is_left() -> None:
    page = MARKDOWN + "\n# Odd\n\n| Parameter | Type | Description |\n|---|---|---|\n| a | int | b |\n"
    actual = read(page)
    assert actual.facts == MARKDOWN_FACTS
    assert [left.why for left in actual.left] == ["neither columns nor heading tell which part this table describes"]


@pytest.mark.parametrize(
    ("before", "after", "why"),
    [
        ('rowspan="4"', 'rowspan="3"', "columns"),
        ("<td>-</td><td>colour</td>", "<td>colour</td>", "columns"),
        ('<td rowspan="4">-</td><td colspan="2">kind', '<td rowspan="4">-</td><td>-</td><td>kind', "nested levels"),
    ],
)
def test_rows_whose_spans_do_not_add_up_are_left(before: str, after: str, why: str) -> None:
    assert before in MARKDOWN
    actual = read(MARKDOWN.replace(before, after))
    assert any(why in left.why for left in actual.left)
    paths = {fact.path for fact in actual.facts}
    assert paths < {fact.path for fact in MARKDOWN_FACTS}


def test_a_new_row_is_left_where_the_page_does_not_show_its_level() -> None:
    row = "\n\nnovelty\n\n可选\n\n新的。\n\nint类型,取值范围[0, 5]。\n\n"
    page = CELLS.replace("\n\ntemperature\n\n", f"{row}temperature\n\n")
    inside = read(page)
    assert inside.facts == CELLS_FACTS
    (left,) = inside.left
    assert left.why == "the page does not show which level this row is in"
    assert left.line == page.split("\n").index("novelty") + 1
    assert left.text == "novelty or messages.novelty or messages.tool_calls.novelty"
    outside = read(CELLS.replace("\n\n使用样例", f"{row}使用样例"))
    assert "novelty" in {fact.path for fact in outside.facts}
    assert outside.left == ()


def test_what_lies_below_a_row_without_a_place_is_left_with_it() -> None:
    row = "\n\nnovelty\n\n可选\n\n新的。\n\ndict类型。\n\n-\n\nrole\n\n可选\n\n新的。\n\nint类型。\n\n"
    actual = read(CELLS.replace("\n\ntemperature\n\n", f"{row}temperature\n\n"))
    assert actual.facts == CELLS_FACTS
    assert [(left.text.split(" or ")[0], left.why) for left in actual.left] == [
        ("novelty", "the page does not show which level this row is in"),
        ("role", "it lies below a row that could not be placed"),
    ]


def test_a_name_that_a_level_holds_already_belongs_to_the_next_level_that_knows_it() -> None:
    rows = "\n\n-\n\nname\n\n必选\n\n名。\n\n字符串。\n\nname\n\n可选\n\n名。\n\n字符串。\n\n"
    page = CELLS.replace("\n\n  • name,必选,字符串,名字。\n\n", rows)
    actual = read(page)
    assert {"messages[].tool_calls[].function.name", "messages[].name"} <= {fact.path for fact in actual.facts}
    assert [left.text.split(" or ")[0] for left in actual.left] == ["id"]  # tool_calls is closed by then


def test_a_row_that_stands_twice_is_left() -> None:
    row = "\n\ntemperature\n\n可选\n\n又一次。\n\nint类型。\n\n"
    actual = read(CELLS.replace("\n\n使用样例", f"{row}使用样例"))
    assert actual.facts == CELLS_FACTS
    assert [left.why for left in actual.left] == ["a row of this name is there already"]


def test_a_row_with_an_odd_second_cell_is_still_a_row_of_its_own() -> None:
    row = "\n\nnovelty\n\n有时\n\n新的。\n\nint类型,取值范围[0, 5]。\n\n"
    actual = {fact.path: fact for fact in read(CELLS.replace("\n\n使用样例", f"{row}使用样例")).facts}
    assert CELLS_FACTS[7] == actual["temperature"]
    assert actual["novelty"].unread == ("有时",)


def test_two_tables_that_disagree_are_left_in_what_they_disagree_in() -> None:
    second = MARKDOWN[MARKDOWN.index("| Parameter Name") : MARKDOWN.index("| code")].replace("| bool |", "| int |")
    actual = {fact.path: fact for fact in read(MARKDOWN.replace("| code", f"{second}\n| code")).facts}
    assert actual["lit"].types == ()
    assert actual["lit"].unread == ("types: the page says both ('boolean',) and ('integer',)",)
    assert actual["lamp.name"].types == ("string",)


def test_two_cells_that_disagree_are_left_in_what_they_disagree_in() -> None:
    page = MARKDOWN.replace("<td>How dim it is.</td>", "<td>Number between 0.0 and 3.0.</td>")
    dim = next(fact for fact in read(page).facts if fact.path == "dim")
    assert dim.range == ()
    assert "value range (0.0, 2.0] / Number between 0.0 and 3.0" in dim.unread
    agreeing = MARKDOWN.replace("<td>How dim it is.</td>", "<td>Number between 0.0 and 2.0.</td>")
    assert read(agreeing).facts == MARKDOWN_FACTS


def test_a_torn_row_of_bars_is_left_and_ends_the_table() -> None:
    torn = PIPED.replace("Names the model. |\n", "Names | the model. |\n")
    actual = rows_of((torn + "\n\n" + MARKDOWN).encode(), "own")  # read as Markdown, since no row of bars is whole
    assert actual.form == "HTML or Markdown tables"
    later = PIPED.replace("Some words. |", "Some | words. |")
    (left,) = rows_of(later.encode(), "own").left
    assert left.why == "the row has 7 bars where the table has 6"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "own: line 1: the page is empty; give a page with its tables of parameters as HTML, Markdown or text"),
        (
            b" \n\n",
            "own: line 1: the page is empty; give a page with its tables of parameters as HTML, Markdown or text",
        ),
        (
            b"\n\nhello",
            "own: line 3: no table of parameters is recognised; give a page with its tables of parameters as",
        ),
        (b"ok\nok\n\xff\xfe", "own: line 3: byte 6 is not UTF-8; save the page as UTF-8"),
        (b"<p>" * 5000 + b"<table><tr><td>" * 3000, "own: line 1: "),
        (b"<table></table>", "own: line 1: no table of parameters is recognised"),
    ],
)
def test_what_is_no_page_is_refused_in_one_clear_line(content: bytes, message: str) -> None:
    with pytest.raises(ContractError) as caught:
        rows_of(content, "own")
    assert str(caught.value).startswith(message)
    assert "\n" not in str(caught.value)


def test_line_ends_and_byte_order_marks_do_not_matter() -> None:
    for page, facts in ((CELLS, CELLS_FACTS), (PIPED, PIPED_FACTS), (MARKDOWN, MARKDOWN_FACTS)):
        for end in ("\r\n", "\r"):
            content = b"\xef\xbb\xbf" + page.replace("\n", end).encode()
            assert facts == facts_of(rows_of(content, "own")).facts


def read_or_refusal(text: str) -> Facts | str:
    try:
        return read(text)
    except ContractError as error:
        return str(error)


def test_signs_that_steer_a_terminal_are_replaced() -> None:
    page = MARKDOWN.replace("It is wise", "It is \x1b31mwise\x00 \u202e")
    dim = next(fact for fact in read(page).facts if fact.path == "dim")
    assert dim.unread == ("It is \ufffd31mwise\ufffd \ufffd to stay above 0.5",)


@pytest.mark.parametrize("seed", range(160))
def test_damaged_pages_are_read_or_refused_and_nothing_else(seed: int) -> None:
    """Cut, doubled, moved and strewn with signs, a page gives facts, or one line that says why not."""
    rng = random.Random(seed)
    text = (MARKDOWN, PIPED, CELLS, PARAGRAPHS, NESTED)[seed % 5]
    for _ in range(rng.randint(1, 12)):
        at = rng.randrange(len(text))
        to = at + rng.choice((1, 1, 2, 5, 40, 200))
        match rng.randrange(4):
            case 0:
                text = text[:at] + text[to:]
            case 1:
                text = text[:at] + text[at:to] + text[at:]
            case 2:
                text = text[:at] + rng.choice("[](){}<>|\"'-•#.,:。，0 9\n\x00") + text[at:]
            case _:
                start = rng.randrange(len(text))
                text = text[:at] + text[start : start + 60] + text[at:]
    contract = load("siliconstorm")
    facts = read_or_refusal(text)
    if isinstance(facts, str):
        assert "\n" not in facts
        return
    assert yaml.safe_load(delta_text(facts, contract, "damaged"))["extends"] == "siliconstorm"
    assert len(compare(facts, contract)) >= len(facts.facts)
