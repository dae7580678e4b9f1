"""From YAML files to one plain tree per dialect: `extends`, shapes and deltas.

A dialect's file is either a root (it states everything, mostly by naming shapes) or it `extends` another one and
holds deltas only. Deltas are addressed by slash-separated paths, in lists by the `name` of the item, and are strict,
so that a typing error cannot pass silently: `add` needs a free place, `replace` and `remove` an occupied one.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator

Tree = dict[str, Any]

IDENTITY = ("id", "aliases", "title", "document")  # what a dialect always states of itself
OWN = ("documents", "sentences")  # what it states of its own document, and never inherits
DELTAS = ("extends", "add", "replace", "remove")


class ContractError(Exception):
    """Our own data is wrong, or a name was asked for that no dialect has."""


class Loader(yaml.CSafeLoader):
    """YAML that refuses duplicate keys: the last one would win without a word."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in seen:
                raise ContractError(f"{node.start_mark}: duplicate key {key!r}")
            seen.add(key)
        return super().construct_mapping(node, deep)


@cache
def read(path: str) -> Any:
    """The content of one YAML file of this room, e.g. `shapes/tools.yaml`."""
    text = files("openapi").joinpath(path).read_text(encoding="utf-8")
    try:
        return yaml.load(text, Loader=Loader)  # noqa: S506 - a subclass of the safe loader
    except yaml.YAMLError as error:
        raise ContractError(f"openapi/{path}: {error}") from error


@cache
def dialect_files() -> dict[str, str]:
    """Dialect id -> path of its file, in order of the ids."""
    names = (entry.name for entry in files("openapi").joinpath("dialects").iterdir())
    return {name.removesuffix(".yaml"): f"dialects/{name}" for name in sorted(names) if name.endswith(".yaml")}


def resolve(dialect: str, *, _within: tuple[str, ...] = ()) -> Tree:
    """The whole tree of a dialect, with nothing left to look up. Every call returns a fresh copy.

    Raises ContractError for an unknown shape, a circle of `extends`, or a delta that does not fit.
    """
    if dialect in _within:
        raise ContractError(f"dialects extend each other in a circle: {' -> '.join((*_within, dialect))}")
    path = dialect_files()[dialect]
    own = read(path)
    parent = own.get("extends")
    if parent is None:
        tree = {key: _with_shapes(value, path) for key, value in own.items() if key not in DELTAS}
    else:
        tree = resolve(parent, _within=(*_within, dialect))
        tree.update({key: _with_shapes(own[key], path) for key in IDENTITY})
        tree["documents"] = _with_shapes(own.get("documents", {}), path)  # parts not named stand in its own document
        tree["sentences"] = _with_shapes(own.get("sentences", []), path)
        stray = set(own) - set(IDENTITY) - set(DELTAS) - set(OWN)
        if stray:
            raise ContractError(f"openapi/{path}: {sorted(stray)} must stand under add, replace or remove")
    for place, value in (own.get("add") or {}).items():
        _set(tree, place, _with_shapes(value, path), path, must_exist=False)
    for place, value in (own.get("replace") or {}).items():
        _set(tree, place, _with_shapes(value, path), path, must_exist=True)
    for place in own.get("remove") or ():
        holder, key = _locate(tree, place, path)
        if key not in _keys(holder):
            raise ContractError(f"openapi/{path}: cannot remove {place}: nothing is there")
        del holder[_keys(holder)[key]]
    return tree


def _with_shapes(value: Any, path: str) -> Any:
    """A copy with every `{shape: file/name, ...}` replaced by that shape; members beside `shape` win over its own."""
    if isinstance(value, list):
        return [_with_shapes(item, path) for item in value]
    if not isinstance(value, dict):
        return value
    own = {key: _with_shapes(item, path) for key, item in value.items() if key != "shape"}
    if "shape" not in value:
        return own
    merged: Tree = {}
    named = value["shape"]
    for name in named if isinstance(named, list) else [named]:
        file, _, key = name.partition("/")
        shapes = read(f"shapes/{file}.yaml")
        if key not in shapes:
            raise ContractError(f"openapi/{path}: no shape {name!r}")
        merged.update(_with_shapes(shapes[key], f"shapes/{file}.yaml"))
    return {**merged, **own}


def _locate(tree: Tree, place: str, path: str) -> tuple[Any, str]:
    *steps, key = place.split("/")
    holder: Any = tree
    for step in steps:
        found = _keys(holder)
        holder = holder[found[step]] if step in found else None
    if not isinstance(holder, (dict, list)):
        raise ContractError(f"openapi/{path}: no place {place!r}: {'/'.join(steps)} is not a mapping or list there")
    return holder, key


def _keys(holder: Any) -> dict[str, Any]:
    """How the members of a mapping or the named items of a list are addressed -> their key or index."""
    if isinstance(holder, dict):
        return {str(key): key for key in holder}
    if isinstance(holder, list):
        return {item["name"]: index for index, item in enumerate(holder) if isinstance(item, dict) and "name" in item}
    return {}


def _set(tree: Tree, place: str, value: Any, path: str, *, must_exist: bool) -> None:
    holder, key = _locate(tree, place, path)
    found = _keys(holder)
    if must_exist and key not in found:
        raise ContractError(f"openapi/{path}: cannot replace {place}: nothing is there (use add)")
    if not must_exist and key in found:
        raise ContractError(f"openapi/{path}: cannot add {place}: it is there already (use replace)")
    if isinstance(holder, list):
        if not isinstance(value, dict) or value.get("name") != key:
            raise ContractError(f"openapi/{path}: {place}: an item of a list must be called {key!r} by its name")
        if key not in found:
            holder.append(value)
            return
    holder[found.get(key, key)] = value


def members(value: Any) -> Iterator[tuple[str, Any, Tree]]:
    """Every (key, value, holder) of a tree, outermost first."""
    if isinstance(value, dict):
        for key, item in list(value.items()):
            yield key, item, value
            yield from members(item)
    elif isinstance(value, list):
        for item in value:
            yield from members(item)
