"""What a dialect inherits: each fact keeps the document whose sentence states it.

A relative source, such as `#request/top_k`, refers to the document of the file that contains it. A dialect that extends
another one states such a fact itself only if one of its own sentences has that anchor, if its `documents` say which
document does, or if a delta of its file changes the fact. Every other inherited fact keeps the document of its parent,
and its level is derived from that: by analogy, at most SHOULD.

Removing a parameter removes the rules, requirements, companions and capabilities that are only about it. A probe or an
example of the parent is left out if a changed schema contradicts it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import jsonschema_rs

from openapi.contract.tree.delta import identify_item, walk_tree
from openapi.contract.tree.probe_value import expand_value

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from openapi.contract.tree.delta import Tree

SOURCES: Final = ("source", "x-source")
ROWS: Final = ("rules", "requirements", "capabilities")
"""The parts of a tree whose rows are one fact each; a parameter consists of several."""


def find_document(anchor: str, parts: Mapping[str, str], document: str) -> str:
    """Return the document of a relative source: that of the whole anchor or of its part, else the dialect's own."""
    place = anchor.removeprefix("#")
    return parts.get(place) or parts.get(place.partition("/")[0]) or document


def keep_documents(
    tree: Tree, document: Any, sentences: Collection[Mapping[str, Any]], parts: Mapping[str, str]
) -> None:
    """Make each relative source of a parent's tree absolute that the child's own sentences do not have.

    The key `inherited` of the tree then lists these sources.
    document, sentences, parts: the `document`, the `sentences` and the `documents` of the child.
    """
    stated = {str(row.get("source")) for row in sentences if isinstance(row, dict)}

    def keep(source: Any) -> Any:
        if not isinstance(source, str) or not source.startswith("#"):
            return source
        if source in stated or find_document(source, parts, ""):
            return source
        cited = find_document(source, tree["documents"], tree["document"])
        if cited == document:
            return source
        absolute = f"{cited}{source}"
        inherited.add(absolute)
        return absolute

    inherited = set(tree.get("inherited", ()))

    for key, value, holder in walk_tree(tree):
        if key in SOURCES:
            holder[key] = keep(value)
        elif key == "origins" and isinstance(value, dict):
            holder[key] = {keyword: keep(cited) for keyword, cited in value.items()}
    tree["inherited"] = sorted(inherited)


def claim_fact(tree: Tree, place: str) -> None:
    """Attribute the fact at a path, which a delta of the dialect changes, to the dialect's own document."""
    part, name, *rest = [*place.split("/"), ""]
    holder = tree.get(part)
    if not isinstance(holder, dict):
        return
    row = holder.get(name) if part in (*ROWS, "parameters") else holder
    if not isinstance(row, dict) or row.get("source") not in tree.get("inherited", ()):
        return
    own = f"#{row['source'].partition('#')[2]}"
    if part != "parameters":
        row["source"] = own
    else:
        _claim_part(row, [step for step in rest if step], own)


def _claim_part(row: Tree, steps: list[str], own: str) -> None:
    """Attribute a part of a parameter: keywords of its schema, probes, whether it accepts null, its default."""
    match steps:
        case ["schema"]:
            row["origins"] = {**row.get("origins", {}), **dict.fromkeys(row["schema"], own)}
        case ["schema" | "levels", keyword, *_]:
            row["origins"] = {**row.get("origins", {}), keyword: own}
        case ["default" | "required" as fact, *_]:
            row["origins"] = {**row.get("origins", {}), fact: own}
        case ["levels"]:
            row["origins"] = {**row.get("origins", {}), **dict.fromkeys(row["levels"], own)}
        case ["null_value"]:
            row["null_value"].setdefault("source", own)
        case ["null_value", key, *_] if key != "source":  # a source that the file states stays
            row["null_value"]["source"] = own
        case ["probes"]:
            for probe in row["probes"]:
                probe.setdefault("source", own)
        case ["probes", name, *_]:
            for probe in row["probes"]:
                if identify_item(probe) == name and not (len(steps) == 2 and "source" in probe):
                    probe["source"] = own


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
    return [
        (name, row) for name, row in tree.get(part, {}).items() if isinstance(row, dict) and before.get(name) == row
    ]


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
