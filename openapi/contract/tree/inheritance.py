"""What a dialect inherits: each fact keeps the document whose sentence states it.

A relative source, such as `#request/top_k`, refers to the document of the file that contains it. A dialect that extends
another one states such a fact itself only if one of its own sentences has that anchor, if its `documents` say which
document does, or if a delta of its file changes the fact. Every other inherited fact keeps the document of its parent,
and its level is derived from that: by analogy, at most SHOULD.

A sentence about a parameter often states only its type, or only the values of one field. So each keyword at each path
of a schema, the default, and whether the parameter is required belong to the parent unless the home of a sentence or a
delta names that place or one above it. A probe belongs to the parent unless what the child states settles it.
A rule between parameters is the child's own if a sentence's home names it, or if nothing tests it. A requirement, which
is about behaviour, is the child's own if a sentence's home names its check: to list `stop` does not say what it does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from openapi.contract.tree.delta import identify_item, walk_tree
from openapi.contract.tree.probe_value import expand_value
from openapi.contract.tree.stated_schema import StatedSchemas, has_unstated, list_stated, list_unstated

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from openapi.contract.tree.delta import Tree
    from openapi.schema.partial_schema import PartialSchema

SOURCES: Final = ("source", "x-source")
ROWS: Final = ("rules", "requirements", "capabilities")
"""The parts of a tree whose rows are one fact each; a parameter consists of several."""
WHOLE_REQUEST: Final = "#request"
"""The source of requirements about the facts of all parameters, each of which has a level of its own."""
BESIDE_SCHEMA: Final[tuple[str, ...]] = ("default", "default_note", "required")
"""The facts of a parameter that its schema does not contain."""


def find_document(anchor: str, parts: Mapping[str, str], document: str) -> str:
    """Return the document of a relative source: that of the whole anchor or of its part, else the dialect's own."""
    place = anchor.removeprefix("#")
    return parts.get(place) or parts.get(place.partition("/")[0]) or document


def make_absolute(source: str, tree: Tree) -> str:
    """Return a source in a tree with its document."""
    return f"{find_document(source, tree['documents'], tree['document'])}{source}" if source[:1] == "#" else source


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


def cite_unstated(
    tree: Tree, inherited: Tree, sentences: Collection[Mapping[str, Any]], deltas: Collection[str]
) -> None:
    """Let what the child does not state cite the document of the parent: facts of parameters, rules and requirements.

    inherited: the tree of the parent, with its own sources. sentences: those of the child. deltas: the places that its
    deltas state. What its `documents` say of a whole anchor counts for all facts of the parameter. The key `stated` of
    the tree then has the schemas of the parameters of which the child states a part.
    """
    homes = _list_homes(sentences, "schema")
    places = [place.split("/") for place in (*homes, *deltas)]
    schemas = StatedSchemas(tree, inherited, homes, deltas)
    tree["stated"] = {}
    _cite_rules(tree, inherited, places)
    _cite_requirements(tree, inherited, {*_list_homes(sentences, "check"), *_list_changed(deltas)})
    for name, row in read_rows(tree, "parameters"):
        known = inherited["parameters"].get(name)
        if known is None or not isinstance(row.get("schema"), dict):
            continue
        if find_document(f"#request/{name}", tree["documents"], ""):
            continue
        source = str(row.get("source", "#"))
        cited = make_absolute(known["source"], inherited)
        if cited.startswith(f"{tree['document']}#") or not (source[:1] == "#" or source in tree["inherited"]):
            continue
        stated = [steps[2:] for steps in places if steps[:2] == ["parameters", name]]
        schema = schemas.split(name)
        if has_unstated(schema) and (source[:1] == "#" or list_stated(schema)):
            tree["stated"][name] = {"whole": schema.whole, "part": schema.part}
        if source[:1] == "#":
            _cite_facts(row, schema, stated, cited)
            tree["inherited"] = sorted({*tree["inherited"], cited})
        else:
            _claim_facts(row, schema, stated, f"#request/{name}")


