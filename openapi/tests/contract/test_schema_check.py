"""The schema check reports an invalid dialect in one line with the file, the place and the problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from openapi.contract.contract import ContractError, load_file, names
from openapi.contract.resolution import resolve
from openapi.contract.validation.schema_check import check_tree

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DIALECTS = sorted(set(names().values()))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_every_dialect_is_valid(dialect: str) -> None:
    check_tree(resolve(dialect), dialect)


def at(tree: Any, place: str) -> Any:
    for step in place.split("/") if place else ():
        tree = tree[int(step) if step.isdigit() else step]
    return tree


def put(place: str, value: Any) -> Callable[[Any], None]:
    holder, _, key = place.rpartition("/")
    return lambda tree: at(tree, holder).__setitem__(key, value)


def drop(place: str) -> Callable[[Any], None]:
    holder, _, key = place.rpartition("/")
    return lambda tree: at(tree, holder).pop(key)


TOP_P = "parameters/top_p"
BROKEN: list[tuple[Callable[[Any], None], str]] = [
    (drop("parameters"), "parameters is required"),
    (put("parameters", [1]), "parameters must be object, got an array"),
    (put("parameters/x", None), "parameters.x must be object, got null"),
    (drop(f"{TOP_P}/null_value"), "parameters.top_p.null_value is required"),
    (
        put(f"{TOP_P}/null_value/level", "MUSTY"),
        'parameters.top_p.null_value.level must be one of "MUST", "SHOULD", "MAY", got "MUSTY"',
    ),
    (drop(f"{TOP_P}/probes/0/expect"), "parameters.top_p.probes[0].expect is required"),
    (put(f"{TOP_P}/schema/type", "nummer"), "parameters/top_p/schema/type: invalid JSON Schema: "),
    (
        put(f"{TOP_P}/schema", {"type": "number", "minimum": 2, "maximum": 1}),
        "parameters/top_p/schema: empty range: no value satisfies minimum 2 and maximum 1",
    ),
    (
        put(f"{TOP_P}/schema", {"type": "number", "exclusiveMinimum": 1, "maximum": 1}),
        "parameters/top_p/schema: empty range: no value satisfies exclusiveMinimum 1 and maximum 1",
    ),
    (
        put("schemas/Content/anyOf", [{"minLength": 9, "maxLength": 1}]),
        "schemas/Content/anyOf/0: empty range: no value satisfies minLength 9 and maxLength 1",
    ),
    (put("stream/rolle", "never"), 'stream must not have "rolle"'),
    (drop("stream/role"), "stream.role is required"),
    (put("stream/role", "sometimes"), "stream.role must be one of"),
    (put("answer/timing", True), 'answer must not have "timing"'),
    (put("endpoint/path", "v1/chat"), 'endpoint.path must match ^/, got "v1/chat"'),
    (put("auth/scheme", "basic"), 'auth.scheme must be one of "none", "bearer", got "basic"'),
    (put("errors/kinds/invalid_json", {"code": 1}), "errors.kinds.invalid_json.status is required"),
]


@pytest.mark.parametrize(("breaks", "message"), BROKEN, ids=[message[:60] for _, message in BROKEN])
def test_an_invalid_tree_is_reported_with_its_place(breaks: Callable[[Any], None], message: str) -> None:
    tree = resolve("mindie-2.3")
    breaks(tree)
    with pytest.raises(ContractError, match=r"^here: ") as raised:
        check_tree(tree, "here")
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


@pytest.mark.parametrize(
    ("schema", "valid"),
    [
        ({"type": "number", "minimum": 1, "maximum": 1}, True),
        ({"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 1}, False),
        ({"type": "array", "minItems": 2, "maxItems": 1}, False),
        ({"type": "object", "properties": {"minimum": {"type": "number"}, "maximum": {"type": "number"}}}, True),
    ],
)
def test_ranges_without_values_are_reported(schema: dict[str, Any], valid: bool) -> None:
    tree = resolve("mindie-2.3")
    tree["parameters"]["top_p"]["schema"] = schema
    if valid:
        check_tree(tree, "here")
    else:
        with pytest.raises(ContractError, match="empty range"):
            check_tree(tree, "here")


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"document": "mindie-9"}, "document: unknown document 'mindie-9': expected a mapping that pins one, "),
        ({"add": {"parameters/top_p/sumary": "x"}}, "parameters/top_p: unknown key sumary"),
        ({"remove": ["parameters/top_p/summary"]}, "parameters.top_p.summary is required"),
        ({"id": "mindie"}, "id: 'mindie' is the name of a built-in dialect: choose another one"),
        (
            {"replace": {"parameters/temperature/schema/maximum": 0.5}},
            "parameters/temperature/default: 1.0 is not a value of the parameter",
        ),
        (
            {
                "replace": {"parameters/temperature/schema/maximum": 0.5, "parameters/temperature/default": 0.5},
                "add": {"parameters/temperature/probes/one": {"name": "one", "value": 1, "expect": "accept"}},
            },
            "parameters/temperature/probes/one: the value must be accepted, but the schema of the parameter forbids it",
        ),
    ],
)
def test_an_invalid_dialect_file_is_reported_by_name(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    own = {"id": "mine", "title": "Mine", "document": "mindie-llm-2.3", "extends": "mindie-2.3"}
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({**own, **changes}))
    with pytest.raises(ContractError, match=rf"^{path}(:\d+:\d+)?: {message}"):
        load_file(path)


def test_a_valid_dialect_file_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("{id: mine, title: Mine, document: mindie-llm-2.3, extends: mindie-2.3}")
    assert load_file(path).name == "mine"
