"""Small pages of our own with tables in HTML and Markdown, and their facts, written by hand."""

from __future__ import annotations

from decimal import Decimal

from openapi.reading.facts.fact import Fact
from openapi.reading.facts.facts import Facts, read_facts
from openapi.reading.grammar.interval import Interval
from openapi.reading.pages.page import read_page

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
          <ul><li>desk: on a desk</li><li>wall: on the wall</li></ul></td></tr>
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
    Fact("request", "lamps[].kind", types=("string",), enum=("desk", "wall"), required="yes"),
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


def read(text: str) -> Facts:
    return read_facts(read_page(text.encode(), "own"))


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

### Unsupported params without a list:

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
