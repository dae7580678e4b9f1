"""A perturbed contract that is written out as a dialect file and loaded again is the same contract.

Only a removed parameter takes more along in a file: requirements that another document states, capabilities, and what
belongs to them.
"""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from openapi.contract.contract import Contract, load
from openapi.contract.resolution import resolve
from openapi.contract.sentence import is_place
from openapi.perturbation.drawing import draw_variant
from openapi.perturbation.edit import REMOVED
from openapi.perturbation.settlement import settle

if TYPE_CHECKING:
    from pathlib import Path

    from openapi.perturbation.perturbation import Variant

IDENTITY = {"name", "aliases", "title", "location", "files", "parents"}
FIELDS = sorted({field.name for field in fields(Contract)} - IDENTITY - {"requirements", "rules", "capabilities"})


def as_file(variant: Variant) -> dict[str, Any]:
    """Return the content of a dialect file that extends the dialect of a variant and has its edits as deltas.

    Its document is that of the dialect, so all facts are its own.
    """
    tree = resolve(variant.dialect)
    deltas: dict[str, Any] = {"add": {}, "replace": {}, "remove": []}
    for perturbation in variant.perturbations:
        for edit in perturbation.edits:
            if edit.value is REMOVED:
                deltas["remove"].append(edit.path)
            else:
                deltas["replace" if is_place(tree, edit.path) else "add"][edit.path] = edit.value
    head = {"id": "written", "title": "A variant", "document": tree["document"], "extends": variant.dialect}
    own = {key: tree[key] for key in ("documents", "sentences")}
    return {**head, **own, **{key: value for key, value in deltas.items() if value}}


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", ["mindie-2.3", "openai", "ovms-2024", "vllm"])
def test_a_variant_written_as_a_dialect_file_is_the_same_contract(dialect: str, tmp_path: Path) -> None:
    for seed in range(3):
        variant = draw_variant(dialect, seed)
        path = tmp_path / f"{seed}.yaml"
        path.write_text(yaml.safe_dump(as_file(variant), sort_keys=False))
        loaded, built = settle(load(str(path))), settle(variant.build())
        different = [name for name in FIELDS if getattr(loaded, name) != getattr(built, name)]
        assert [] == different, [item.line for item in variant.perturbations]
        removed = {*load(dialect).parameters} - {*built.parameters}
        extra = [row for name, row in built.requirements.items() if name not in loaded.requirements]
        lost = {*built.capabilities} - {*loaded.capabilities}
        assert [] == [row.id for row in extra if row.parameter not in removed and row.capability not in lost]
        rules = [rule for name, rule in built.rules.items() if name not in loaded.rules]
        assert [] == [rule.id for rule in rules if rule.capability not in lost]
        assert removed or not (extra or rules or lost)
        assert [built.rules[name] for name in loaded.rules] == list(loaded.rules.values())
        assert [built.requirements[name] for name in loaded.requirements] == list(loaded.requirements.values())
        assert [built.capabilities[name] for name in loaded.capabilities] == list(loaded.capabilities.values())
