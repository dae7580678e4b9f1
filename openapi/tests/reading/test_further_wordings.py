"""Further wordings of pages: Chinese clauses, keywords one after another, intervals in brackets, and types."""

from __future__ import annotations

from typing import Any

import pytest

from openapi.reading.facts.cells import read_cell
from openapi.reading.facts.required_cells import read_type_cell
from openapi.reading.grammar.interval import format_range
from openapi.tests.reading.wording import cell

Facts = dict[str, Any]


def facts_in(*lines: str) -> Facts:
    """Return what a description states, with ranges as text."""
    stated = read_cell(cell(*lines), "x", prose=True).statements
    ranges = ("range", "items", "length")
    return {
        f"{one.at}{one.attribute}": format_range(one.value) if one.attribute in ranges else one.value for one in stated
    }


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("活泼程度，0-3 之间，默认 0.4", {"range": "0..3", "default": 0.4}),
        ("活泼程度，范围 [0, 3.5]", {"range": "[0, 3.5]"}),
        ("活泼程度（含语气），范围在0到3之间", {"range": "0..3"}),
        ("活泼程度，介于 0 和 3 之间", {"range": "0..3"}),
        ("一个介于-3.5和3.5之间的数值", {"range": "-3.5..3.5"}),
        ("介于 1 到 77 间的整数", {"range": "1..77"}),
        ("活泼程度（-3.0到3.0）", {"range": "-3..3"}),
        ("活泼程度 (0-3)，默认 1", {"range": "0..3", "default": 1}),
        ("活泼程度（默认：40）", {"default": 40}),
        ("是否分段返回，默认 false", {"default": False}),
        ("所需范围：`1 < x < 77`", {"range": "(1, 77)"}),
        ("（2）默认0.4，取值范围：[0, 3]", {"range": "[0, 3]", "default": 0.4}),
        ("结束词，最多 5 个", {"items": "[0, 5]"}),
        ("每个元素长度不超过24字符", {"[]length": "[0, 24]"}),
        ("最大长度为 64 个字符", {"length": "[0, 64]"}),
        ("默认值为空", {}),
        ("固定为 `json_object`", {"enum": ("json_object",), "types": ("string",)}),
    ],
)
def test_chinese_clauses_state_facts_behind_a_description(text: str, expected: Facts) -> None:
    assert expected == facts_in(text)


@pytest.mark.parametrize(
    "text",
    [
        *("免费用户，范围 [0, 3]", "如果开启，默认 0.4", "旧版本，0-3 之间", "建议值，0-3 之间", "快速模式，默认 7"),
        *("好听的值大概是 0.2 到 2 之间", "其他语言，范围 [0, 3]", "2 种语言，范围 [0, 3]"),
    ],
)
def test_a_chinese_clause_that_may_restrict_or_advise_leaves_the_next_one_unread(text: str) -> None:
    assert {} == facts_in(text)
    assert (text,) == read_cell(cell(text), "x", prose=True).unread


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Constraints: minimum: 0 maximum: 3", ["[0, ∞)", "(-∞, 3]"]),
        ("Constraints: minimum: 2 default: 4", ["[2, ∞)", 4]),
        ("Min: 0, Max: 3", ["[0, ∞)", "(-∞, 3]"]),
        ("minItems: 1", ["[1, ∞)"]),
        ("Constraints: Minimum Items: `1`", ["[1, ∞)"]),
        ("maxLength: 12", ["[0, 12]"]),
        ("exclusiveMinimum: 0", ["(0, ∞)"]),
        ("Constraints: `>= 0`, `<= 3`", ["[0, ∞)", "(-∞, 3]"]),
    ],
)
def test_keywords_with_values_state_one_fact_each(text: str, expected: list[Any]) -> None:
    read = read_cell(cell(text), "x", prose=True).statements
    assert expected == [format_range(one.value) if isinstance(one.value, tuple) else one.value for one in read]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Boldness of the answer (range: [0, 3])", {"range": "[0, 3]"}),
        ("Boldness of the answer (range: (0, 3])", {"range": "(0, 3]"}),
        ("Boldness of the answer (range: [2, Infinity))", {"range": "[2, ∞)"}),
        ("The range is [0, 3], with a default value of 2", {"range": "[0, 3]", "default": 2}),
        ("The value ranges from 0 to 3, and the default value is 2", {"range": "0..3", "default": 2}),
        ("An integer ranging from 0 to 3", {"range": "0..3"}),
        ("Can be 0-3", {"range": "0..3"}),
        ("Range: 2 <= value", {"range": "[2, ∞)"}),
        ("Boldness when asked twice (range: [0, 3])", {}),
    ],
)
def test_intervals_are_read_in_brackets_and_beside_a_default(text: str, expected: Facts) -> None:
    assert expected == facts_in(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("number | null | undefined", {"types": ("number",), "nullable": True}),
        ("number?", {"types": ("number",), "required": "no"}),
        (
            "Optional[Union[str, List[str]]]",
            {"types": ("array", "string"), "nullable": True, "[]types": ("string",)},
        ),
        ('Literal["calm", "wild"]', {"types": ("string",), "enum": ("calm", "wild")}),
        ('Optional[Literal["calm"]]', {"types": ("string",), "enum": ("calm",), "nullable": True}),
        ('"calm" | "wild"', {"types": ("string",), "enum": ("calm", "wild")}),
        ("f32", {"types": ("number",)}),
        ("usize", {"types": ("integer",)}),
        ("数字或 null", {"types": ("number",), "nullable": True}),
        ("Float in [0,3]", {"types": ("number",), "range": "[0, 3]"}),
        ("Float in (0,3]", {"types": ("number",), "range": "(0, 3]"}),
        ("Integer greater than zero", {"types": ("integer",), "range": "(0, ∞)"}),
        ("array of up to 2 strings", {"types": ("array",), "items": "[0, 2]", "[]types": ("string",)}),
        ("string of at most 32 characters", {"types": ("string",), "length": "[0, 32]"}),
        ("string list", {"types": ("array",), "[]types": ("string",)}),
        ("Turn list", {"types": ("array",)}),
        ("Turn[]", {"types": ("array",)}),
        ('Union[Literal["calm"], int]', {}),  # the value is not the only one of the other type
        ("Optional[Union[str, Turn]]", {}),
    ],
)
def test_a_type_cell_states_no_more_than_all_of_its_types(text: str, expected: Facts) -> None:
    stated = read_type_cell(text, "x").statements
    ranges = ("range", "items", "length")
    assert expected == {
        f"{one.at}{one.attribute}": format_range(one.value) if one.attribute in ranges else one.value for one in stated
    }
