"""Resolution of dialects: deltas are strict, and a typo in the data is an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
import yaml

from openapi.contract import loading, resolution
from openapi.contract.resolution import resolve
from openapi.contract.tree.delta import walk_tree
from openapi.contract.tree.probe_value import expand_value
from openapi.contract.tree.yaml_file import ContractError, parse

if TYPE_CHECKING:
    from pathlib import Path

ROOT: dict[str, Any] = {
    "id": "root",
    "aliases": [],
    "title": "Root",
    "document": "d",
    "a": {"b": 1, "probes": [{"name": "one", "value": 1}, {"name": "two", "value": 2}]},
    "c": {"shape": "s/first"},
}
SHAPES = {
    "first": {"shape": "s/second", "x": 1},
    "second": {"x": 0, "y": [{"shape": "s/third"}]},
    "third": {"z": 3},
}


@pytest.fixture
def files(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Dialect files in memory, by path. `root` and the shapes exist already."""
    contents: dict[str, Any] = {"dialects/root.yaml": ROOT, "shapes/s.yaml": SHAPES}
    monkeypatch.setattr(resolution, "read", contents.__getitem__)
    monkeypatch.setattr(resolution, "read_aliases", lambda dialect: contents[f"dialects/{dialect}.yaml"]["aliases"])
    monkeypatch.setattr(resolution, "resolve_built_in", resolution.resolve_built_in.__wrapped__)
    monkeypatch.setattr(
        resolution,
        "dialect_files",
        lambda: {path.split("/")[1][:-5]: path for path in contents if path.startswith("dialects/")},
    )
    return contents


def child(**deltas: Any) -> dict[str, Any]:
    return {"id": "child", "aliases": [], "title": "Child", "document": "e", "extends": "root", **deltas}


def test_deltas_add_replace_and_remove(files: dict[str, Any]) -> None:
    files["dialects/child.yaml"] = child(
        add={"a/new": {"shape": "s/third", "w": 4}, "a/probes/three": {"name": "three", "value": 3}},
        replace={"a/b": 2, "a/probes/one/value": 10},
        remove=["c", "a/probes/two"],
    )
    tree = resolve("child")
    assert tree["a"] == {
        "b": 2,
        "probes": [{"name": "one", "value": 10}, {"name": "three", "value": 3}],
        "new": {"z": 3, "w": 4},
    }
    assert "c" not in tree
    assert (tree["id"], tree["document"], tree["documents"]) == ("child", "e", {})


def test_an_item_of_a_list_is_found_by_its_name_else_its_value_else_itself(files: dict[str, Any]) -> None:
    files["dialects/child.yaml"] = child(
        add={"probes": [{"name": "one", "value": 1}, {"value": 2.0}, {"value": -1}, "three"]},
    )
    files["dialects/grandchild.yaml"] = child(
        id="grandchild", extends="child", remove=["probes/one", "probes/2.0", "probes/three"]
    )
    assert resolve("grandchild")["probes"] == [{"value": -1}]


def test_shapes_nest_and_other_keys_override_them(files: dict[str, Any]) -> None:
    assert resolve("root")["c"] == {"x": 1, "y": [{"z": 3}]}


def test_later_shapes_of_a_list_override_earlier_ones(files: dict[str, Any]) -> None:
    files["dialects/child.yaml"] = child(replace={"c": {"shape": ["s/first", "s/second"]}})
    assert resolve("child")["c"]["x"] == 0


@pytest.mark.parametrize(
    ("deltas", "message"),
    [
        ({"add": {"a/b": 2}}, r"cannot add a/b: the path exists \(use replace\)"),
        ({"add": {"a/x/y": 2}}, "unknown path 'a/x/y': a has no x"),
        ({"add": {"a/b/c": 2}}, "unknown path 'a/b/c': a/b is not a mapping or a list"),
        ({"add": {"a/probes/one": {}}}, "cannot add a/probes/one: the path exists"),
        ({"add": {"a/probes/three": {"value": 3}}}, "invalid item of a list: expected the name 'three'"),
        ({"replace": {"a/x": 2}}, r"cannot replace a/x: the path does not exist \(use add\)"),
        ({"replace": {"a/probes/three/value": 2}}, "unknown path 'a/probes/three/value'"),
        ({"remove": ["a/x"]}, "cannot remove a/x: the path does not exist"),
        ({"remove": ["x/y"]}, "unknown path 'x/y'"),
        ({"add": {"n": {"shape": "s/fourth"}}}, "unknown shape 's/fourth'"),
        ({"auth": {}}, r"invalid key auth: move it to add, replace or remove"),
    ],
)
def test_an_invalid_delta_is_an_error(files: dict[str, Any], deltas: dict[str, Any], message: str) -> None:
    files["dialects/child.yaml"] = child(**deltas)
    with pytest.raises(ContractError, match=message):
        resolve("child")


