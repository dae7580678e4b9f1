"""A perturbation is one changed fact of a contract; several of them make a variant of a dialect.

The reference server serves variants, and the suite judges by them. So a variant shows whether both follow the contract
or only the dialects that they were written for.
"""

from __future__ import annotations

import base64
import json
import zlib
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from openapi.contract.contract import load, load_tree
from openapi.contract.resolution import resolve
from openapi.contract.tree.delta import copy_tree
from openapi.contract.tree.yaml_file import ContractError
from openapi.perturbation.edit import REMOVED, Edit
from openapi.perturbation.settlement import settle

if TYPE_CHECKING:
    from openapi.contract.contract import Contract
    from openapi.contract.tree.delta import Tree


@dataclass(frozen=True, slots=True)
class Perturbation:
    """One changed fact.

    fact: the path of the fact in the contract, such as `parameters/top_p/schema/maximum` or `capabilities/n`.
    before, after: what the contract states, and what it states instead; None if it states nothing.
    line: one line that describes the change.
    edits: how the tree of the dialect changes; empty if the server lacks a capability.
    shown_by: globs of requirement ids. A server that still follows the unperturbed contract must be reported by at
        least one of these requirements. Empty if no request can show the difference, or if the document demands
        nothing (MAY).
    lacks: the capability that the server lacks.
    """

    fact: str
    before: Any
    after: Any
    line: str
    edits: tuple[Edit, ...] = ()
    shown_by: tuple[str, ...] = ()
    lacks: str | None = None

    def apply(self, tree: Tree) -> None:
        """Change a dialect's tree in place. Raises ContractError if the tree has no such fact."""
        for edit in self.edits:
            Edit(edit.path, copy_tree(edit.value) if edit.value is not REMOVED else REMOVED).apply(tree)


@dataclass(frozen=True, slots=True)
class Variant:
    """A dialect with some perturbations."""

    dialect: str
    perturbations: tuple[Perturbation, ...] = ()

    @property
    def lacking(self) -> frozenset[str]:
        """The capabilities that a server of this variant lacks."""
        return frozenset(item.lacks for item in self.perturbations if item.lacks is not None)

    def build(self) -> Contract:
        """Return the contract, with all capabilities. Raises ContractError if the perturbations do not fit."""
        if not any(item.edits for item in self.perturbations):
            return load(self.dialect)
        tree = copy_tree(_resolve_once(self.dialect))
        for perturbation in self.perturbations:
            perturbation.apply(tree)
        where = f"{self.dialect} with {', '.join(item.fact for item in self.perturbations)}"
        contract = load_tree(tree, where)
        try:
            return settle(contract)
        except ContractError as error:
            raise ContractError(f"{where}: {error}") from error

    def to_text(self) -> str:
        """Return the name of the variant for a URL: what a server needs to serve it."""
        edits = [edit.as_data() for item in self.perturbations for edit in item.edits]
        data = json.dumps([self.dialect, edits, sorted(self.lacking)], separators=(",", ":"))
        return base64.urlsafe_b64encode(zlib.compress(data.encode())).decode().rstrip("=")


@cache
def _resolve_once(dialect: str) -> Tree:
    """Return the tree of a dialect, which must not be changed: perturbations change copies of it."""
    return {**resolve(dialect), "stated": {}}  # of the schemas that perturbations change


def from_text(text: str) -> Variant:
    """Return the variant with this name. Raises ContractError for an invalid name."""
    try:
        packed = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
        dialect, edits, lacking = json.loads(zlib.decompress(packed))
    except (ValueError, zlib.error) as error:
        raise ContractError(f"invalid name of a variant: {error}") from error
    made = tuple(Edit(edit["path"], edit.get("value", REMOVED)) for edit in edits)
    changes = (Perturbation("edits", None, None, "", edits=made), *(_lack(name) for name in lacking))
    return Variant(dialect, changes)


def _lack(capability: str) -> Perturbation:
    return Perturbation(f"capabilities/{capability}", None, None, "", lacks=capability)
