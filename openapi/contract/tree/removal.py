"""What a dialect does not inherit, because its own deltas leave it pointless.

Removing a parameter removes the rules, requirements, companions and capabilities that are only about it. A probe or an
example of the parent is left out if a changed schema contradicts it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jsonschema_rs

from openapi.contract.tree.delta import walk_tree
from openapi.contract.tree.inheritance import read_rows
from openapi.contract.tree.probe_value import expand_value

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from openapi.contract.tree.delta import Tree


def drop_dependents(tree: Tree, removed: Collection[str], inherited: Tree) -> None:
    """Remove what is only about removed parameters, as far as the dialect inherits it without a change.

    inherited: the tree of the parent, of which `tree` is the changed copy.
    """
    if not removed:
        return
    for name, row in _unchanged(tree, inherited, "rules"):
        if any(mentions(row, parameter) for parameter in removed):
            del tree["rules"][name]
    for name, row in _unchanged(tree, inherited, "requirements"):
        if parameter_of(row.get("source", "")) in removed:
            del tree["requirements"][name]
    for row in tree["parameters"].values():
        if "needs" in row:
            row["needs"] = {name: value for name, value in row["needs"].items() if name not in removed}
    used = _list_capabilities(tree["parameters"], tree["schemas"])
    gone = _list_capabilities(inherited["parameters"], inherited["schemas"]) - used
    for name, _ in _unchanged(tree, inherited, "capabilities"):
        if name in gone:
            del tree["capabilities"][name]
    for part in ("rules", "requirements"):
        for name, row in _unchanged(tree, inherited, part):
            if row.get("capability") in gone:
                del tree[part][name]


def _unchanged(tree: Tree, inherited: Tree, part: str) -> list[tuple[str, Tree]]:
    """Return the rows of a part that the dialect inherits as they are."""
    before = inherited.get(part, {})
    return [(name, row) for name, row in read_rows(tree, part) if before.get(name) == row]


def mentions(rule: Mapping[str, Any], parameter: str) -> bool:
    """Return whether a rule, as data, is about a parameter."""
    return f"'{parameter}'" in repr([rule.get(key) for key in ("trigger", "schema", "broken", "kept")])


def parameter_of(source: str) -> str | None:
    """Return `top_k` for a source such as `mindie-llm-2.3#request/top_k/range`; None if it is about no parameter."""
    kind, _, rest = source.partition("#")[2].partition("/")
    return rest.partition("/")[0] if kind == "request" and rest else None


def _list_capabilities(parameters: Mapping[str, Tree], schemas: Mapping[str, Any]) -> set[str]:
    """Return the capabilities that a parameter, a part of one, or a shared schema belongs to."""
    rows = {row["capability"] for row in parameters.values() if "capability" in row}
    trees = ([row.get("schema") for row in parameters.values()], list(schemas.values()))
    return rows | {value for key, value, _ in walk_tree(list(trees[0]) + trees[1]) if key == "x-capability"}


def drop_contradicted(tree: Tree, inherited: Tree) -> None:
    """Leave out inherited probes and examples of rules that a changed schema contradicts.

    A value that must be accepted has become invalid, or one that must be refused has become valid.
    """
    before, after = _Verdicts(inherited), _Verdicts(tree)

    def is_contradicted(name: str, value: Any, expect: str) -> bool:
        if expect == "accept":
            return before.accepts(name, value) is True and after.accepts(name, value) is False
        return before.accepts(name, value) is False and after.accepts(name, value) is True

    for name, row in tree["parameters"].items():
        known = inherited["parameters"].get(name)
        if known is None or not row.get("probes"):
            continue
        if row["schema"] == known["schema"] and tree["schemas"] == inherited["schemas"]:
            continue
        probes = known.get("probes", ())
        row["probes"] = [
            probe
            for probe in row["probes"]
            if probe not in probes or not is_contradicted(name, expand_value(probe.get("value")), probe["expect"])
        ]
    for _, row in _unchanged(tree, inherited, "rules"):
        if any(is_contradicted(name, value, "accept") for name, value in (row.get("kept") or {}).items()):
            del row["kept"]


class _Verdicts:
    """Whether the schemas of a tree accept a value of a parameter."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._validators: dict[str, Any] = {}

    def accepts(self, name: str, value: Any) -> bool | None:
        """Return whether the schema of a parameter accepts a value; None without a valid schema."""
        if name not in self._validators:
            self._validators[name] = self._make(name)
        validator = self._validators[name]
        return None if validator is None else bool(validator.is_valid(value))

    def _make(self, name: str) -> Any:
        schema = self._tree["parameters"].get(name, {}).get("schema")
        if not isinstance(schema, dict):
            return None
        try:
            return jsonschema_rs.validator_for({**schema, "components": {"schemas": dict(self._tree["schemas"])}})
        except (ValueError, jsonschema_rs.ValidationError):  # reported when the tree is checked
            return None
