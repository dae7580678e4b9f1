"""Facts as a dialect's delta: `add`, `replace` and `remove`, by the paths of the tree that the delta extends."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

import yaml

from openapi.contract import load, names
from openapi.reading.drift import WORDING, Status, compare, fact_key
from openapi.reading.fact import MEMBERS, UNSTATED, Fact, InWords, is_stated
from openapi.reading.held import held
from openapi.reading.keywords import branch_of, changed, is_settable, schema_of
from openapi.resolution import resolve

if TYPE_CHECKING:
    from collections.abc import Iterable

    from openapi.contract import Contract
    from openapi.reading.drift import Difference, Key
    from openapi.reading.facts import Facts

Tree = dict[str, Any]
WIDTH = 1000  # of a line; PyYAML folds texts in ugly places


def nearest(facts: Facts) -> Contract:
    """The dialect that a page differs from in the fewest members; the first by name of several."""
    contracts = [load(name) for name in sorted(set(names().values()))]
    return min(contracts, key=lambda contract: sum(map(_is_new, compare(facts, contract))))


def _is_new(each: Difference) -> bool:
    return each.status in (Status.DIFFERS, Status.ONLY_IN_PAGE) and each.member != WORDING


class Delta:
    """The delta of a page on one dialect: what the page says, and nothing that only the dialect says.

    `by_hand` is what no delta can hold, `unsaid` what the dialect states of the page's parameters and the page does
    not: it may be gone, or lost.
    """

    def __init__(self, facts: Facts, contract: Contract) -> None:
        self.add: Tree = {}
        self.replace: Tree = {}
        self.remove: list[str] = []
        self.by_hand: list[str] = []
        self.unsaid: list[str] = []
        self._tree = resolve(contract.name)
        self._held = held(contract)
        self._new: dict[str, Tree] = {}
        self._compared: dict[Key, dict[str, Difference]] = {}
        for each in compare(facts, contract):
            self._compared.setdefault((each.part, each.path), {})[each.member] = each
        for fact in facts.facts:
            key = fact_key(fact)
            if key is not None and fact.supported:
                self._state(fact, key) if key in self._held else self._invent(fact, key[1])
        unsupported = [fact.path for fact in facts.facts if fact.part == "request" and not fact.supported]
        if unsupported:
            self._put("unsupported", unsupported)
        self._drop(facts)

    def _state(self, fact: Fact, key: Key) -> None:
        """A fact about something that the dialect has; where both agree, it is stated as the dialect has it."""
        places = self._held[key].places
        compared = self._compared.get(key, {})
        set_, unsaid = (
            [member for member, each in compared.items() if each.status in status and member != WORDING]
            for status in ((Status.DIFFERS, Status.ONLY_IN_PAGE), (Status.ONLY_IN_CONTRACT,))
        )
        says_schema = any(is_settable(member, fact) and is_stated(member, getattr(fact, member)) for member in MEMBERS)
        place = places[0]
        parameter = place.startswith("parameters/") and place.count("/") == 1
        if parameter:
            place = f"{place}/schema"
        node = self._at(place)
        is_holder = isinstance(node, dict) and "properties" in node  # its members stand for themselves
        if (
            says_schema
            and len(places) == 1
            and self._is_reached(place)
            and (set_ or unsaid or parameter or not is_holder)
        ):
            self._put(place, changed(node, fact, set_, unsaid))
        elif says_schema and not set_ and not unsaid:
            for each in filter(self._is_reached, places):
                if not {"properties", "anyOf"} & set(self._at(each)):
                    self._put(each, self._at(each))
        beside = self._beside(places[0], fact) if parameter else frozenset()
        where = " and ".join(places)
        for member in set_:
            if member not in beside and (len(places) > 1 or not is_settable(member, fact)):
                self.by_hand.append(f"{fact.part} {fact.path}: {member} {compared[member].page}, in {where}")
        self.unsaid += [f"{fact.part} {fact.path}: {member} {compared[member].contract}" for member in unsaid]

    def _beside(self, place: str, fact: Fact) -> frozenset[str]:
        """Sets what stands beside the schema of a parameter, and returns the members that it spoke for."""
        row = self._at(place)
        if fact.required == "yes" or (fact.required == "no" and row.get("required")):
            self._put(f"{place}/required", fact.required == "yes")
        if fact.default is not UNSTATED:
            said, other = ("default", "default_note")[:: -1 if isinstance(fact.default, InWords) else 1]
            agrees = said == "default_note" and fact.default.lower() in row.get(said, "").lower()
            self._put(
                f"{place}/{said}", row[said] if agrees else str(fact.default) if other == "default" else fact.default
            )
            if other in row:
                self.remove.append(f"{place}/{other}")
        if fact.nullable is not None:
            self._put(f"{place}/null_value", _null(fact.nullable))
        return frozenset({"default", "nullable"} | ({"required"} if fact.required in ("yes", "no") else set()))

    def _invent(self, fact: Fact, path: str) -> None:
        """A fact about something that the dialect has not: a parameter, or a member of one that is new, too."""
        schema = schema_of(fact)
        over, _, name = path.rpartition(".")
        if path.endswith("[]"):
            holder, name = path.removesuffix("[]"), ""
        else:
            holder = over
        if holder in self._new:
            inner = self._new[holder]
            if name:
                inner.setdefault("properties", {})[name] = schema
                if fact.required == "yes":
                    inner.setdefault("required", []).append(name)
            else:
                branch_of(inner, "array")["items"] = schema
        elif fact.part == "request" and not over and name:
            source = f"#request/{name}"
            row: Tree = {"summary": name, "source": source, "schema": schema}
            row["null_value"] = _null(fact.nullable) if fact.nullable is not None else _null(True, "MAY")
            if fact.required == "yes":
                row["required"] = True
            if is_stated("default", fact.default):
                row["default_note" if isinstance(fact.default, InWords) else "default"] = (
                    str(fact.default) if isinstance(fact.default, InWords) else fact.default
                )
            self.add[f"parameters/{name}"] = row
        else:
            self.by_hand.append(f"{fact.part} {path}: new, and no part of a delta")
            return
        self._new[path] = schema

    def _drop(self, facts: Facts) -> None:
        """Parameters that the dialect has, and the page has not."""
        there = {fact.path for fact in facts.facts if fact.part == "request"}
        if there:
            gone = [path for part, path in self._held if part == "request" and path not in there]
            self.remove += [f"parameters/{path}" for path in gone if f"{path}" in self._tree["parameters"]]

    def _at(self, place: str) -> Any:
        return _inside(self._tree, place)

    def _put(self, place: str, value: Any) -> None:
        """Sets a place, inside what the delta sets already where it lies there."""
        value = copy.deepcopy(value)
        over = self._over(place)
        if over is not None:
            holder, _, name = place.rpartition("/")
            inside = _inside(over[1], holder.removeprefix(over[0]).removeprefix("/"))
            inside[int(name) if isinstance(inside, list) else name] = value
            return
        holder, _, name = place.rpartition("/")
        above = self._at(holder) if holder else self._tree
        (self.replace if isinstance(above, dict) and name in above else self.add)[place] = value

    def _over(self, place: str) -> tuple[str, Any] | None:
        """The place that the delta sets and that holds this one, with its value."""
        every = {**self.add, **self.replace}
        return next(((over, value) for over, value in every.items() if place.startswith(f"{over}/")), None)

    def _is_reached(self, place: str) -> bool:
        """Whether a delta reaches a place: it counts no entries of lists, unless it sets the list."""
        countless = bool(place) and not any(step.isdecimal() for step in place.split("/"))
        return countless or self._over(place) is not None


def _inside(node: Any, place: str) -> Any:
    """What stands at a place of a tree; None where there is no such place."""
    for step in filter(None, place.split("/")):
        node = node[int(step)] if isinstance(node, list) else node.get(step) if isinstance(node, dict) else None
    return node


def _null(allowed: bool, level: str = "MUST") -> Tree:
    return {"expect": "accept" if allowed else "reject", "level": level}


def delta_text(facts: Facts, contract: Contract, page: str) -> str:
    """The delta as YAML; what it cannot hold stands around it as comments."""
    delta = Delta(facts, contract)
    count = facts.count
    lines = [
        f"# {page}: {facts.form}, {facts.rows} rows, {len(facts.facts)} facts",
        f"# cells: {count.read} read, {count.partly} read in part, {count.left} left to a person",
    ]
    body: Tree = {"extends": contract.name}
    body.update({key: value for key in ("add", "replace", "remove") if (value := getattr(delta, key))})
    text = yaml.dump(body, Dumper=_Dumper, sort_keys=False, allow_unicode=True, default_flow_style=None, width=WIDTH)
    left = [f"line {each.line}: {each.text}: {each.why}" for each in facts.left]
    left += [f"line {fact.line} {fact.part} {fact.path}: {each}" for fact in facts.facts for each in fact.unread]
    lines += [text.rstrip()]
    lines += _comments("to be set by hand", delta.by_hand)
    lines += _comments(f"said by {contract.name}, and not by the page: gone, lost, or from elsewhere", delta.unsaid)
    lines += _comments("left to a person", left)
    return "\n".join(lines) + "\n"


def _comments(title: str, lines: Iterable[str]) -> list[str]:
    told = [f"#   {' '.join(line.split())}" for line in lines]
    return [f"# {title}:", *told] if told else []


class _Dumper(yaml.SafeDumper):
    """Plain YAML without anchors, which would tie places together that mean different things."""

    def ignore_aliases(self, data: Any) -> bool:  # noqa: ARG002 - the signature is PyYAML's
        """No anchors."""
        return True
