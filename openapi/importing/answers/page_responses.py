"""State the answers and chunks of a page: the fields that tables list and that printed values have.

An object that the page lists has no other required fields, whatever the extended dialect says: a server that follows
its page needs none of what another vendor's answers have. What a page prints fits the schema.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import jsonschema_rs

from openapi.importing.answers.listed_alternatives import list_described
from openapi.importing.answers.value_schema import make_value_schema
from openapi.importing.sentences import find_article
from openapi.importing.todo import Todo
from openapi.reading.compare.contract_facts import find_facts
from openapi.reading.compare.drift import EVENT, fact_key
from openapi.reading.compare.schema_keywords import close_ends, list_stated_keywords, make_schema
from openapi.reading.compare.schema_places import ROOTS
from openapi.schema.notation import notation

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from openapi.importing.interface import AnswerChanges
    from openapi.reading.answers.page_answers import PageAnswers, PrintedAnswer
    from openapi.reading.compare.delta_placement import DeltaTree
    from openapi.reading.facts.fact import Fact
    from openapi.reading.pages.row import Part
    from openapi.schema.json_schema import Schema

PARTS: Final[tuple[tuple[Part, str], ...]] = (("response", "an answer"), ("stream", "a chunk"))
FEWEST: Final = 2
"""How many fields a table must list so that it describes an answer rather than one field of it."""
_SIMPLE: Final = ("type", "const", "enum", "minimum", "maximum", "pattern", "minLength")


def align_fact(fact: Fact, known: Collection[str]) -> Fact:
    """Return a fact about a field with the path that the dialect has for it: a table need not say what is a list."""
    event, dot, path = fact.path.partition(".") if fact.path.startswith(f"{EVENT}.") else ("", "", fact.path)
    same = [other for other in known if _steps(other) == _steps(path) and other.endswith("[]") == path.endswith("[]")]
    return fact if path in known or len(same) != 1 else replace(fact, path=f"{event}{dot}{same[0]}")


def read_page_responses(facts: Sequence[Fact], answers: PageAnswers, tree: DeltaTree, found: AnswerChanges) -> None:
    """Change the schemas of answers and chunks in the tree, which has the facts of tables, and add sentences.

    facts: those of tables about the fields of answers and chunks.
    """
    absent: set[str] = set()
    for part, name in PARTS:
        printed = answers.of(part)
        own = [(key[1], fact) for fact in facts if fact.part == part and (key := fact_key(fact)) and fact.supported]
        read = _Part(part, name, tree, found)
        absent = read.read(own, printed) if printed or own else read.leave_out(absent)


class _Part:
    """One part of the interface, in the tree of the dialect."""

    def __init__(self, part: Part, name: str, tree: DeltaTree, found: AnswerChanges) -> None:
        self._part: Part = part
        self._name = name
        self._tree = tree
        self._found = found

    def leave_out(self, fields: Collection[str]) -> set[str]:
        """Leave out outermost fields that whole answers do not have, of a part about which the page says nothing."""
        required = (self._tree.current(ROOTS[self._part]) or {}).get("required", [])
        kept = [name for name in required if name not in fields]
        if kept != required:
            self._tree.set(f"{ROOTS[self._part]}/required", kept)
        self._remove_requirements({(name,) for name in fields})
        return set()

    def read(self, facts: Sequence[tuple[str, Fact]], printed: Sequence[PrintedAnswer]) -> set[str]:
        """Read facts and printed values; return the outermost fields that the page leaves out."""
        self._add_fields(facts)
        for one in printed:
            self._fit(one)
        whole = [one.value for one in printed if not one.is_cut]
        listed: dict[str, set[str]] = {}
        always: dict[str, set[str]] = {}
        for path, objects in _objects(whole).items():
            listed[path] = {name for value in objects for name in value}
            always[path] = {name for name in listed[path] if all(name in value for value in objects)}
        for one in printed:
            for path, objects in _objects([one.value]).items():
                if path in listed:
                    listed[path] |= {name for value in objects for name in value}
        self._add_listed(facts, listed, always, is_cut=any(one.is_cut for one in printed))
        absent = self._close(listed, always)
        self._state(facts, printed)
        return absent

    def _add_listed(
        self,
        facts: Sequence[tuple[str, Fact]],
        listed: dict[str, set[str]],
        always: dict[str, set[str]],
        *,
        is_cut: bool,
    ) -> None:
        """Add the fields of tables, unless an example that is cut shows that there may be more."""
        by_parent: dict[str, dict[str, Fact]] = {}
        for path, fact in facts:
            parent, _, name = path.rpartition(".")
            if name and not path.endswith("[]"):
                by_parent.setdefault(parent, {})[name] = fact
        for parent, fields in by_parent.items():
            if parent not in listed and (len(fields) < FEWEST or is_cut):
                continue
            optional = {name for name, fact in fields.items() if fact.required not in (None, "yes")}
            always[parent] = (always[parent] | {*fields} if parent in always else {*fields}) - optional
            listed[parent] = {*listed.get(parent, ()), *fields}

    def _close(self, listed: dict[str, set[str]], always: dict[str, set[str]]) -> set[str]:
        """Leave out required fields, and requirements about fields, that a listed object does not have."""
        known = find_facts(self._part, self._tree)
        absent: set[tuple[str, ...]] = set()
        for path, names in listed.items():
            if path and path not in known:
                continue
            places = known[path].tree_paths if path else (ROOTS[self._part],)
            for place in list_described({place: self._tree.current(place) or {} for place in places}, names):
                required = (self._tree.current(place) or {}).get("required", [])
                kept = [name for name in required if name in always[path]]
                if kept != required:
                    self._tree.set(f"{place}/required", kept)
                absent |= {(*_steps(path), name) for name in required if name not in names}
            if not path:
                absent |= {_steps(field) for field in known if _is_outer(field) and field not in names}
        self._remove_requirements(absent)
        return {field[0] for field in absent if len(field) == 1}

    def _remove_requirements(self, absent: Collection[tuple[str, ...]]) -> None:
        """Remove the requirements about fields."""
        for name, row in self._tree.get("requirements").items():
            kind, *steps = row["source"].partition("#")[2].split("/")
            if kind == self._part and any(tuple(steps[: len(field)]) == field for field in absent):
                self._found.removed.append(f"requirements/{name}")

    def _fit(self, one: PrintedAnswer) -> None:
        """Change the schemas that a printed value does not fit, and add the fields that they do not have."""
        for path, value in _walk(one.value, ""):
            known = find_facts(self._part, self._tree)
            if path in known:
                self._fit_value(path, value, known[path].tree_paths, one.line)
                continue
            parent, _, name = path.rpartition(".")
            places = known[parent].tree_paths if parent in known else () if parent else (ROOTS[self._part],)
            if len(places) == 1 and name and value is not None:
                self._set_field(places[0], name, path, make_value_schema([value]))

    def _add_fields(self, facts: Sequence[tuple[str, Fact]]) -> None:
        """Add the fields of tables that the extended dialect does not have."""
        for path, fact in facts:
            known = find_facts(self._part, self._tree)
            parent, _, name = path.rpartition(".")
            places = known[parent].tree_paths if parent in known else () if parent else (ROOTS[self._part],)
            if path in known or path.endswith("[]"):
                continue
            if len(places) != 1 or not self._set_field(places[0], name, path, make_schema(close_ends(fact))):
                text = "new, and the object that contains it is not known"
                self._found.todos.append(Todo(f"{self._part}.{path}", f"line {fact.line}", text, quoted=False))

    def _set_field(self, place: str, name: str, path: str, schema: Schema) -> bool:
        """Add a field to an object; return whether the delta can express it."""
        if not self._tree.can_set(place):
            return False
        field = {**schema, "x-source": f"#{self._part}/{'/'.join(_steps(path))}"}
        if "properties" in (self._tree.current(place) or {}):
            self._tree.set(f"{place}/properties/{name}", field)
        else:
            self._tree.set(f"{place}/properties", {name: field})
        return True

    def _fit_value(self, path: str, value: Any, places: Sequence[str], line: int) -> None:
        nodes = [self._tree.current(place) or {} for place in places]
        if any(jsonschema_rs.is_valid({key: node[key] for key in _SIMPLE if key in node}, value) for node in nodes):
            return
        if len(places) == 1 and self._tree.can_set(places[0]):
            self._tree.set(places[0], _widen(nodes[0], value))
        else:
            text = f"the example has another type of {path} than the extended dialect"
            self._found.todos.append(Todo(f"{self._part}.{path}", f"line {line}", text, quoted=False))

    def _state(self, facts: Sequence[tuple[str, Fact]], printed: Sequence[PrintedAnswer]) -> None:
        """Add a sentence about each field that the page states, with the places that test it."""
        known = find_facts(self._part, self._tree)
        stated = {path: {"type"} for one in printed for path, value in _walk(one.value, "") if value is not None}
        for path, fact in facts:
            keywords = {*list_stated_keywords(fact), *(["const"] if len(fact.enum) == 1 else [])}
            stated[path] = stated.get(path, set()) | (keywords & {"type", "const", "enum"})
        for path in known:
            if path not in stated or path.endswith("[]"):
                continue
            nodes = [(place, self._tree.current(place) or {}) for place in known[path].tree_paths]
            keys = stated[path]
            homes = [f"{place}/{key}" for place, node in nodes for key in node if key in keys]
            if homes and all(not step.isdecimal() for place in homes for step in place.split("/")):
                values = notation({key: nodes[0][1][key] for key in keys if key in nodes[0][1]}, {})
                kind = f"{find_article(values)}{values}"
                steps = _steps(path)
                home = {"schema": homes[0] if len(homes) == 1 else homes}
                says = f"{path} of {self._name} is {kind}"
                self._found.state("-".join((self._part, *steps)), says, f"#{self._part}/{'/'.join(steps)}", home)


def _is_outer(path: str) -> bool:
    return "." not in path and not path.endswith("[]")


def _steps(path: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[^.\[\]]+", path))


def _objects(values: Sequence[Any]) -> dict[str, list[dict[str, Any]]]:
    """Return the objects in some values by their paths; the value itself has an empty one."""
    found: dict[str, list[dict[str, Any]]] = {}
    for value in values:
        for path, inner in [("", value), *_walk(value, "")]:
            if isinstance(inner, dict):
                found.setdefault(path, []).append(inner)
    return found


def _walk(value: Any, at: str) -> Iterator[tuple[str, Any]]:
    """Yield everything inside a value with its path, such as `choices[].index`, outermost first."""
    if isinstance(value, dict):
        for name, item in value.items():
            path = f"{at}.{name}" if at else name
            yield path, item
            yield from _walk(item, path)
    elif isinstance(value, list):
        for item in value:
            yield f"{at}[]", item
            yield from _walk(item, f"{at}[]")


def _widen(node: Schema, value: Any) -> Schema:
    """Return a schema that a printed value fits: null in addition to what it has, or else the type of the value."""
    notes = {key: item for key, item in node.items() if key.startswith("x-") or key == "description"}
    if value is not None:
        return {**notes, **make_value_schema([value])}
    if "enum" in node:
        return {**node, "enum": [*node["enum"], None]}
    if "const" in node:
        return {**notes, "enum": [node["const"], None]}
    types = [node["type"]] if isinstance(node["type"], str) else node["type"]
    return {**node, "type": [*types, "null"]}
