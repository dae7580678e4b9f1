"""The grammar of value cells: what each wording says, in both languages, and what is left alone."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from openapi.reading.cells import EMPTY, LOST, read_cell
from openapi.reading.fact import InWords
from openapi.reading.interval import Interval, Range, spoken
from openapi.reading.requirement import required, typed
from openapi.reading.row import Cell, Item
from openapi.reading.vocabulary import literal, plain, size, type_of

TOP = 2**64 - 1
Said = dict[str, Any]


def cell(*lines: str) -> Cell:
    """A cell of paragraphs; a line that begins with `- ` is an entry of a list, one with `-- ` lies inside it."""
    depths = [len(line) - len(line.lstrip("-")) if line.startswith(("- ", "-- ")) else 0 for line in lines]
    return Cell(tuple(Item(line.lstrip("-").strip(), depth, 1) for line, depth in zip(lines, depths, strict=True)), 1)


def said(*lines: str, name: str = "p", prose: bool = False) -> Said:
    """Everything that a cell says, by member; `[].length` is that of its elements."""
    pieces = read_cell(cell(*lines), name, prose=prose).pieces
    found: Said = {}
    for piece in pieces:
        key = f"{piece.at}.{piece.member}" if piece.at else piece.member
        assert key not in found or found[key] == piece.value, f"{key} is said twice"
        found[key] = piece.value
    return found


def one(low: Any = None, high: Any = None, low_open: bool | None = False, high_open: bool | None = False) -> Range:
    return (Interval(low, high, low_open, high_open),)


TYPES: list[tuple[str, Said]] = [
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
RANGES: list[tuple[str, Said]] = [
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
VALUES: list[tuple[str, Said]] = [
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
    ("默认值maxIterTimes", {"default": InWords("maxIterTimes")}),
    ("默认值为Some Server配置文件中的maxIterTimes", {"default": InWords("maxIterTimes")}),
    ("The default value is the value of maxIterTimes.", {"default": InWords("maxIterTimes")}),
    ("字段未设置时,默认值由后端模型确定", {"default": InWords("decided by the backend model")}),
    (
        "If the field is not set, the default value is determined by the backend model.",
        {"default": InWords("decided by the backend model")},
    ),
    ("If not provided, the system generates a random seed value.", {"default": InWords("random")}),
    ("不传递该参数,系统会产生一个随机p值", {"default": InWords("random")}),
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
    ("当前只能为0", {"enum": (0,)}),
    ('取值为"a"、"b"或"c"', {"enum": ("a", "b", "c")}),
    ('One of "a", "b" or "c".', {"enum": ("a", "b", "c")}),
    ('possible values are "a", "b", and "c"', {"enum": ("a", "b", "c")}),
    ("currently only 0 is supported", {"enum": (0,)}),
]
LIMITS: list[tuple[str, Said]] = [
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


@pytest.mark.parametrize(("text", "expected"), TYPES + RANGES + VALUES + LIMITS, ids=lambda each: str(each)[:60])
def test_a_clause_says_exactly_this_and_nothing_of_it_is_left(text: str, expected: Said) -> None:
    actual = read_cell(cell(text), "p")
    assert expected == said(text)
    assert actual.unread == ()
    for piece in actual.pieces:
        assert piece.text in text


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (
            ("float类型,取值范围(0.0, 3.0],默认值1.5,可以为null。",),
            {
                "types": ("number",),
                "range": one(Decimal("0.0"), Decimal("3.0"), True),
                "default": 1.5,
                "nullable": True,
            },
        ),
        (
            ("The value is of the integer type. The value range is [1, 9]. The default value is 3.",),
            {"types": ("integer",), "range": one(1, 9), "default": 3},
        ),
        (
            ("字符串类型,可取角色有:", "- a:first", "- b:second"),
            {"types": ("string",), "enum": ("a", "b")},
        ),
        (
            ("string type or dict type.", '- "none": no', '- "all": yes'),
            {"types": ("object", "string"), "enum": ("none", "all")},
        ),
        (
            ("bool类型,默认值false。", "- true:yes", "- false:no"),
            {"types": ("boolean",), "default": False},
        ),
        (
            ("dict类型。", "- left,必选,字符串,the one.", "- right,可选,字符串,the other."),
            {
                "types": ("object",),
                ".left.types": ("string",),
                ".left.required": "yes",
                ".right.types": ("string",),
                ".right.required": "no",
            },
        ),
        (("- string:", "-- 非空", "- list:as above"), {"also": ("array",), "length": one(1)} | {"also": ("string",)}),
        (
            ('通过{"type": "f", "f": {"name": "x"}}指定特定的工具',),
            {".type.types": ("string",), ".type.enum": ("f",), ".f.types": ("object",), ".f.name.types": ("string",)},
        ),
        (
            ("当role为robot,且wheels非空时,p可以不传,其余角色非空。",),
            {"required": "unless role=robot and wheels", "length": one(1)},
        ),
        (
            ("If the role is 'robot' and wheels is not empty, p can be omitted; for other roles, p must be provided.",),
            {"required": "unless role=robot and wheels"},
        ),
        (
            ("Each object in the list should contain left and right - both of string type.",),
            {
                "[].left.types": ("string",),
                "[].left.required": "yes",
                "[].right.types": ("string",),
                "[].right.required": "yes",
            },
        ),
        (
            ("Consists of two integer fields: ups and downs that tell more.",),
            {".ups.types": ("integer",), ".downs.types": ("integer",)},
        ),
    ],
    ids=lambda each: str(each)[:60],
)
def test_clauses_and_lists_of_a_cell_are_read_together(lines: tuple[str, ...], expected: Said) -> None:
    pieces = read_cell(cell(*lines), "p").pieces
    actual = {f"{piece.at}.{piece.member}" if piece.at else piece.member: piece.value for piece in pieces}
    if "also" in actual:
        assert sorted(piece.value for piece in pieces if piece.member == "also") == [("array",), ("string",)]
        actual["also"] = expected["also"]
    assert expected == actual


@pytest.mark.parametrize(
    ("text", "left"),
    [
        # advice is no range
        ("最好选大于或等于0.25的值", "最好选大于或等于0.25的值"),
        ("Wise people choose a value greater than or equal to 0.25.", None),
        ("You are advised to stay low, less than 5", "You are advised to stay low, less than 5"),
        # what depends on a condition is no fact
        ("取值大于或等于size时,默认值为size", "取值大于或等于size时,默认值为size"),
        ("If the value is 0, the default value is 7.", "If the value is 0, the default value is 7"),
        ("The default value is 7, if stream is true.", "The default value is 7, if stream is true."),
        ("默认值0.5,除非另有说明", "默认值0.5,除非另有说明"),
        ("For chat models, the value range is [0, 1].", None),
        ("On newer boards, default value 0.5", "On newer boards, default value 0.5"),
        ("旧版本中,默认值0.5", "旧版本中,默认值0.5"),
        ("Somewhere else, range [0, 1], default value 0.5", "Somewhere else, range [0, 1], default value 0.5"),
        ("Float type, on newer boards, default value 0.5", "on newer boards, default value 0.5"),
        # numbers with commas are one number, which no rule knows
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
        # words that are no values of JSON
        ("The default value is None.", None),
        ("blob类型", "blob类型"),
        ("图片类型支持jpg、xyz", "图片类型支持jpg、xyz"),
        # another parameter's business
        ("当role为robot,且wheels非空时,q可以不传", "当role为robot,且wheels非空时,q可以不传"),
        ("q must be greater than or equal to other.", None),
        ("This value must be between 1 <= Q <= OTHER.", None),
        ("其余情况q非空", "其余情况q非空"),
        ("By specifying {type: 'f'} you can specify a particular tool.", None),
        ('string, only supports "a', None),
    ],
)
def test_what_is_no_clear_statement_is_left_whole(text: str, left: str | None) -> None:
    actual = read_cell(cell(text), "p")
    facts = {piece.member for piece in actual.pieces} - {"types"}
    assert set() == facts
    assert actual.unread != ()
    assert left is None or (left.rstrip("."),) == tuple(each.rstrip(".") for each in actual.unread)


def test_unread_clauses_leave_the_read_ones_beside_them() -> None:
    actual = read_cell(cell("float类型,随机性越大越好,默认值1.0,不建议修改。取值范围[0, 1]。"), "p")
    assert actual.unread == ("随机性越大越好", "不建议修改")
    assert {"types": ("number",), "default": 1.0, "range": one(0, 1)} == {
        piece.member: piece.value for piece in actual.pieces
    }


def test_a_list_that_is_announced_and_missing_is_left() -> None:
    assert read_cell(cell("字符串类型,可取角色有:"), "p").unread == ("可取角色有:",)
    assert read_cell(cell("字符串类型,可取角色有:", "- a:one", "- b:two"), "p").unread == ()


def test_lost_and_empty_cells_are_left() -> None:
    assert read_cell(Cell((Item("bool类型", 0, 1),), 1, lost=True), "p").unread == (LOST,)
    assert read_cell(Cell((), 1), "p").unread == (EMPTY,)


def test_entries_that_look_like_labels_are_no_values() -> None:
    assert {"default": 5, "range": one(0, 9)} == said("- default: 5", "- range: [0, 9]")
    assert said("- Note: beware", "- Example: this one") == {}
    assert said("- alone: one entry enumerates nothing") == {}


def test_entries_that_hold_facts_of_their_own_are_no_values() -> None:
    lines = ("- chat: default value 0.5", "- base: default value 0.7")
    actual = read_cell(cell(*lines), "p")
    assert actual.pieces == ()
    assert actual.unread == ("chat: default value 0.5", "base: default value 0.7")


def test_numbers_that_are_explained_are_values_only_where_all_are_promised() -> None:
    entries = ("- 0: cold", "- 1: warm")
    assert said(*entries) == {}
    assert said("Possible values:", *entries) == {"enum": (0, 1)}


def test_of_prose_only_what_may_hold_a_fact_is_left() -> None:
    words = "It steers the choice of words. The best value is 0.7."
    assert read_cell(cell(words), "p", prose=True).unread == ("The best value is 0.7",)
    assert read_cell(cell(words), "p").unread == ("It steers the choice of words", "The best value is 0.7")


REQUIRED = [
    ("必选", "yes"),
    ("可选。", "no"),
    ("Required", "yes"),
    ("Mandatory", "yes"),
    ("optional", "no"),
    ("当role为tool时必选,否则可选", "when role=tool"),
    ("Mandatory when kind is set to x. Otherwise, it is optional.", "when kind=x"),
    ('Required when the kind is "x", otherwise optional.', "when kind=x"),
]


@pytest.mark.parametrize(("text", "expected"), REQUIRED)
def test_who_must_send_a_parameter(text: str, expected: str) -> None:
    actual = required(text)
    assert [expected] == [piece.value for piece in actual.pieces]
    assert actual.unread == ()


@pytest.mark.parametrize("text", ["", "mostly", "必选(仅多模态)", "Required when it rains", "yes and no"])
def test_other_requirements_are_left(text: str) -> None:
    assert ((), (text,)) == (required(text).pieces, required(text).unread)


@pytest.mark.parametrize(
    ("text", "expected", "unread"),
    [
        ("string", {"types": ("string",)}, ()),
        ("integer or null", {"types": ("integer",), "nullable": True}, ()),
        (
            "string/array of strings (optional)",
            {"types": ("array", "string"), "[].types": ("string",), "required": "no"},
            (),
        ),
        ("bool (optional, default: false)", {"types": ("boolean",), "required": "no", "default": False}, ()),
        ("float (default: 1.0)", {"types": ("number",), "default": 1.0}, ()),
        ("int (default: all tokens)", {"types": ("integer",), "default": InWords("all tokens")}, ()),
        (
            "bool (default: false if stream=false, true if stream=true)",
            {"types": ("boolean",), "default": InWords("false for a plain answer, true for a stream")},
            (),
        ),
        ("int (default: the moon)", {"types": ("integer",)}, ("default: the moon",)),
        ("blob (optional)", {}, ("blob (optional)",)),
    ],
)
def test_types_with_their_brackets(text: str, expected: Said, unread: tuple[str, ...]) -> None:
    actual = typed(text, "p")
    assert expected == {f"{p.at}.{p.member}" if p.at else p.member: p.value for p in actual.pieces}
    assert unread == actual.unread


def test_whole_numbers_are_exact_up_to_the_end_of_64_bits() -> None:
    for value in (2**53 + 1, 2**63 - 1, 2**63, TOP, TOP + 1):
        found = said(f"取值范围[0, {value}],默认值{value}")
        assert (value, value) == (found["range"][0].high, found["default"])
        assert f"[0, {value}]" == spoken(found["range"])


def test_plain_text_keeps_every_place() -> None:
    text = "\uff08a\uff0cb\uff3d\uff1a\u201cc\u201d\u00a0`d`\u2014\uff5e"
    assert len(text) == len(plain(text))
    assert plain(text) == '(a,b]:"c"  d -~'


def test_sizes_types_and_literals() -> None:
    assert [size(each) for each in ("1B", "1 KB", "4MB", "3GB", "0.5KB", "4 apples")] == [
        1,
        2**10,
        4 * 2**20,
        3 * 2**30,
        512,
        None,
    ]
    assert [type_of(each) for each in ("text", "List[blob]", "")] == [None, None, None]
    assert [
        str(literal("what")),
        *(literal(each) for each in ("1", "1.5", "null", '"x"')),
    ] == ["unstated", 1, 1.5, None, "x"]
