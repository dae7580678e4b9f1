"""Fields of pages in several styles: what is read, and that only what a page states at a path is a MUST."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING, Any, Final

import jsonschema_rs
import pytest

from openapi.contract.parameter import Keyword
from openapi.contract.resolution import resolve
from openapi.contract.sentence import is_place
from openapi.reading.compare.contract_facts import contract_facts
from openapi.tests.importing.importing import imported

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from openapi.contract.contract import Contract

Field = tuple[str, str, str, dict[str, Any]]
"""The path of a field, its type, what else the page says, and the keywords that this states."""
FIELDS: Final[list[Field]] = [
    ("messages[].role", "", "One of `system`, `user`, `assistant`.", {"enum": ["system", "user", "assistant"]}),
    ("messages[].role", "string", "", {}),
    ("messages[].content", "string", "", {}),
    ("messages[].content", "string", "Up to 900 characters.", {"maxLength": 900}),
    ("messages[].name", "string", "", {}),
    ("messages[].name", "string", "At most 40 characters.", {"maxLength": 40}),
    ("tools[].type", "string", "", {}),
    ("tools[].function.name", "string", "Up to 48 characters.", {"maxLength": 48}),
    ("tools[].function.description", "string", "", {}),
    ("tools[].function.strict", "boolean", "", {}),
    ("tools[].function.parameters", "object", "", {}),
    ("stream_options.include_usage", "boolean", "", {}),
    ("response_format.type", "", "One of `text`, `json_object`.", {"enum": ["text", "json_object"]}),
]
PARENTS: Final = {"messages": "array", "tools": "array", "stream_options": "object", "response_format": "object"}
JSON_TYPES: Final[dict[str, type]] = {"array": list, "object": dict}


def write_table(fields: list[tuple[str, str, bool, str]]) -> str:
    rows = [f"| {path} | {kind or '-'} | {'yes' if needed else 'no'} | {says} |" for path, kind, needed, says in fields]
    return "\n".join(["## Request parameters", "", "| Name | Type | Required | Notes |", "|---|---|---|---|", *rows])


def write_bullets(fields: list[tuple[str, str, bool, str]]) -> str:
    """Return nested lists, in which a field has only its own name."""
    lines = ["## Request parameters", ""]
    for path, kind, needed, says in fields:
        steps = re.findall(r"\w+", path)
        presence = "*required*" if needed else "*optional*"
        lines.append(f"{'  ' * (len(steps) - 1)}- **{steps[-1]}** {f'`{kind}` ' if kind else ''}{presence} — {says}")
    return "\n".join(lines)


def draw_fields(chance: random.Random) -> list[tuple[Field, bool]]:
    """Return some fields, each path once, and whether it is required."""
    drawn = {field[0]: field for field in chance.sample(FIELDS, chance.randint(1, 6))}
    return [(field, chance.random() < 0.3) for field in drawn.values()]


def add_parents(fields: list[tuple[Field, bool]]) -> list[tuple[str, str, bool, str]]:
    """Return the rows of a page: the fields, each below its parents."""
    rows: dict[str, tuple[str, str, bool, str]] = {"model": ("model", "string", True, "Which model.")}
    for (path, kind, says, _), needed in sorted(fields, key=lambda item: item[0][0]):
        name = re.split(r"[.\[]", path)[0]
        rows.setdefault(name, (name, PARENTS[name], name == "messages", "See below."))
        if ".function." in path:
            rows.setdefault(f"{name}[].function", (f"{name}[].function", "object", False, "The function."))
        rows[path] = (path, kind, needed, says)
    return list(rows.values())


def values_at(value: Any, path: str) -> list[Any]:
    values = [value]
    for step in re.findall(r"\[\]|[^.\[\]]+", path):
        lists = [one for one in values if isinstance(one, list)] if step == "[]" else []
        values = [item for one in lists for item in one] or [
            one[step] for one in values if isinstance(one, dict) and step in one
        ]
    return values


def is_violated(stated: tuple[Field, bool], value: Any, name: str) -> bool:
    """Return whether a value violates what a page states about one field."""
    (path, kind, _, keywords), needed = stated
    schema = {**({"type": kind} if kind else {}), **keywords}
    inner = values_at(value, path.removeprefix(name))
    parents = values_at(value, path.rpartition(".")[0].removeprefix(name))
    missing = needed and any(isinstance(one, dict) and path.rpartition(".")[2] not in one for one in parents)
    return missing or not all(jsonschema_rs.is_valid(schema, item) for item in inner if item is not None)


def violates_form(value: Any, name: str) -> bool:
    """Return whether a value is not of the type of the parameter, or has a function that is not an object."""
    functions = values_at(value, "[].function") if name == "tools" else []
    return not isinstance(value, JSON_TYPES[PARENTS[name]]) or not all(isinstance(one, dict) for one in functions)


@pytest.mark.takes_turns
@pytest.mark.parametrize("write", [write_table, write_bullets])
@pytest.mark.parametrize("seed", range(12))
def test_a_test_value_is_a_must_only_if_the_page_states_what_it_violates(
    seed: int, write: Callable[[list[tuple[str, str, bool, str]]], str], tmp_path: Path
) -> None:
    fields = draw_fields(random.Random(seed))
    contract, _ = imported(write(add_parents(fields)), tmp_path, "page.md")
    for name in PARENTS:
        probes = contract.parameters[name].probes if name in contract.parameters else ()
        own = [stated for stated in fields if stated[0][0].startswith(name)]
        for probe in probes:
            if probe.expect == "reject" and probe.keyword is Keyword.MUST:
                stated = any(is_violated(one, probe.value, name) for one in own)
                assert stated or violates_form(probe.value, name), (probe.name, fields)
    tree = resolve(contract.location)
    places = [place for sentence in contract.sentences for place in sentence.home.places]
    assert [] == [place for place in places if not is_place(tree, place)]


@pytest.mark.parametrize("write", [write_table, write_bullets])
@pytest.mark.parametrize("seed", range(12))
def test_a_field_has_the_limits_that_a_page_states(
    seed: int, write: Callable[[list[tuple[str, str, bool, str]]], str], tmp_path: Path
) -> None:
    fields = draw_fields(random.Random(seed))
    contract, todos = imported(write(add_parents(fields)), tmp_path, "page.md")
    facts = contract_facts(contract)
    for (path, _, _, keywords), _ in fields:
        fact = facts["request", path].fact
        if "maxLength" in keywords:
            assert keywords["maxLength"] == fact.length[-1].high
        if "enum" in keywords:
            assert set(keywords["enum"]) == set(fact.enum)
    assert [] == [todo for todo in todos if "page (line" in todo]


def limits(contract: Contract, path: str) -> tuple[Any, ...]:
    """Return the length, the number of elements and the values of a field."""
    fact = contract_facts(contract)["request", path].fact
    sizes = [(size[0].low, size[-1].high) if size else None for size in (fact.length, fact.items)]
    return (*sizes, set(fact.enum))


AMOUNTS: Final = ["不超过{n}个字符", "最多{n}个字符", "长度不超过{n}个字符", "长度至多{n}字符", "1到{n}个字符"]
COUNTS: Final = ["1到{n}条消息", "最多{n}条消息", "不超过{n}条", "数量最多{n}个"]
VALUES: Final = ["取值范围：{listed}", "取值包括：{listed}", "取值：{listed}"]


@pytest.mark.parametrize("seed", range(8))
def test_amounts_and_values_of_fields_are_read_in_chinese(seed: int, tmp_path: Path) -> None:
    chance = random.Random(seed)
    length, count = chance.randint(2, 9000), chance.randint(2, 90)
    roles = chance.sample(["system", "user", "assistant", "tool"], chance.randint(2, 4))
    rows = [
        ("model", "必选", "字符串。"),
        ("messages", "必选", f"数组，{chance.choice(COUNTS).format(n=count)}。"),
        ("messages.role", "必选", f"字符串，{chance.choice(VALUES).format(listed='、'.join(roles))}。"),
        ("messages.name", "可选", f"字符串，{chance.choice(AMOUNTS).format(n=length)}。"),
        ("max_tokens", "可选", f"int类型，取值范围[1, {count}]，默认值1。"),
        ("tool_choice", "可选", '支持"none"和"auto"，默认值"auto"。'),
    ]
    table = "\n".join(f"| {' | '.join(row)} |" for row in [("参数", "是否必选", "取值要求"), ("---",) * 3, *rows])
    contract, todos = imported(f"# 推理接口\n\n## 请求参数\n\n{table}\n", tmp_path, "page.md")
    assert count == limits(contract, "messages")[1][1]
    assert set(roles) == limits(contract, "messages[].role")[2]
    assert length == limits(contract, "messages[].name")[0][1]
    assert {"minimum": 1, "maximum": count} == {
        key: value for key, value in contract.parameters["max_tokens"].schema.items() if key in ("minimum", "maximum")
    }
    assert {"none", "auto"} == limits(contract, "tool_choice")[2]
    assert [] == [todo for todo in todos if "(line" in todo]


MARKS: Final = {"✓": "", "M": "O", "yes": "no", "✔": "✘"}


@pytest.mark.parametrize("mark", MARKS)
def test_marks_state_which_parameters_are_required_and_an_enum_lists_its_values(mark: str, tmp_path: Path) -> None:
    rows = [("model", "string", mark, "Model."), ("messages", "array<object>", mark, "Conversation.")]
    rows += [
        ("messages[].role", "enum", mark, "`system`, `user` or `assistant`"),
        ("n", "integer", MARKS[mark], "1 .. 4"),
    ]
    table = "\n".join(f"| {' | '.join(row)} |" for row in [("Field", "Type", "Required", "Notes"), ("---",) * 4, *rows])
    contract, todos = imported(f"## Request\n\n{table}\n", tmp_path, "page.md")
    assert {"model", "messages"} == {name for name, row in contract.parameters.items() if row.required}
    assert {"system", "user", "assistant"} == limits(contract, "messages[].role")[2]
    assert (1, 4) == (contract.parameters["n"].schema["minimum"], contract.parameters["n"].schema["maximum"])
    assert [] == [todo for todo in todos if "(line" in todo]
