"""Facts as a dialect's delta: `add`, `replace` and `remove`, by the paths of the tree that the delta extends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from openapi.contract.contract import load, names
from openapi.reading.compare.contract_facts import held
from openapi.reading.compare.delta_placement import Placing
from openapi.reading.compare.drift import WORDING, Status, compare, fact_key, words
from openapi.reading.compare.schema_keywords import branch_of, changed, is_settable, schema_of
from openapi.reading.facts.fact import MEMBERS, Fact, is_stated
from openapi.reading.grammar.statement import UNSTATED, DescribedDefault

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from openapi.contract.contract import Contract
    from openapi.reading.compare.delta_placement import Tree
    from openapi.reading.compare.drift import Difference, Key
    from openapi.reading.facts.facts import Facts

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
        self.placing = Placing(contract.name)
        self.by_hand: list[str] = []
        self.unsaid: list[str] = []
        self._held = held(contract)
        self._shown: dict[str, Tree] = {}  # path -> the schema that the delta holds for it
        self._compared: dict[Key, dict[str, Difference]] = {}
        for each in compare(facts, contract):
            if each.member in MEMBERS:
                self._compared.setdefault((each.part, each.path), {})[each.member] = each
        for fact in facts.facts:
            key = fact_key(fact)
            if key is not None and fact.supported:
                self._state(fact, key) if key in self._held else self._invent(fact, key[1])
        unsupported = [fact.path for fact in facts.facts if fact.part == "request" and not fact.supported]
        if unsupported:
            self.placing.put("unsupported", unsupported)
        self._drop(facts)

    def _state(self, fact: Fact, key: Key) -> None:
        """A fact about something that the dialect has; where both agree, it is stated as the dialect has it."""
        places = self._held[key].places
        compared = self._compared.get(key, {})
        news = [name for name, each in compared.items() if each.status in (Status.DIFFERS, Status.ONLY_IN_PAGE)]
        unsaid = [name for name, each in compared.items() if each.status is Status.ONLY_IN_CONTRACT]
        parameter = places[0].startswith("parameters/") and places[0].count("/") == 1
        beside = self._beside(places[0], fact) if parameter else frozenset()
        if any(is_settable(member, fact) and is_stated(member, getattr(fact, member)) for member in MEMBERS):
            self._schema(fact, key[1], [f"{places[0]}/schema"] if parameter else places, news, unsaid)
        for member in news:
            if member not in beside and (len(places) > 1 or not is_settable(member, fact)):
                said, where = compared[member].page, " and ".join(places)
                self.by_hand.append(f"{fact.part} {fact.path}: {member} {said}, in {where}")
        self.unsaid += [f"{fact.part} {fact.path}: {member} {compared[member].contract}" for member in unsaid]

    def _schema(self, fact: Fact, path: str, places: Iterable[str], news: list[str], unsaid: list[str]) -> None:
        reached = [place for place in places if self.placing.reaches(place)]
        if not reached:
            self._attach(fact, path, schema_of(fact))
        elif len(list(places)) == 1:
            node = self.placing.at(reached[0])
            if news or unsaid or reached[0].endswith("/schema") or "properties" not in node:
                self._shown[path] = self.placing.put(reached[0], changed(node, fact, news, unsaid))
        elif not news and not unsaid:
            for place in reached:
                node = self.placing.at(place)
                if not {"properties", "anyOf"} & set(node):  # those stand for themselves, member by member
                    self.placing.put(place, node)

    def _beside(self, place: str, fact: Fact) -> frozenset[str]:
        """Sets what stands beside the schema of a parameter, and returns the members that it spoke for."""
        row = self.placing.at(place)
        spoken = {"default", "nullable"}
        if fact.required in ("yes", "no"):
            spoken.add("required")
            if fact.required == "yes" or row.get("required"):
                self.placing.put(f"{place}/required", fact.required == "yes")
        for name, value in _default(fact).items():
            other = "default" if name == "default_note" else "default_note"
            agrees = name == "default_note" and value.lower() in row.get(name, "").lower()
            self.placing.put(f"{place}/{name}", row[name] if agrees else value)
            if other in row:
                self.placing.remove.append(f"{place}/{other}")
        if fact.nullable is not None:
            self.placing.put(f"{place}/null_value", _null(fact.nullable))
        return frozenset(spoken)

    def _invent(self, fact: Fact, path: str) -> None:
        """A fact about something that the dialect has not: a parameter, or a member of one that is shown."""
        schema = schema_of(fact)
        own = {"supported", "required", "default", "nullable"}
        if fact.part != "request" or "." in path or path.endswith("[]"):
            self._attach(fact, path, schema)
            own = {"supported", "required"}
        for member in MEMBERS:
            if member not in own and is_stated(member, getattr(fact, member)) and not is_settable(member, fact):
                self.by_hand.append(f"{fact.part} {path}: {member} {words(member, getattr(fact, member))}")
        if len(own) == 2:
            return
        row: Tree = {
            "summary": path,
            "source": f"#request/{path}",
            "schema": schema,
            "null_value": _null(True, "MAY") if fact.nullable is None else _null(fact.nullable),
            **({"required": True} if fact.required == "yes" else {}),
            **_default(fact),
        }
        self._shown[path] = self.placing.put(f"parameters/{path}", row)["schema"]

    def _attach(self, fact: Fact, path: str, schema: Tree) -> None:
        """Sets a schema inside that of the path over it."""
        is_element = path.endswith("[]")
        over, name = (path[:-2], "") if is_element else path.rpartition(".")[::2]
        if over not in self._shown:
            self.by_hand.append(f"{fact.part} {path}: new, and the delta holds nothing to set it in")
            return
        self._shown[path] = schema
        if is_element:
            branch_of(self._shown[over], "array")["items"] = schema
            return
        holder = branch_of(self._shown[over], "object")
        holder.setdefault("properties", {})[name] = schema
        if fact.required == "yes":
            holder.setdefault("required", []).append(name)

    def _drop(self, facts: Facts) -> None:
        """Parameters that the dialect has, and the page has not. Where rows are left, any may be among them."""
        there = {fact.path for fact in facts.facts if fact.part == "request"}
        gone = [name for name in self.placing.at("parameters") if name not in there] if there else []
        if facts.left:
            self.unsaid += [f"request {name}: the whole parameter" for name in gone]
        else:
            self.placing.remove += [f"parameters/{name}" for name in gone]


def _default(fact: Fact) -> Mapping[str, Any]:
    """The member of a parameter's row that holds the default; none where none is stated."""
    if fact.default is UNSTATED:
        return {}
    return (
        {"default_note": str(fact.default)} if isinstance(fact.default, DescribedDefault) else {"default": fact.default}
    )


def _null(allowed: bool, level: str = "MUST") -> Tree:
    return {"expect": "accept" if allowed else "reject", "level": level}


def delta_text(facts: Facts, contract: Contract, page: str) -> str:
    """The delta as YAML; what it cannot hold stands around it as comments."""
    delta = Delta(facts, contract)
    count, placing = facts.count, delta.placing
    lines = [
        f"# {page}: {facts.form}, {facts.rows} rows, {len(facts.facts)} facts",
        f"# cells: {count.read} read, {count.partly} read in part, {count.left} left to a person",
    ]
    body: Tree = {"extends": contract.name, "add": placing.add, "replace": placing.replace, "remove": placing.remove}
    body = {key: value for key, value in body.items() if value}
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
