"""What a dialect inherits: each fact keeps the document whose sentence states it.

A relative source, such as `#request/top_k`, refers to the document of the file that contains it. A dialect that extends
another one states such a fact itself only if one of its own sentences has that anchor, if its `documents` say which
document does, or if a delta of its file changes the fact. Every other inherited fact keeps the document of its parent,
and its level is derived from that: by analogy, at most SHOULD.

A sentence about a parameter often states only its type, or how many elements a list has. So each limit, each list of
values, the form of elements and fields, the default, and whether the parameter is required belong to the parent unless
the home of a sentence names that place or one above or below it. A probe belongs to the parent unless what the child
states settles it.
A rule between parameters is the child's own if a sentence's home names it, or if nothing tests it.
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
LIMITS: Final = frozenset(
    {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern"}
    | {"minItems", "maxItems", "minProperties", "maxProperties", "enum", "const", "not"}
)
"""Keywords of a schema of which each is a fact of its own, which a page may leave out although it states the type."""
FORMS: Final = frozenset({"items", "properties", "required", "additionalProperties", "anyOf", "oneOf", "allOf", "$ref"})
"""Keywords that describe elements, fields and alternatives, which a page may leave out although it states the type."""


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


def cite_unstated(tree: Tree, inherited: Tree, homes: Collection[str], deltas: Collection[str]) -> None:
    """Let what the child does not state cite the document of the parent: facts of own parameters, and rules.

    inherited: the tree of the parent, with its own sources. homes, deltas: the places that sentences and deltas of the
    child state. What its `documents` say of a whole anchor counts for all facts of the parameter.
    """
    stated = [place.split("/") for place in (*homes, *deltas)]
    probed = {place.split("/")[1] for place in homes if place.split("/")[2:3] == ["probes"]}
    _cite_rules(tree, inherited, stated)
    for name, row in read_rows(tree, "parameters"):
        known = inherited["parameters"].get(name)
        if known is None or not row.get("source", "#").startswith("#"):
            continue
        cited = make_absolute(known["source"], inherited)
        own = row.get("source", f"#request/{name}")
        if not cited.startswith(f"{tree['document']}#") and not find_document(own, tree["documents"], ""):
            facts = LIMITS if name in probed else LIMITS | FORMS  # a sentence at home in a probe states the form
            places = [steps[2:] for steps in stated if steps[:2] == ["parameters", name]]
            _cite_facts(row, facts, places, cited, tree)
            tree["inherited"] = sorted({*tree["inherited"], cited})


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


def _cite_facts(row: Tree, keywords: Collection[str], stated: Collection[list[str]], cited: str, tree: Tree) -> None:
    """Let the facts of a parameter that are not at or below a stated place cite another document.

    keywords: those of a schema that are facts.
    """

    def is_stated(*steps: str) -> bool:
        return any(list(steps[: len(place)]) == place[: len(steps)] for place in stated)

    facts = [key for key in ("default", "default_note", "required") if key in row and not is_stated(key)]
    unstated = [key for key in row.get("schema", ()) if key in keywords and not is_stated("schema", key)]
    facts += unstated
    if facts:
        row["origins"] = {**dict.fromkeys(facts, cited), **row.get("origins", {})}
    if unstated:
        schema = {key: value for key, value in row["schema"].items() if key not in unstated}
        schema["components"] = {"schemas": tree["schemas"]}
        probes = [probe for probe in row.get("probes", ()) if not is_stated("probes", identify_item(probe))]
        _cite_probes(probes, schema, cited)


def _cite_probes(probes: Collection[Tree], stated: Tree, cited: str) -> None:
    """Let the probes of a parameter cite another document, unless they send what the stated part of its schema refuses.

    A value that must be accepted may violate what the child leaves out, since that part could be narrower there.
    """
    validator = jsonschema_rs.validator_for(stated)
    for probe in probes:
        if probe["expect"] == "accept" or validator.is_valid(expand_value(probe["value"])):
            probe.setdefault("source", cited)


def list_places(sentences: Collection[Mapping[str, Any]]) -> list[str]:
    """Return the places in the tree that sentences, as data, state."""
    homes = [row.get("home") for row in sentences if isinstance(row, dict)]
    places = [home.get("schema", ()) for home in homes if isinstance(home, dict)]
    return [str(place) for item in places for place in ([item] if isinstance(item, str) else item)]


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
