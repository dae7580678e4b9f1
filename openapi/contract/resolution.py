"""Resolve the YAML files of a dialect to one plain tree: apply `extends`, shapes and deltas.

A dialect file either states everything, mostly by naming shapes, or it `extends` another dialect and contains deltas
only. A delta is addressed by a slash-separated path; the step into a list is the `name` of an item, else its `value`,
else the item itself. Deltas are strict, so that a typo is an error: `add` needs a path that does not exist, `replace`
and `remove` one that does.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

T = TypeVar("T")
Tree = dict[str, Any]

IDENTITY = ("id", "aliases", "title", "document")  # keys that every dialect file has
OWN = ("documents", "sentences")  # keys about its own document, which are not inherited
DELTAS = ("extends", "add", "replace", "remove")


class ContractError(Exception):
    """Invalid contract data, or an unknown dialect."""


class Loader(yaml.CSafeLoader):
    """A YAML loader that rejects duplicate keys; by default the last one silently wins."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if key in keys:
                raise ContractError(f"{node.start_mark}: duplicate key {key!r}")
            keys.add(key)
        return super().construct_mapping(node, deep)


@cache
def read(path: str) -> Any:
    """Return the content of a YAML file of this package, e.g. `shapes/tools.yaml`."""
    where = f"openapi/{path}"
    try:
        text = files("openapi").joinpath(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ContractError(f"{where}: file not found") from None
    return parse(text, where)


def parse(text: str, where: str) -> Any:
    """Parse YAML. Raises ContractError with the file, the line, the column and the problem."""
    try:
        return yaml.load(text, Loader=Loader)  # noqa: S506 - a subclass of the safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{where}:{mark.line + 1}:{mark.column + 1}" if mark else where
        raise ContractError(f"{place}: invalid YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise ContractError(f"{where}: invalid YAML: {str(error).splitlines()[0]}") from error


@cache
def dialect_files() -> dict[str, str]:
    """Map each dialect id to the path of its file, in order of the ids."""
    names = (entry.name for entry in files("openapi").joinpath("dialects").iterdir())
    return {name.removesuffix(".yaml"): f"dialects/{name}" for name in sorted(names) if name.endswith(".yaml")}


def resolve(dialect: str, *, _within: tuple[str, ...] = ()) -> Tree:
    """Return the tree of a dialect with every reference resolved. Every call returns a new copy.

    Raises ContractError for an unknown shape, an unknown dialect or a cycle in `extends`, and for a delta whose path
    does not fit.
    """
    if dialect in _within:
        raise ContractError(f"dialects extend each other in a cycle: {' -> '.join((*_within, dialect))}")
    path = dialect_files()[dialect]
    return _resolve_tree(read(path), f"openapi/{path}", (*_within, dialect))


def resolve_file(path: Path) -> Tree:
    """Return the tree of a dialect file outside this package, which may extend a dialect of this package.

    Raises ContractError as `resolve` does, and OSError if the file cannot be read.
    """
    return _resolve_tree(parse(path.read_text(encoding="utf-8"), str(path)), str(path), ())


def _resolve_tree(own: Any, path: str, within: tuple[str, ...]) -> Tree:
    if not isinstance(own, dict):
        raise ContractError(f"{path}: invalid dialect: expected a mapping, got {_type_name(own)}")
    missing = [key for key in IDENTITY if key not in own]
    if missing:
        raise ContractError(f"{path}: invalid dialect: {', '.join(missing)} missing")
    parent = own.get("extends")
    if parent is None:
        tree = {key: _expand_shapes(value, path) for key, value in own.items() if key not in DELTAS}
    elif parent not in dialect_files():
        raise ContractError(
            f"{path}: extends: unknown dialect {parent!r}: expected one of {', '.join(dialect_files())}"
        )
    else:
        tree = resolve(parent, _within=within)
        tree.update({key: _expand_shapes(own[key], path) for key in IDENTITY})
        tree["documents"] = _expand_shapes(
            own.get("documents", {}), path
        )  # other parts are in the dialect's own document
        tree["sentences"] = _expand_shapes(own.get("sentences", []), path)
        misplaced = sorted(set(own) - set(IDENTITY) - set(DELTAS) - set(OWN))
        if misplaced:
            raise ContractError(f"{path}: invalid key {', '.join(misplaced)}: move it to add, replace or remove")
    for place, value in _read_deltas(own, "add", path).items():
        _set(tree, place, _expand_shapes(value, path), path, must_exist=False)
    for place, value in _read_deltas(own, "replace", path).items():
        _set(tree, place, _expand_shapes(value, path), path, must_exist=True)
    for place in own.get("remove") or ():
        holder, key = _locate(tree, place, path)
        if key not in _keys(holder):
            raise ContractError(f"{path}: cannot remove {place}: the path does not exist")
        del holder[_keys(holder)[key]]
    return tree


def _read_deltas(own: Tree, kind: str, path: str) -> Tree:
    deltas = own.get(kind) or {}
    if not isinstance(deltas, dict):
        raise ContractError(
            f"{path}: invalid {kind}: expected a mapping from paths to values, got {_type_name(deltas)}"
        )
    return deltas


def _type_name(value: object) -> str:
    names = {type(None): "nothing", list: "a list", str: "a string", dict: "a mapping"}
    return names.get(type(value), "a scalar")


def _expand_shapes(value: Any, path: str) -> Any:
    """Copy a value and replace every `{shape: file/name, ...}` by that shape, whose keys the other keys override."""
    if isinstance(value, list):
        return [_expand_shapes(item, path) for item in value]
    if not isinstance(value, dict):
        return value
    own = {key: _expand_shapes(item, path) for key, item in value.items() if key != "shape"}
    if "shape" not in value:
        return own
    merged: Tree = {}
    shape = value["shape"]
    for name in shape if isinstance(shape, list) else [shape]:
        file, _, key = str(name).partition("/")
        shapes = read(f"shapes/{file}.yaml")
        if key not in shapes:
            raise ContractError(f"{path}: unknown shape {name!r}")
        merged.update(_expand_shapes(shapes[key], f"openapi/shapes/{file}.yaml"))
    return {**merged, **own}


def _locate(tree: Tree, place: str, path: str) -> tuple[Any, str]:
    *steps, key = place.split("/")
    holder: Any = tree
    for step in steps:
        keys = _keys(holder)
        holder = holder[keys[step]] if step in keys else None
    if not isinstance(holder, (dict, list)):
        raise ContractError(f"{path}: unknown path {place!r}: {'/'.join(steps)} is not a mapping or a list")
    return holder, key


def _keys(holder: Any) -> dict[str, Any]:
    """Map each step of a path below a mapping or a list to its key or index."""
    if isinstance(holder, dict):
        return {str(key): key for key in holder}
    if isinstance(holder, list):
        return {identify_item(item): index for index, item in enumerate(holder)}
    return {}


def identify_item(item: Any) -> str:
    """Return the step of a path into a list that leads to an item: its `name`, else its `value`, else itself."""
    return str(item.get("name", item.get("value", item))) if isinstance(item, dict) else str(item)


def _set(tree: Tree, place: str, value: Any, path: str, *, must_exist: bool) -> None:
    holder, key = _locate(tree, place, path)
    keys = _keys(holder)
    if must_exist and key not in keys:
        raise ContractError(f"{path}: cannot replace {place}: the path does not exist (use add)")
    if not must_exist and key in keys:
        raise ContractError(f"{path}: cannot add {place}: the path exists (use replace)")
    if isinstance(holder, list):
        if not isinstance(value, dict) or identify_item(value) != key:
            raise ContractError(f"{path}: {place}: invalid item of a list: expected the name {key!r}")
        if key not in keys:
            holder.append(value)
            return
    holder[keys.get(key, key)] = value


def copy_tree(value: T) -> T:
    """Return a copy of nested mappings and lists, several times as fast as `copy.deepcopy`."""
    copied: T = _copy(value)
    return copied


def _copy(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copy(item) for key, item in value.items()}
    return [_copy(item) for item in value] if isinstance(value, list) else value


def walk_tree(value: Any) -> Iterator[tuple[str, Any, Tree]]:
    """Yield (key, value, parent) for every key of every mapping in a tree, parents first."""
    if isinstance(value, dict):
        for key, item in list(value.items()):
            yield key, item, value
            yield from walk_tree(item)
    elif isinstance(value, list):
        for item in value:
            yield from walk_tree(item)
