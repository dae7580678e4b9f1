"""Soundness: a tree that is no dialect is refused in one line with the file, the place and what is wrong there."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from openapi.contract.contract import ContractError, load_file, names
from openapi.contract.resolution import resolve
from openapi.contract.schema_check import check_tree

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

DIALECTS = sorted(set(names().values()))


@pytest.mark.parametrize("dialect", DIALECTS)
def test_dialects_are_sound(dialect: str) -> None:
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
    (put("parameters", [1]), "parameters must be object, got a list"),
    (put("parameters/x", None), "parameters.x must be object, got null"),
    (drop(f"{TOP_P}/null_value"), "parameters.top_p.null_value is required"),
    (
        put(f"{TOP_P}/null_value/level", "MUSTY"),
        'parameters.top_p.null_value.level must be one of "MUST", "SHOULD", "MAY", got "MUSTY"',
    ),
    (drop(f"{TOP_P}/probes/0/expect"), "parameters.top_p.probes[0].expect is required"),
    (put(f"{TOP_P}/schema/type", "nummer"), "parameters/top_p/schema/type: no JSON Schema: "),
    (
        put(f"{TOP_P}/schema", {"type": "number", "minimum": 2, "maximum": 1}),
        "parameters/top_p/schema: nothing lies between minimum 2 and maximum 1: one of the two is wrong",
    ),
    (
        put(f"{TOP_P}/schema", {"type": "number", "exclusiveMinimum": 1, "maximum": 1}),
        "parameters/top_p/schema: nothing lies between exclusiveMinimum 1 and maximum 1",
    ),
    (
        put("schemas/Content/anyOf", [{"minLength": 9, "maxLength": 1}]),
        "schemas/Content/anyOf/0: nothing lies between minLength 9 and maxLength 1",
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
def test_a_broken_tree_is_refused_with_its_place(breaks: Callable[[Any], None], message: str) -> None:
    tree = resolve("mindie-2.3")
    breaks(tree)
    with pytest.raises(ContractError, match=r"^here: ") as refused:
        check_tree(tree, "here")
    assert message in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("schema", "sound"),
    [
        ({"type": "number", "minimum": 1, "maximum": 1}, True),
        ({"type": "number", "exclusiveMinimum": 1, "exclusiveMaximum": 1}, False),
        ({"type": "array", "minItems": 2, "maxItems": 1}, False),
        ({"type": "object", "properties": {"minimum": {"type": "number"}, "maximum": {"type": "number"}}}, True),
    ],
)
def test_ranges_are_judged_by_what_lies_between_their_ends(schema: dict[str, Any], sound: bool) -> None:
    tree = resolve("mindie-2.3")
    tree["parameters"]["top_p"]["schema"] = schema
    if sound:
        check_tree(tree, "here")
    else:
        with pytest.raises(ContractError, match="nothing lies between"):
            check_tree(tree, "here")


def test_a_file_is_read_as_a_contract_and_named_when_it_is_none(tmp_path: Path) -> None:
    own = {"id": "mine", "aliases": [], "title": "Mine", "document": "mindie-llm-2.3", "extends": "mindie-2.3"}
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump(own))
    assert load_file(path).name == "mine"
    for changes, message in (
        ({"document": "mindie-9"}, "mine: documents.yaml pins no document 'mindie-9'"),
        ({"add": {"parameters/top_p/sumary": "x"}}, "parameters/top_p: unknown sumary"),
        ({"remove": ["parameters/top_p/summary"]}, "parameters.top_p.summary is required"),
    ):
        path.write_text(yaml.safe_dump({**own, **changes}))
        with pytest.raises(ContractError, match=f"^{path}: {message}"):
            load_file(path)
