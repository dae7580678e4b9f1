"""Small pages of our own with tables flattened to plain text in three forms, and their facts, written by hand."""

from __future__ import annotations

from decimal import Decimal

from openapi.reading.facts.fact import Fact
from openapi.reading.grammar.interval import Interval
from openapi.reading.grammar.statement import DescribedDefault

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
        default=DescribedDefault("all tokens"),
        required="no",
    ),
    Fact("request", "heat", supported=False),
    Fact("request", "smell", supported=False),
    Fact("response", "lit", types=("boolean",), nullable=True),
    Fact("response", "lit.since", supported=False),
)
