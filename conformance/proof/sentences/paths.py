"""Paths into the JSON of a plain answer or of a chunk, such as `choices/*/message/content`.

A step is a field's name, the index of an item, or `*` for every item of a list. In a chunk, the step `message` stands
for `delta`. Such paths also tell where an answer or a request has the values of a named schema.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Iterator

SCHEMAS: Final = "#/components/schemas/"

Place = tuple[Any, Any]
"""A list or an object, and the index or the name of one of its values."""


def find_places(holder: Any, path: str, *, streamed: bool, lacking: bool = False) -> Iterator[Place]:
    """Yield every place that a path leads to. `lacking`: also where an object lacks the last step."""
    steps = [("delta" if streamed and step == "message" else step) for step in path.split("/")]
    yield from _find(holder, steps, lacking=lacking)


def _find(node: Any, steps: list[str], *, lacking: bool) -> Iterator[Place]:
    step, *rest = steps
    for key in _keys(node, step, lacking=lacking and not rest):
        if rest:
            yield from _find(node[key], rest, lacking=lacking)
        else:
            yield node, key


def _keys(node: Any, step: str, *, lacking: bool) -> list[Any]:
    if isinstance(node, dict):
        return [step] if step in node or lacking else []
    if isinstance(node, list):
        if step == "*":
            return list(range(len(node)))
        index = int(step) if step.lstrip("-").isdigit() else len(node)
        return [index] if -len(node) <= index < len(node) else []
    return []


def split_fact(fact: str) -> tuple[tuple[str, ...], str]:
    """Split a path below a schema into the steps of a path into its values, and the keyword that it names.

    `properties/audio/properties/id/type` gives `audio`, `id` and `type`; without a keyword the last one is "".
    """
    fields: list[str] = []
    steps = fact.split("/") if fact else []
    while steps:
        step, *steps = steps
        if step in ("properties", "required") and steps:
            fields.append(steps.pop(0))
            if step == "required":
                return tuple(fields), step
        elif step == "items":
            fields.append("*")
        else:
            return tuple(fields), step
    return tuple(fields), ""


def find_paths(root: str, name: str, schemas: Any) -> list[str]:
    """Return where a schema occurs in the answers of another one, for example `choices/*/message`."""
    if root == name:
        return [""]
    return sorted(set(_find_paths(schemas.get(root, {}), name, schemas, "", frozenset({root}))))


def find_paths_below(schema: Any, name: str, schemas: Any, path: str) -> list[str]:
    """Return where a schema occurs in a value at a path that another schema describes."""
    return sorted(set(_find_paths(schema, name, schemas, path, frozenset())))


def _find_paths(schema: Any, name: str, schemas: Any, path: str, seen: frozenset[str]) -> Iterator[str]:
    if not isinstance(schema, dict):
        return
    if target := str(schema.get("$ref", "")).removeprefix(SCHEMAS):
        if target == name:
            yield path
        elif target not in seen:
            yield from _find_paths(schemas.get(target, {}), name, schemas, path, seen | {target})
    for field, inner in schema.get("properties", {}).items():
        yield from _find_paths(inner, name, schemas, f"{path}/{field}".strip("/"), seen)
    if "items" in schema:
        yield from _find_paths(schema["items"], name, schemas, f"{path}/*".strip("/"), seen)
    for key in ("anyOf", "oneOf", "allOf"):
        for inner in schema.get(key, ()):
            yield from _find_paths(inner, name, schemas, path, seen)
