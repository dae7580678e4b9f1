"""Resolve the YAML files of a dialect to one plain tree: apply `extends`, shapes and deltas.

A dialect file either states everything, mostly by naming shapes, or it `extends` another dialect and contains deltas
only. `delta` applies them, `inheritance` decides what the dialect inherits. A file outside this package may extend a
dialect of this package or another file, and pin its own document.
"""

from __future__ import annotations

import re
from functools import cache
from hashlib import sha256
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from openapi.contract.tree import inheritance, removal
from openapi.contract.tree.companion_files import list_checks, list_todos, read_scenarios
from openapi.contract.tree.delta import (
    Tree,
    add_value,
    copy_tree,
    remove_value,
    replace_value,
)
from openapi.contract.tree.installed import DIALECTS, find_file
from openapi.contract.tree.yaml_file import FILE_ENDINGS, ContractError, locate_error, parse, read_text
from openapi.did_you_mean import suggest

IDENTITY: Final = ("id", "title", "document")  # keys that every dialect file has
OWN: Final = ("aliases", "documents", "sentences")  # keys about its own document, which are not inherited
ADDED: Final = (
    "interpretations",
    "scenarios",
    "checks",
    "todo",
)  # keys of outside files, which add to those of the parent
DELTAS: Final = ("extends", "add", "replace", "remove")
SILENT_NULL: Final = {"expect": "accept", "level": "MAY", "ground": "silence"}
"""The answer to null of which a page says nothing: either one passes."""
ALIASES: Final = re.compile(r"^aliases: (\[.*\])$", re.MULTILINE)
NO_DOCUMENT: Final = "none"
"""The value of `document` of a dialect without a document: the file itself states its facts."""


@cache
def read(path: str) -> Any:
    """Return the content of a YAML file of this package, e.g. `shapes/tools.yaml`."""
    return parse(_read_packaged(path), f"openapi/{path}")


def _read_packaged(path: str) -> str:
    try:
        return files("openapi").joinpath(path).read_text(encoding="utf-8")
    except FileNotFoundError:
        raise ContractError(f"openapi/{path}: file not found") from None


@cache
def read_aliases(dialect: str) -> tuple[str, ...]:
    """Return the other names of a built-in dialect.

    Only their line is parsed: the names of all dialects are needed often, and parsing the files takes a second.
    Raises ContractError for a file without such a line.
    """
    path = dialect_files()[dialect]
    found = ALIASES.search(_read_packaged(path))
    if found is None:
        raise ContractError(f"openapi/{path}: aliases: expected one line, such as `aliases: []`")
    return tuple(parse(found[1], f"openapi/{path}"))


@cache
def dialect_files() -> dict[str, str]:
    """Map each dialect id to the path of its file, in order of the ids."""
    names = (entry.name for entry in files("openapi").joinpath("dialects").iterdir())
    return {name.removesuffix(".yaml"): f"dialects/{name}" for name in sorted(names) if name.endswith(".yaml")}


@cache
def vendor_files() -> dict[str, Path]:
    """Map the id of each imported contract of another vendor, which this package contains, to its dialect file."""
    paths = (Path(str(entry)) for entry in files("openapi").joinpath("vendors").iterdir())
    return {path.stem: path.resolve() for path in sorted(paths) if path.suffix == ".yaml"}


def is_path(name: str) -> bool:
    """Return whether a reference to a dialect is the path of a file: it has a separator, or ends in .yaml or .yml."""
    return "/" in name or "\\" in name or name.lower().endswith(FILE_ENDINGS)


def resolve(dialect: str, *, _within: tuple[str, ...] = ()) -> Tree:
    """Return the tree of a dialect with every reference resolved. Every call returns a new copy.

    dialect: the `location` of a contract: the id of a built-in dialect, or the path of a dialect file.

    Raises ContractError for an unknown shape, an unknown dialect or a cycle in `extends`, and for a delta whose path
    does not fit.
    """
    if is_path(dialect):
        return resolve_file(Path(dialect).resolve(), _within=_within)
    _refuse_cycle(dialect, _within)
    within = tuple(name for name in _within if not is_path(name))  # no dialect of this package extends an outside file
    return copy_tree(resolve_built_in(dialect, within))


