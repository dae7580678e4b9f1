"""Make the delta of a page on a dialect: `add`, `replace` and `remove` on the tree of that dialect."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from openapi.contract.contract import load, names
from openapi.contract.resolution import SILENT_NULL
from openapi.reading.compare.alternatives import NARROWED, Alternatives, split_path
from openapi.reading.compare.contract_facts import contract_facts, find_fact
from openapi.reading.compare.delta_placement import DeltaTree
from openapi.reading.compare.drift import UNREAD, DriftStatus, agree, compare_page, fact_key, format_value
from openapi.reading.compare.schema_keywords import branch_of, close_ends, is_expressible, make_schema, update_schema
from openapi.reading.compare.schema_places import ROOTS
from openapi.reading.facts.fact import ATTRIBUTES, Fact, is_stated
from openapi.reading.grammar.statement import UNSTATED, DescribedDefault

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from openapi.contract.contract import Contract
    from openapi.reading.compare.delta_placement import Tree
    from openapi.reading.compare.drift import DriftRow, Key
    from openapi.reading.facts.facts import Facts


def nearest_dialect(facts: Facts) -> Contract:
    """Return the dialect with the fewest differences from a page; of several, the first by name."""
    contracts = [load(name) for name in sorted(set(names().values()))]
    return min(contracts, key=lambda contract: sum(map(_is_new, compare_page(facts, contract))))


def _is_new(row: DriftRow) -> bool:
    return row.status in (DriftStatus.DIFFERS, DriftStatus.ONLY_IN_PAGE) and row.member != UNREAD


class DialectDelta:
    """The delta of a page on one dialect.

    tree: the values that the page states.
    by_hand: differences that a delta cannot express, each with its line in the page.
    unstated: values that only the dialect states about parameters of the page; the page may have dropped or lost them.
    """

    def __init__(self, facts: Facts, contract: Contract, *, keep_unstated: bool = False) -> None:
        """keep_unstated: whether parameters of which the page states only the type keep the limits of the dialect."""
        self._keep_unstated = keep_unstated
        self.tree = DeltaTree(contract.location)
        facts = replace(facts, facts=tuple(map(close_ends, facts.facts)))
        self.by_hand: list[tuple[Fact, str]] = []
        self.unstated: list[str] = []
        self._known = contract_facts(contract)
        self._schemas: dict[str, Tree] = {}  # path -> the schema that the delta has for it
        self._compared: dict[Key, dict[str, DriftRow]] = {}
        self._alternatives = Alternatives(self.tree)
        self._left: list[tuple[Fact, Key, str]] = []  # attributes that are not in the delta yet
        for row in compare_page(facts, contract):
            if row.member in ATTRIBUTES:
                self._compared.setdefault((row.part, row.path), {})[row.member] = row
        for fact in facts.facts:
            key = fact_key(fact)
            if key is not None and fact.supported:
                self._add_known(fact, key) if key in self._known else self._add_new(fact, key[1])
        self._narrow_alternatives()
        self.by_hand.sort(key=lambda item: item[0].line)
        unsupported = [fact.path for fact in facts.facts if fact.part == "request" and not fact.supported]
        if unsupported:
            self.tree.set("unsupported", unsupported)
        self._remove_missing(facts)

    def _add_known(self, fact: Fact, key: Key) -> None:
        """Add a fact about a parameter or field of the dialect; equal values are written as the dialect has them."""
        paths = self._known[key].tree_paths
        compared = self._compared.get(key, {})
        news = [name for name, row in compared.items() if row.status in (DriftStatus.DIFFERS, DriftStatus.ONLY_IN_PAGE)]
        unstated = [name for name, row in compared.items() if row.status is DriftStatus.ONLY_IN_CONTRACT]
        is_parameter = paths[0].startswith("parameters/") and paths[0].count("/") == 1
        outside = self._set_outside_schema(paths[0], fact) if is_parameter else frozenset()
        expressed = {name for name in ATTRIBUTES if is_expressible(name, fact) and is_stated(name, getattr(fact, name))}
        if self._keep_unstated and is_parameter and expressed == {"types"} and "types" not in news:
            return
        if is_parameter and "types" in news and "object" in fact.types:  # its fields are those of the dialect
            self._alternatives.narrow(fact, key[1], "types")
            news = [name for name in news if name != "types" or not agree(name, fact, self._current_fact(fact, key[1]))]
        places = [f"{paths[0]}/schema"] if is_parameter else paths
        is_written = not expressed or self._set_schema(fact, key[1], places, news, unstated)
        for name in news:
            if name not in outside and (len(paths) > 1 or not is_written or not is_expressible(name, fact)):
                self._left.append((fact, key, name))
        self.unstated += [f"{fact.part} {fact.path}: {name} {compared[name].contract}" for name in unstated]

    def _narrow_alternatives(self) -> None:
        """Set attributes in all alternatives that have a field; what the alternatives still do not state is left.

        The values of a discriminator come first: they decide which alternatives there are.
        """
        order = ("enum", "types")
        for fact, key, name in sorted(self._left, key=lambda item: order.index(item[2]) if item[2] in order else 2):
            if name in NARROWED and (name != "required" or fact.required == "yes"):
                self._alternatives.narrow(fact, key[1], name)
        for fact, key, name in self._left:
            now = self._current_fact(fact, key[1])
            if not _is_settled(name, fact, now):
                self.by_hand.append((fact, self._describe_left(fact, key, name, now)))

    def _describe_left(self, fact: Fact, key: Key, name: str, now: Fact) -> str:
        if name == "enum" and set(now.enum) < set(fact.enum):
            others = [value for value in fact.enum if value not in now.enum]
            values = ", ".join(json.dumps(value, ensure_ascii=False) for value in others)
            return f"{values}: no alternative has such a value"
        where = " and ".join(self._known[key].tree_paths)
        return f"{name} {self._compared[key][name].page}, in {where}"

    def _current_fact(self, fact: Fact, path: str) -> Fact:
        """Return what the dialect with the delta states about the parameter or field of a fact."""
        name = "" if fact.part in ROOTS else split_path(path)[0]
        schema = self.tree.current(ROOTS.get(fact.part, f"parameters/{name}/schema"))
        return find_fact(fact.part, name, schema, self.tree.current("schemas"), path) or Fact(fact.part, path)

    def _set_schema(self, fact: Fact, path: str, paths: Sequence[str], news: list[str], unstated: list[str]) -> bool:
        """Set the schema of a fact if it has one place; return whether its parent, if not itself, could be set."""
        settable = [tree_path for tree_path in paths if self.tree.can_set(tree_path)]
        if not settable:
            if _parent(path)[0] not in self._schemas:
                return False
            self._attach(fact, path, make_schema(fact))
        elif len(paths) == 1:
            node = self.tree.current(settable[0])
            if news or unstated or settable[0].endswith("/schema") or "properties" not in node:
                self._schemas[path] = self.tree.set(settable[0], update_schema(node, fact, news, unstated))
        elif not news and not unstated:
            for tree_path in settable:
                node = self.tree.get(tree_path)
                if not {"properties", "anyOf"} & set(node):  # their fields and branches are set one by one
                    self.tree.set(tree_path, node)
        return True

    def _set_outside_schema(self, path: str, fact: Fact) -> frozenset[str]:
        """Set what a parameter states outside its schema; return the attributes that this covers."""
        row = self.tree.get(path)
        covered = {"default", "nullable"}
        if fact.required in ("yes", "no"):
            covered.add("required")
            if fact.required == "yes" or row.get("required"):
                self.tree.set(f"{path}/required", fact.required == "yes")
        for name, value in _default(fact).items():
            other = "default" if name == "default_note" else "default_note"
            agrees = name == "default_note" and value.lower() in row.get(name, "").lower()
            self.tree.set(f"{path}/{name}", row[name] if agrees else value)
            if other in row:
                self.tree.remove.append(f"{path}/{other}")
        if fact.nullable is not None:
            self.tree.set(f"{path}/null_value", _null(fact.nullable))
        return frozenset(covered)

    def _add_new(self, fact: Fact, path: str) -> None:
        """Add a fact about a parameter that the dialect does not have, or about a field of a schema in the delta."""
        schema = make_schema(fact)
        covered = {"supported", "required", "default", "nullable"}
        is_parameter = not (fact.part != "request" or "." in path or path.endswith("[]"))
        if not is_parameter:
            self._attach(fact, path, schema)
            covered = {"supported", "required"}
        for name in ATTRIBUTES:
            value = getattr(fact, name)
            if name not in covered and is_stated(name, value) and not is_expressible(name, fact):
                self.by_hand.append((fact, f"{name} {format_value(name, value)}"))
        if not is_parameter:
            return
        row: Tree = {
            "summary": path,
            "source": f"#request/{path}",
            "schema": schema,
            "null_value": SILENT_NULL if fact.nullable is None else _null(fact.nullable),
            **({"required": True} if fact.required == "yes" else {}),
            **_default(fact),
        }
        self._schemas[path] = self.tree.set(f"parameters/{path}", row)["schema"]

    def _attach(self, fact: Fact, path: str, schema: Tree) -> None:
        """Set a schema inside the schema of its parent."""
        parent_path, name = _parent(path)
        if parent_path not in self._schemas:
            self.by_hand.append((fact, "new, but the delta has no schema for its parent"))
            return
        self._schemas[path] = schema
        if not name:
            branch_of(self._schemas[parent_path], "array")["items"] = schema
            return
        parent = branch_of(self._schemas[parent_path], "object")
        parent.setdefault("properties", {})[name] = schema
        if fact.required == "yes":
            parent.setdefault("required", []).append(name)

    def _remove_missing(self, facts: Facts) -> None:
        """Remove parameters that the page does not have, unless they may be in passages that were not read."""
        in_page = {fact.path for fact in facts.facts if fact.part == "request"}
        missing = [name for name in self.tree.get("parameters") if name not in in_page] if in_page else []
        if facts.unread:
            self.unstated += [f"request {name}: the whole parameter" for name in missing]
        else:
            self.tree.remove += [f"parameters/{name}" for name in missing]


def _parent(path: str) -> tuple[str, str]:
    """Return the path of the parent and the name of the field, which an element of a list does not have."""
    return (path[:-2], "") if path.endswith("[]") else path.rpartition(".")[::2]


def _is_settled(name: str, fact: Fact, now: Fact) -> bool:
    """Return whether the alternatives state an attribute, or a rule says when a required field may be left out."""
    if name == "required" and fact.required == "yes":
        return now.required == "yes" or str(now.required).startswith("unless")
    return agree(name, fact, now)


def _default(fact: Fact) -> Mapping[str, Any]:
    """Return the key and value of a parameter's default; nothing if the default is not stated."""
    if fact.default is UNSTATED:
        return {}
    if isinstance(fact.default, DescribedDefault):
        return {"default_note": str(fact.default)}
    return {"default": fact.default}


def _null(allowed: bool) -> Tree:
    return {"expect": "accept" if allowed else "reject", "level": "MUST"}