def _cite_rules(tree: Tree, inherited: Tree, stated: Collection[list[str]]) -> None:
    """Let the rules that are tested and that the child does not state cite the document of the parent."""
    for name, row in read_rows(tree, "rules"):
        known = inherited["rules"].get(name)
        is_stated = ["rules", name] in [place[:2] for place in stated] or not {"broken", "kept"} & set(row)
        if known is not None and row.get("source", "")[:1] == "#" and not is_stated:
            cited = make_absolute(known["source"], inherited)
            if not cited.startswith(f"{tree['document']}#"):
                row["source"] = cited
                tree["inherited"] = sorted({*tree["inherited"], cited})


def _cite_requirements(tree: Tree, inherited: Tree, stated: Collection[str]) -> None:
    """Let the requirements that the child does not state cite the document of the parent, although it has the anchor.

    stated: the names of those that it states; empty for all of them.
    """
    for name, row in read_rows(tree, "requirements"):
        known, source = inherited["requirements"].get(name), str(row.get("source", ""))
        if known is None or not {name, ""}.isdisjoint(stated) or source[:1] != "#" or source == WHOLE_REQUEST:
            continue
        cited = make_absolute(known["source"], inherited)
        if not find_document(source, tree["documents"], "") and not cited.startswith(f"{tree['document']}#"):
            row["source"] = cited
            tree["inherited"] = sorted({*tree["inherited"], cited})


def _list_changed(deltas: Collection[str]) -> set[str]:
    """Return the names of the requirements that deltas change; an empty one stands for all of them."""
    parts = [place.split("/") for place in deltas]
    return {part[1] if len(part) > 1 else "" for part in parts if part[0] == "requirements"}


def _cite_facts(row: Tree, schema: PartialSchema, stated: Collection[list[str]], cited: str) -> None:
    """Let the facts of a parameter that are not at or below a stated place cite another document."""

    facts = [key for key in BESIDE_SCHEMA if key in row and not _is_stated(stated, key)]
    facts += [key for key in list_unstated(schema) if key != "required"]  # a key of the parameter, too
    if facts:
        row["origins"] = {**dict.fromkeys(facts, cited), **row.get("origins", {})}
    for probe in row.get("probes", ()):
        if not _is_own(probe, schema, stated):
            probe.setdefault("source", cited)


def _claim_facts(row: Tree, schema: PartialSchema, stated: Collection[list[str]], own: str) -> None:
    """Let the facts that are stated of a parameter that is inherited otherwise cite the dialect's own document."""
    facts = [key for key in BESIDE_SCHEMA if key in row and _is_stated(stated, key)]
    facts += [key for key in list_stated(schema) if key != "required"]
    if facts:
        row["origins"] = {**row.get("origins", {}), **dict.fromkeys(facts, own)}
    for probe in row.get("probes", ()):
        if _is_stated(stated, "probes", identify_item(probe)) or (facts and _is_own(probe, schema, stated)):
            probe.setdefault("source", own)


def _is_own(probe: Tree, schema: PartialSchema, stated: Collection[list[str]]) -> bool:
    """Return whether a dialect states a probe itself, or what settles it."""
    return (
        _is_stated(stated, "probes", identify_item(probe))
        or not has_unstated(schema)
        or schema.settles(expand_value(probe["value"]), accepted=probe["expect"] == "accept")
    )


def _is_stated(stated: Collection[list[str]], *steps: str) -> bool:
    return any(list(steps[: len(place)]) == place[: len(steps)] for place in stated)


def _list_homes(sentences: Collection[Mapping[str, Any]], kind: str) -> list[str]:
    """Return the homes of one kind that sentences, as data, have: places in the tree for `schema`, or checks."""
    homes = [row.get("home") for row in sentences if isinstance(row, dict)]
    named = [home.get(kind, ()) for home in homes if isinstance(home, dict)]
    return [str(home) for item in named for home in ([item] if isinstance(item, str) else item)]


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


def read_rows(tree: Tree, part: str) -> list[tuple[str, Tree]]:
    """Return the rows of a part that are mappings; others are reported when the tree is checked."""
    rows = tree.get(part, {})
    return [(name, row) for name, row in rows.items() if isinstance(row, dict)] if isinstance(rows, dict) else []