@cache
def resolve_built_in(dialect: str, within: tuple[str, ...]) -> Tree:
    """Return the tree of a dialect of this package by its id, which every file that extends it shares: copy it."""
    path = dialect_files()[dialect]
    return _resolve_tree(read(path), f"openapi/{path}", (*within, dialect))


def resolve_file(path: Path, *, _within: tuple[str, ...] = ()) -> Tree:
    """Return the tree of a dialect file outside this package. Its `files` are those that it consists of, parents first.

    Raises ContractError as `resolve` does, with the line if it is known, and if the file cannot be read.
    """
    _refuse_cycle(str(path), _within)
    text = read_text(path)
    content = parse(text, str(path))
    try:
        tree = _resolve_tree(content, str(path), (*_within, str(path)), file=path)
    except ContractError as error:
        raise locate_error(error, [path]) from error
    tree["files"] = [*tree.get("files", ()), str(path)]
    return tree


def _refuse_cycle(name: str, within: tuple[str, ...]) -> None:
    if name in within:
        raise ContractError(f"extends: dialects extend each other in a cycle: {' -> '.join((*within, name))}")


def _resolve_tree(own: Any, path: str, within: tuple[str, ...], *, file: Path | None = None) -> Tree:
    """Resolve the content of a dialect file. file: one outside this package."""
    if not isinstance(own, dict):
        raise ContractError(f"{path}: invalid dialect: expected a mapping, got {_type_name(own)}")
    identity = IDENTITY if file is not None else (*IDENTITY, "aliases")
    if missing := [key for key in identity if key not in own]:
        raise ContractError(f"{path}: invalid dialect: {', '.join(missing)} missing")
    parent = own.get("extends")
    if parent is None:
        tree = {key: _expand_shapes(value, path) for key, value in own.items() if key not in DELTAS}
    else:
        tree = _resolve_parent(parent, path, within, file)
        by_parent = copy_tree(tree)
        _check_keys(own, path)
        parts, sentences = own.get("documents", {}), _expand_shapes(own.get("sentences", []), path)
        inheritance.keep_documents(tree, own["document"], sentences, parts)
    inherited = copy_tree(tree) if parent is not None else None
    if inherited is not None:
        tree["parents"] = {**tree.get("parents", {}), tree["document"]: tree["id"]}
        tree.update({key: _expand_shapes(own[key], path) for key in IDENTITY})
        tree["aliases"] = list(own.get("aliases") or ())
        tree["documents"], tree["sentences"] = dict(parts), sentences  # other parts are in the dialect's own document
    if file is not None:
        _add_own_parts(tree, own, file)
    _apply_deltas(tree, own, path, inherited)
    if inherited is not None:
        deltas = [str(place) for kind in ("add", "replace", "remove") for place in own.get(kind) or ()]
        inheritance.cite_unstated(tree, by_parent, sentences, deltas)
    if file is not None:
        _complete_parameters(tree)
    return tree


def _check_keys(own: Tree, path: str) -> None:
    known = (*IDENTITY, *OWN, *ADDED, *DELTAS)
    if misplaced := sorted(set(map(str, own)) - set(known)):
        hint = "".join(suggest(key, known) for key in misplaced)
        raise ContractError(f"{path}: invalid key {', '.join(misplaced)}: move it to add, replace or remove{hint}")


