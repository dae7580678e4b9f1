"""The grammar of clauses: the statements of each wording in both languages, and wordings that are not read."""

from __future__ import annotations

from decimal import Decimal

import pytest

from openapi.reading.facts.cells import read_cell
from openapi.reading.grammar.interval import format_range
from openapi.reading.grammar.statement import DescribedDefault
from openapi.tests.reading.wording import Statements, cell, one, stated

TOP = 2**64 - 1

TYPES: list[tuple[str, Statements]] = [
    ("bool类型", {"types": ("boolean",)}),
    ("bool类型参数", {"types": ("boolean",)}),
    ("Boolean type", {"types": ("boolean",)}),
    ("The value is of the Boolean type.", {"types": ("boolean",)}),
    ("float类型", {"types": ("number",)}),
    ("Float type", {"types": ("number",)}),
    ("整型", {"types": ("integer",)}),
    ("int类型", {"types": ("integer",)}),
    ("int32类型", {"types": ("integer",), "format": "int32"}),
    ("uint_64类型", {"types": ("integer",), "format": "uint64"}),
    ("UInt64 type", {"types": ("integer",), "format": "uint64"}),
    ("The uint32_t type.", {"types": ("integer",), "format": "uint32"}),
    ("字符串。", {"types": ("string",)}),
    ("Character string.", {"types": ("string",)}),
    ("dict类型。", {"types": ("object",)}),
    ("JSON schema格式。", {"types": ("object",)}),
    ("list类型", {"types": ("array",)}),
    ("List[dict] type.", {"types": ("array",), "[].types": ("object",)}),
    ("类型为List[dict]", {"types": ("array",), "[].types": ("object",)}),
    ("List[int32]类型", {"types": ("array",), "[].types": ("integer",), "[].format": "int32"}),
    ("array of strings", {"types": ("array",), "[].types": ("string",)}),
    ("List[string]类型或者string类型", {"types": ("array", "string"), "[].types": ("string",)}),
    ("string类型或者dict类型", {"types": ("object", "string")}),
    ("The value is of the string or dict type and can be null.", {"types": ("object", "string"), "nullable": True}),
]
RANGES: list[tuple[str, Statements]] = [
    ("取值范围[-2.0, 2.0]", {"range": one(Decimal("-2.0"), Decimal("2.0"))}),
    ("取值范围(0.0,2.0]", {"range": one(Decimal("0.0"), Decimal("2.0"), low_open=True)}),
    ("取值范围:[0,1)", {"range": one(0, 1, high_open=True)}),
    ("取值范围\uff080\uff0c1\uff09", {"range": one(0, 1, low_open=True, high_open=True)}),
    ("The value range is (1e-6, 1.0].", {"range": one(Decimal("1e-6"), Decimal("1.0"), low_open=True)}),
    ("value range [0, 20]", {"range": one(0, 20)}),
    ("range (0, 2147483647]", {"range": one(0, 2147483647, low_open=True)}),
    (f"取值范围[0, {TOP}]", {"range": one(0, TOP)}),
    ("取值范围-1或(0, 2147483647]", {"range": (*one(-1, -1), *one(0, 2147483647, low_open=True))}),
    ("value range -1 or (0, 9]", {"range": (*one(-1, -1), *one(0, 9, low_open=True))}),
    ("取值范围大于或等于0.0", {"range": one(Decimal("0.0"))}),
    ("取值范围大于0且小于或等于8", {"range": one(0, 8, low_open=True)}),
    ("大于或等于0.0", {"range": one(Decimal("0.0"))}),
    ("greater than or equal to 3", {"range": one(3)}),
    ("The value range is greater than or equal to 0.5.", {"range": one(Decimal("0.5"))}),
    ("must be less than 7", {"range": one(None, 7, high_open=True)}),
    ("greater than 0 and less than or equal to 2.5", {"range": one(0, Decimal("2.5"), low_open=True)}),
    ("Must be in (0, 1].", {"range": one(0, 1, low_open=True)}),
    ("Number between -2.0 and 2.0.", {"range": one(Decimal("-2.0"), Decimal("2.0"), None, None)}),
    ("between 1 and 5, inclusive", {"range": one(1, 5)}),
    ("The value must be between 1 and 5.", {"range": one(1, 5, None, None)}),
    ("惩罚介于-1.0和1.0之间", {"range": one(Decimal("-1.0"), Decimal("1.0"), None, None)}),
    ("This value must be between 1 <= P <= OTHER.", {"range": one(1, "other")}),
    ("p must be greater than or equal to other.", {"range": one("other")}),
]
VALUES: list[tuple[str, Statements]] = [
    ("支持的值:fast、slow", {"enum": ("fast", "slow")}),
    ("支持HTTP和HTTPS协议", {}),  # without a colon it need not be all
    ("默认值1.0", {"default": 1.0}),
    ("默认值为false", {"default": False}),
    ("默认true", {"default": True}),
    ("默认值null", {"default": None}),
    ("default value is True", {"default": True}),
    ("默认值\u201dauto\u201d", {"default": "auto"}),
    ("The default value is 0.", {"default": 0}),
    ("default value is false", {"default": False}),
    ("default is null", {"default": None}),
    ('The default value is "auto".', {"default": "auto"}),
    ("默认值maxIterTimes", {"default": DescribedDefault("maxIterTimes")}),
    ("默认值为Some Server配置文件中的maxIterTimes", {"default": DescribedDefault("maxIterTimes")}),
    ("The default value is the value of maxIterTimes.", {"default": DescribedDefault("maxIterTimes")}),
    ("字段未设置时,默认值由后端模型确定", {"default": DescribedDefault("decided by the backend model")}),
    (
        "If the field is not set, the default value is determined by the backend model.",
        {"default": DescribedDefault("decided by the backend model")},
    ),
    ("If not provided, the system generates a random seed value.", {"default": DescribedDefault("random")}),
    ("不传递该参数,系统会产生一个随机p值", {"default": DescribedDefault("random")}),
    ("可以为null", {"nullable": True}),
    ("不能为null", {"nullable": False}),
    ("Also, the value can be null.", {"nullable": True}),
    ("The value cannot be null.", {"nullable": False}),
    ("若该字段值非null,列表中元素不能为null", {"[].nullable": False}),
    ('仅支持字符串"function"', {"enum": ("function",), "types": ("string",)}),
    ('Only "function" is supported.', {"enum": ("function",), "types": ("string",)}),
    ('only supports "object"', {"enum": ("object",), "types": ("string",)}),
    ('目前都返回"assistant"', {"enum": ("assistant",), "types": ("string",)}),
    ('currently always "assistant"', {"enum": ("assistant",), "types": ("string",)}),
    *(
        (words, {"enum": ("function",), "types": ("string",)})
        for words in (
            *("must be `function`", 'Must be "function".', "It must always be `function`", "Always function"),
            *("It is always `function`.", "Always the string `function`", "The value has to be function"),
        )
    ),
    (
        "Each message has the fields `role` and `content`, both strings.",
        {
            "[].role.types": ("string",),
            "[].role.required": "yes",
            "[].content.types": ("string",),
            "[].content.required": "yes",
        },
    ),
    ("Must always be a boolean.", {"types": ("boolean",)}),
    ("This parameter is not supported yet.", {"supported": False}),
    ("Always `chat.completion`.", {"enum": ("chat.completion",), "types": ("string",)}),
    ("Always 0.", {"enum": (0,)}),
    ("Must be `stop` or `length`.", {"enum": ("stop", "length")}),
    ("当前只能为0", {"enum": (0,)}),
    ('取值为"a"、"b"或"c"', {"enum": ("a", "b", "c")}),
    ('One of "a", "b" or "c".', {"enum": ("a", "b", "c")}),
    ('possible values are "a", "b", and "c"', {"enum": ("a", "b", "c")}),
    ("currently only 0 is supported", {"enum": (0,)}),
]
LIMITS: list[tuple[str, Statements]] = [
    ("非空", {"length": one(1)}),
    ("The value cannot be empty.", {"length": one(1)}),
    ("string类型长度范围为1~32", {"length": one(1, 32)}),
    ("For string type, the length range is 1~16 characters.", {"length": one(1, 16)}),
    ("每个元素的长度为1~8", {"[].length": one(1, 8)}),
    ("每个元素字符长度大于或等于1", {"[].length": one(1)}),
    ("列表元素不超过64个", {"items": one(0, 64)}),
    ("the number of elements should not exceed 64", {"items": one(0, 64)}),
    ("列表元素个数不少于1个", {"items": one(1)}),
    ("The number of elements must be at least 2.", {"items": one(2)}),
    ("列表元素个数为1~9", {"items": one(1, 9)}),
    ("the number of elements is 1-9", {"items": one(1, 9)}),
    ("Up to 4 sequences where it ends.", {"items": one(0, 4)}),
    ("列表元素总长度不超过96(32*3)", {"characters": one(0, 96)}),
    ("The total length of the list elements should not exceed 96 (48*2).", {"characters": one(0, 96)}),
    ("列表为空时相当于null", {"empty": "null"}),
    ("0KB<p内容包含的字符数<=4MB", {"characters": one(0, 2**22, low_open=True)}),
    (
        "The character length is greater than 0 KB but less than and equal to 2 MB.",
        {"characters": one(0, 2**21, low_open=True)},
    ),
    ("当前支持传入的图片最大为20MB", {"media_bytes": one(0, 20 * 2**20)}),
    ("Currently, the maximum size of an image is 8 MB.", {"media_bytes": one(0, 2**23)}),
    ("视频类型支持MP4、AVI和WMV", {"formats": ("AVI", "MP4", "WMV")}),
    (
        "Local PNG and Base64-encoded JPG images can be imported in URL format.",
        {"formats": ("JPG", "PNG")},
    ),
    ("单个请求中image_url、audio_url数量总和<=5个", {"media_count": one(0, 5)}),
    ("超出int32的元素将会被忽略", {"[].beyond": "ignored outside int32"}),
    ("elements exceeding int32 will be ignored", {"[].beyond": "ignored outside int32"}),
]


