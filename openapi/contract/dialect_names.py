"""The names of dialects: ids and aliases of the built-in ones, ids of imported contracts, and entry points."""

from __future__ import annotations

from openapi.contract.resolution import dialect_files, read_aliases, vendor_files
from openapi.contract.tree.installed import DIALECTS, list_installed
from openapi.contract.tree.yaml_file import ContractError


def names() -> dict[str, str]:
    """Map every name of a built-in dialect, its id and its aliases, to its id.

    Raises ContractError if two dialects share a name.
    """
    ids = {dialect: dialect for dialect in dialect_files()}
    for dialect, path in dialect_files().items():
        for alias in read_aliases(dialect):
            if alias in ids:
                raise ContractError(f"openapi/{path}: duplicate alias {alias!r}: dialect {ids[alias]} has this name")
            ids[alias] = dialect
    return ids


def list_all() -> list[str]:
    """Return the id of every dialect of this package: the built-in ones, then those imported from other vendors."""
    return [*dict.fromkeys(names().values()), *vendor_files()]


def describe_names() -> str:
    """Return what `load` accepts, for an error about a missing or unknown dialect."""
    return f"the path of a .yaml file, or one of {', '.join(list_names())}"


def describe_missing() -> str:
    """Return the error for a server without a dialect, and which dialect most servers claim to follow."""
    hint = "a server that only says that it is OpenAI-compatible is judged by openai"
    return f"missing --dialect: expected {describe_names()}; {hint}"


def list_names() -> list[str]:
    """Return every name but paths, in order."""
    return sorted({*names(), *vendor_files(), *list_installed(DIALECTS)})
