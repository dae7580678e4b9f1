"""The written scenarios as data: those of the YAML files of this package, then those of a dialect."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, TypeAlias

import yaml

from openapi.contract.tree.companion_files import FILE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.contract.contract import Contract

Rows: TypeAlias = tuple[tuple[str, dict[str, Any]], ...]
"""Scenarios as data, each with its file."""


def list_rows(contract: Contract) -> Rows:
    """Return every scenario as data, with the name of its file: the built-in ones, then those of the dialect."""
    return (*list_built_in_rows(), *list_own_rows(contract))


def list_own_rows(contract: Contract) -> Iterator[tuple[str, dict[str, Any]]]:
    for row in contract.scenarios:
        yield row[FILE], {key: value for key, value in row.items() if key != FILE}


@cache
def list_built_in_rows() -> Rows:
    """Return every scenario as data, with the name of its file. Cached: reading the YAML takes a tenth of a second."""
    entries = sorted(files("conformance.plan.scenarios").iterdir(), key=lambda item: item.name)
    texts = ((entry.name, entry.read_text(encoding="utf-8")) for entry in entries if entry.name.endswith(".yaml"))
    return tuple((f"scenarios/{name}", row) for name, text in texts for row in yaml.load(text, Loader=yaml.CSafeLoader))
