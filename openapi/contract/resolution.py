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
    from pathlib import Path

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
    where = f"openapi/{path}"
    try:
        text = files("openapi").joinpath(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ContractError(f"{where}: there is no such file") from None
    return parsed(text, where)


def parsed(text: str, where: str) -> Any:
    """The content of a YAML text. Raises ContractError with the file, the line and what is wrong there."""
    try:
        return yaml.load(text, Loader=Loader)  # noqa: S506 - a subclass of the safe loader
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = f"{where}:{mark.line + 1}:{mark.column + 1}" if mark else where
        raise ContractError(f"{place}: no YAML: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise ContractError(f"{where}: no YAML: {str(error).splitlines()[0]}") from error


@cache
def dialect_files() -> dict[str, str]:
    """Dialect id -> path of its file, in order of the ids."""
    names = (entry.name for entry in files("openapi").joinpath("dialects").iterdir())
    return {name.removesuffix(".yaml"): f"dialects/{name}" for name in sorted(names) if name.endswith(".yaml")}


def resolve(dialect: str, *, _within: tuple[str, ...] = ()) -> Tree:
    """The whole tree of a dialect, with nothing left to look up. Every call returns a fresh copy.

    Raises ContractError for an unknown shape, an unknown dialect or a circle in `extends`, or a delta that does not
    fit.
    """
    if dialect in _within:
        raise ContractError(f"dialects extend each other in a circle: {' -> '.join((*_within, dialect))}")
    path = dialect_files()[dialect]
    return _resolved(read(path), f"openapi/{path}", (*_within, dialect))


def resolve_file(path: Path) -> Tree:
    """The whole tree of a dialect in a file of its own, which may extend one of this room.

    Raises ContractError as `resolve` does, and OSError where the file cannot be read.
    """
    return _resolved(parsed(path.read_text(encoding="utf-8"), str(path)), str(path), ())


def _resolved(own: Any, path: str, within: tuple[str, ...]) -> Tree:
    if not isinstance(own, dict):
        raise ContractError(f"{path}: a dialect is a mapping, not {_kind(own)}")
    missing = [key for key in IDENTITY if key not in own]
    if missing:
        raise ContractError(f"{path}: a dialect states {', '.join(missing)}")
    parent = own.get("extends")
    if parent is None:
        tree = {key: _with_shapes(value, path) for key, value in own.items() if key not in DELTAS}
    elif parent not in dialect_files():
        raise ContractError(f"{path}: extends {parent!r}, which is no dialect; there are: {', '.join(dialect_files())}")
    else:
        tree = resolve(parent, _within=within)
        tree.update({key: _with_shapes(own[key], path) for key in IDENTITY})
        tree["documents"] = _with_shapes(own.get("documents", {}), path)  # parts not named stand in its own document
        tree["sentences"] = _with_shapes(own.get("sentences", []), path)
        stray = set(own) - set(IDENTITY) - set(DELTAS) - set(OWN)
        if stray:
            raise ContractError(f"{path}: {sorted(stray)} must stand under add, replace or remove")
    for place, value in _deltas(own, "add", path).items():
        _set(tree, place, _with_shapes(value, path), path, must_exist=False)
    for place, value in _deltas(own, "replace", path).items():
        _set(tree, place, _with_shapes(value, path), path, must_exist=True)
    for place in own.get("remove") or ():
        holder, key = _locate(tree, place, path)
        if key not in _keys(holder):
            raise ContractError(f"{path}: cannot remove {place}: nothing is there")
        del holder[_keys(holder)[key]]
    return tree


def _deltas(own: Tree, kind: str, path: str) -> Tree:
    found = own.get(kind) or {}
    if not isinstance(found, dict):
        raise ContractError(f"{path}: {kind} is a mapping from places to values, not {_kind(found)}")
    return found


def _kind(value: object) -> str:
    words = {type(None): "nothing", list: "a list", str: "a text", dict: "a mapping"}
    return words.get(type(value), "a value")


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
        file, _, key = str(name).partition("/")
        shapes = read(f"shapes/{file}.yaml")
        if key not in shapes:
            raise ContractError(f"{path}: no shape {name!r}")
        merged.update(_with_shapes(shapes[key], f"openapi/shapes/{file}.yaml"))
    return {**merged, **own}


def _locate(tree: Tree, place: str, path: str) -> tuple[Any, str]:
    *steps, key = place.split("/")
    holder: Any = tree
    for step in steps:
        found = _keys(holder)
        holder = holder[found[step]] if step in found else None
    if not isinstance(holder, (dict, list)):
        raise ContractError(f"{path}: no place {place!r}: {'/'.join(steps)} is not a mapping or list there")
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
        raise ContractError(f"{path}: cannot replace {place}: nothing is there (use add)")
    if not must_exist and key in found:
        raise ContractError(f"{path}: cannot add {place}: it is there already (use replace)")
    if isinstance(holder, list):
        if not isinstance(value, dict) or value.get("name") != key:
            raise ContractError(f"{path}: {place}: an item of a list must be called {key!r} by its name")
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
