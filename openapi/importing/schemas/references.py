"""Follow the references inside an OpenAPI description."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from openapi.contract.tree.yaml_file import ContractError

if TYPE_CHECKING:
    from collections.abc import Mapping


def follow(document: Mapping[str, Any], node: Any, where: str) -> tuple[Any, str]:
    """Return what a node refers to, through any number of references, and its JSON pointer.

    Keywords next to a `$ref` are overlaid on its target. Raises ContractError for a cycle, for a reference that leads
    nowhere, and for one that leaves the document.
    """
    seen: list[str] = []
    overlay: dict[str, Any] = {}
    while isinstance(node, dict) and isinstance(node.get("$ref"), str):
        reference = node["$ref"]
        if reference in seen:
            raise ContractError(f"{where}: references form a cycle: {' -> '.join((*seen, reference))}")
        seen.append(reference)
        overlay = {**{key: value for key, value in node.items() if key != "$ref"}, **overlay}
        node = _target(document, reference, where)
    if overlay and isinstance(node, dict):
        node = {**node, **overlay}
    return node, seen[-1] if seen else where


def _target(document: Mapping[str, Any], reference: str, where: str) -> Any:
    if not reference.startswith("#"):
        raise ContractError(
            f"{where}: cannot follow $ref {reference!r}: expected a reference inside the description: bundle its files"
        )
    node: Any = document
    for step in reference[1:].split("/")[1:]:
        key = unquote(step).replace("~1", "/").replace("~0", "~")
        if isinstance(node, dict) and key in node:
            node = node[key]
        elif isinstance(node, list) and key.isdecimal() and int(key) < len(node):
            node = node[int(key)]
        else:
            raise ContractError(f"{where}: dangling $ref {reference!r}: {key!r} does not exist")
    return node