def test_dialects_that_extend_each_other_are_an_error(files: dict[str, Any]) -> None:
    files["dialects/one.yaml"] = {**child(), "extends": "two"}
    files["dialects/two.yaml"] = {**child(), "extends": "one"}
    with pytest.raises(ContractError, match="in a cycle: one -> two -> one"):
        resolve("one")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {**ROOT, "extends": "rot"},
            "openapi/dialects/broken.yaml: extends: unknown dialect 'rot': expected one of .*root",
        ),
        ([1], "openapi/dialects/broken.yaml: invalid dialect: expected a mapping, got a list"),
        (None, "openapi/dialects/broken.yaml: invalid dialect: expected a mapping, got nothing"),
        ({"id": "x", "title": "X"}, "openapi/dialects/broken.yaml: invalid dialect: document, aliases missing"),
        (
            child(add=["a/new"]),
            "openapi/dialects/broken.yaml: invalid add: expected a mapping from paths to values, got a list",
        ),
    ],
)
def test_an_invalid_dialect_file_is_an_error(files: dict[str, Any], content: Any, message: str) -> None:
    files["dialects/broken.yaml"] = content
    with pytest.raises(ContractError, match=message):
        resolve("broken")


def test_an_outside_file_may_extend_a_dialect(tmp_path: Path) -> None:
    own = {"id": "mine", "aliases": [], "title": "Mine", "document": "mindie-llm-2.3", "extends": "mindie-2.3"}
    path = tmp_path / "mine.yaml"
    path.write_text(yaml.safe_dump({**own, "replace": {"default_model": "mine"}}))
    assert resolution.resolve_file(path)["default_model"] == "mine"
    assert resolution.resolve_file(path)["parameters"] == resolve("mindie-2.3")["parameters"]
    path.write_text(yaml.safe_dump({**own, "replace": {"default_modell": "mine"}}))
    with pytest.raises(ContractError, match=f"{path}: cannot replace default_modell: the path does not exist"):
        resolution.resolve_file(path)
    path.write_text("a: [1, 2\nb: 3")
    with pytest.raises(ContractError, match=rf"{path}:2:\d+: invalid YAML: "):
        resolution.resolve_file(path)


def test_every_call_returns_a_new_tree() -> None:
    first = resolve("mindie-2.3")
    first["parameters"]["top_p"]["schema"]["maximum"] = 7
    first["parameters"]["messages"]["probes"][0]["value"].append(7)
    first["documents"]["errors"] = "other"
    first["aliases"].append("other")
    second = resolve("mindie-2.3")
    assert second["parameters"]["top_p"]["schema"]["maximum"] == 1.0
    assert second["parameters"]["messages"]["probes"][0]["value"] == []
    assert second["documents"]["errors"] == "mindie-llm-source"
    assert second["aliases"] == ["mindie"]
    assert "n" not in resolve("mindie-1.0")["parameters"]


def test_duplicate_keys_in_a_file_are_an_error() -> None:
    with pytest.raises(ContractError, match=r"^own\.yaml:1:17: invalid YAML: duplicate key 'b'$"):
        parse("a: {b: 1, c: 2, b: 3}", "own.yaml")


def test_broken_yaml_names_the_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    (tmp_path / "bad.yaml").write_text("a: [1, 2")
    monkeypatch.setattr(resolution, "files", lambda _package: tmp_path)
    with pytest.raises(ContractError, match=r"openapi/bad.yaml:\d+:\d+: invalid YAML: "):
        resolution.read.__wrapped__("bad.yaml")
    (tmp_path / "bad.yaml").write_text("a: \x01")
    with pytest.raises(ContractError, match=r"openapi/bad.yaml:.*invalid YAML: "):
        resolution.read.__wrapped__("bad.yaml")
    with pytest.raises(ContractError, match=r"openapi/none.yaml: file not found"):
        resolution.read.__wrapped__("none.yaml")


@pytest.mark.parametrize(
    ("read_row", "row", "message"),
    [
        (lambda row: loading.parse_parameter("p", row), {"sumary": "x"}, "p: unknown key sumary: expected .*summary"),
        (lambda row: loading.parse_rule("r", row), {"lvel": "MAY"}, "rules/r: unknown key lvel"),
        (lambda row: loading.parse_capability("c", row), {"assume": True}, "capabilities/c: unknown key assume"),
        (
            lambda row: loading.parse_probe(row, "p"),
            {"value": 1, "expects": "accept"},
            "p/probes/1: unknown key expects",
        ),
        (lambda row: loading.parse_probe(row, "p"), {"value": {"x": 1}}, "invalid value of a probe"),
    ],
)
def test_unknown_keys_are_an_error(read_row: Any, row: dict[str, Any], message: str) -> None:
    with pytest.raises(ContractError, match=message):
        read_row(row)


def test_short_forms_of_values_are_expanded() -> None:
    assert expand_value({"repeat": "ab", "times": 3}) == "ababab"
    assert expand_value({"list": {"repeat": "a", "times": 2}, "times": 2}) == ["aa", "aa"]
    assert expand_value({"literal": {"repeat": "a", "times": 2}}) == {"repeat": "a", "times": 2}
    assert expand_value([{"role": "user"}]) == [{"role": "user"}]


def test_relative_sources_get_the_document_of_their_part() -> None:
    tree = {
        "document": "own",
        "documents": {"errors": "other"},
        "source": "#request/top_k",
        "inner": [{"x-source": "#errors/error"}, {"source": "rfc-9110#status.400"}],
    }
    loading.make_sources_absolute(tree)
    assert tree["source"] == "own#request/top_k"
    assert tree["inner"] == [{"x-source": "other#errors/error"}, {"source": "rfc-9110#status.400"}]


def test_a_walk_of_a_tree_yields_parents_first() -> None:
    assert [(key, value) for key, value, _ in walk_tree({"a": {"b": [{"c": 1}]}})] == [
        ("a", {"b": [{"c": 1}]}),
        ("b", [{"c": 1}]),
        ("c", 1),
    ]