def _resolve_parent(parent: Any, path: str, within: tuple[str, ...], file: Path | None) -> Tree:
    name = str(parent)
    dialect = name if name in dialect_files() else _aliases().get(name)
    if dialect is not None:
        return resolve(dialect, _within=within)
    other = None
    if file is not None:
        other = (file.parent / name).resolve() if is_path(name) else vendor_files().get(name)
        other = other or find_file(DIALECTS, name)
    if other is None:
        expected = ", ".join((*dialect_files(), *vendor_files()))
        hint = suggest(name, (*dialect_files(), *_aliases(), *vendor_files()))
        raise ContractError(f"{path}: extends: unknown dialect {parent!r}: expected one of {expected}{hint}")
    if not other.is_file():
        raise ContractError(f"{path}: extends: {other}: file not found")
    return resolve(str(other), _within=within)


def _aliases() -> dict[str, str]:
    return {alias: dialect for dialect in dialect_files() for alias in read_aliases(dialect)}


def _add_own_parts(tree: Tree, own: Tree, file: Path) -> None:
    """Add what only a file outside this package contains: its document, interpretations, scenarios and checks."""
    tree.setdefault("aliases", [])
    tree.setdefault("documents", {})
    parent = tree if own.get("extends") is not None else {}
    interpretations = own.get("interpretations", {})
    if not isinstance(interpretations, dict):
        raise ContractError(f"{file}: interpretations: expected a mapping from names to interpretations")
    tree["interpretations"] = {**parent.get("interpretations", {}), **_expand_shapes(interpretations, str(file))}
    tree["scenarios"] = [*parent.get("scenarios", ()), *read_scenarios(own.get("scenarios", []), file)]
    tree["checks"] = list(dict.fromkeys([*parent.get("checks", ()), *list_checks(own.get("checks", []), file)]))
    tree["todo"] = list_todos(own.get("todo", []), file)
    _pin_document(tree, str(file))


def _pin_document(tree: Tree, path: str) -> None:
    """Move a document that the file itself pins to `pins`, and put its id in its place."""
    document = tree["document"]
    if document == NO_DOCUMENT:
        digest = sha256(Path(path).read_bytes()).hexdigest()
        document = {"id": str(tree["id"]), "kind": NO_DOCUMENT, "title": str(tree["title"]), "sha256": digest}
    if isinstance(document, dict):
        if not isinstance(document.get("id"), str):
            raise ContractError(f"{path}: document: id missing: name the document, such as acme-api-2026")
        row = {key: value for key, value in document.items() if key != "id"}
        tree["pins"] = {**tree.get("pins", {}), document["id"]: row}
        tree["document"] = document["id"]


def _apply_deltas(tree: Tree, own: Tree, path: str, inherited: Tree | None) -> None:
    """Change a tree by the deltas of a file, and drop what the removals and changes of schemas leave pointless."""
    removals = own.get("remove") or []
    if not isinstance(removals, list):
        raise ContractError(f"{path}: invalid remove: expected a list of paths, got {_type_name(removals)}")
    try:
        for place, value in _read_deltas(own, "add", path).items():
            add_value(tree, str(place), _expand_shapes(value, path))
            inheritance.claim_fact(tree, str(place))
        for place, value in _read_deltas(own, "replace", path).items():
            replace_value(tree, str(place), _expand_shapes(value, path))
            inheritance.claim_fact(tree, str(place))
        for place in map(str, removals):
            remove_value(tree, place)
            inheritance.claim_fact(tree, place)
    except ContractError as error:
        message = str(error)
        raise ContractError(message if message.startswith(f"{path}:") else f"{path}: {message}") from error
    if inherited is not None and all(isinstance(tree.get(part), dict) for part in ("parameters", "schemas", "rules")):
        removed = [place.partition("/")[2] for place in map(str, removals) if place.startswith("parameters/")]
        removal.drop_dependents(tree, [name for name in removed if "/" not in name], inherited)
        removal.drop_contradicted(tree, inherited)


def _complete_parameters(tree: Tree) -> None:
    """Add what a parameter of an outside file need not state: its source, and that its page is silent about null."""
    for name, row in tree.get("parameters", {}).items():
        if isinstance(row, dict):
            row.setdefault("source", f"#request/{name}")
            row.setdefault("null_value", dict(SILENT_NULL))


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