@pytest.mark.parametrize(("text", "expected"), TYPES + RANGES + VALUES + LIMITS, ids=lambda value: str(value)[:60])
def test_a_clause_says_exactly_this_and_nothing_of_it_is_left(text: str, expected: Statements) -> None:
    actual = read_cell(cell(text), "p")
    assert expected == stated(text)
    assert actual.unread == ()
    for statement in actual.statements:
        assert statement.text in text


@pytest.mark.parametrize(
    ("text", "unread"),
    [
        # advice is not a range
        ("最好选大于或等于0.25的值", "最好选大于或等于0.25的值"),
        ("Wise people choose a value greater than or equal to 0.25.", None),
        ("You are advised to stay low, less than 5", "You are advised to stay low, less than 5"),
        # statements that depend on a condition are not facts
        ("取值大于或等于size时,默认值为size", "取值大于或等于size时,默认值为size"),
        ("If the value is 0, the default value is 7.", "If the value is 0, the default value is 7"),
        ("The default value is 7, if stream is true.", "The default value is 7, if stream is true."),
        ("默认值0.5,除非另有说明", "默认值0.5,除非另有说明"),
        ("For chat models, the value range is [0, 1].", None),
        ("On newer boards, default value 0.5", "On newer boards, default value 0.5"),
        ("旧版本中,默认值0.5", "旧版本中,默认值0.5"),
        ("Somewhere else, range [0, 1], default value 0.5", "Somewhere else, range [0, 1], default value 0.5"),
        ("Float type, on newer boards, default value 0.5", "on newer boards, default value 0.5"),
        # a number with a comma is one number, which no rule reads
        ("the number of elements should not exceed 1,024", "the number of elements should not exceed 1,024"),
        # damage
        ("value range [0, 2^31]", "value range [0, 2^31]"),
        ("value range [0, ~~1~~2]", "value range [0, ~~1~~2]"),
        ("string类型长度范围为1Some text1024", "string类型长度范围为1Some text1024"),
        ("取值范围[0.0, 2.0", "取值范围[0.0, 2.0"),
        ("取值范围[2.0, 0.0]", "取值范围[2.0, 0.0]"),
        ("取值范围(1, 1]", "取值范围(1, 1]"),
        ("value range [0; 2]", None),
        ("value range [0, x]", None),
        ("列表元素总长度不超过100(33*3)", "列表元素总长度不超过100(33*3)"),
        ("string类型长度范围为9~1", "string类型长度范围为9~1"),
        ("大于0且大于5", None),
        # words that are not JSON values
        ("The default value is None.", None),
        ("blob类型", "blob类型"),
        ("图片类型支持jpg、xyz", "图片类型支持jpg、xyz"),
        # statements about another parameter
        ("当role为robot,且wheels非空时,q可以不传", "当role为robot,且wheels非空时,q可以不传"),
        ("q must be greater than or equal to other.", None),
        ("This value must be between 1 <= Q <= OTHER.", None),
        ("其余情况q非空", "其余情况q非空"),
        ("By specifying {type: 'f'} you can specify a particular tool.", None),
        ('string, only supports "a', None),
        # adjectives do not name a value
        ("Must be unique.", "Must be unique"),
        ("Always present.", "Always present"),
    ],
)
def test_an_unclear_statement_is_not_read(text: str, unread: str | None) -> None:
    actual = read_cell(cell(text), "p")
    facts = {statement.attribute for statement in actual.statements} - {"types"}
    assert set() == facts
    assert actual.unread != ()
    assert unread is None or (unread.rstrip("."),) == tuple(words.rstrip(".") for words in actual.unread)


def test_integers_are_exact_beyond_64_bits() -> None:
    for value in (2**53 + 1, 2**63 - 1, 2**63, TOP, TOP + 1):
        statements = stated(f"取值范围[0, {value}],默认值{value}")
        assert (value, value) == (statements["range"][0].high, statements["default"])
        assert f"[0, {value}]" == format_range(statements["range"])
