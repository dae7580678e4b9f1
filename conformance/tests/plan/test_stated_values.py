"""Which values of an inherited parameter must be accepted or refused, if a dialect states only a part of it."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Any, Final

import jsonschema_rs
import pytest
import yaml

from conformance.plan.scenarios import boundaries
from openapi.contract.contract import Keyword, load
from openapi.contract.tree.inheritance import FORMS, LIMITS

if TYPE_CHECKING:
    from pathlib import Path

    from openapi.contract.contract import Contract

SEEDS: Final = range(12)
LEVELS: Final = ("required", "default", "null")


def write_dialect(stated: dict[str, set[str]], path: Path, added: dict[str, Any]) -> Contract:
    """Return a dialect that extends openai and states some keywords of some parameters."""
    sentences = [
        {
            "id": f"{name.replace('_', '-')}-stated",
            "says": f"{name}: {', '.join(sorted(keywords))}",
            "source": f"#request/{name}",
            "keyword": "MUST",
            "home": {"schema": [f"parameters/{name}/schema/{key}" for key in sorted(keywords)]},
        }
        for name, keywords in stated.items()
    ]
    content = {"id": "own", "title": "Own", "document": "none", "extends": "openai", "add": added}
    path.write_text(yaml.safe_dump({**content, "sentences": sentences}))
    return load(str(path))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_value_binds_only_as_far_as_what_the_dialect_states_settles_it(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    base = load("openai")
    stated = {
        name: {"type", *(key for key in sorted(set(row.schema) & (LIMITS | FORMS)) if draw.random() < 0.5)}
        for name, row in base.parameters.items()
        if "type" in row.schema and draw.random() < 0.7
    }
    contract = write_dialect(stated, tmp_path / "own.yaml", {"parameters/messages/schema/maxItems": 8})
    stated.setdefault("messages", set()).add("maxItems")
    binding = [
        scenario.subject
        for scenario in boundaries.generate(contract)
        if scenario.subject is not None
        and scenario.subject.keyword is Keyword.MUST
        and not scenario.subject.requirement.endswith(("required", "null", "left-out", "-kept"))
        and scenario.subject.parameter in contract.parameters
    ]
    assert [] == [(s.requirement, s.source, s.value) for s in binding if s.parameter not in stated]
    for subject in binding:
        schema = contract.parameters[subject.parameter].schema
        own = {key: value for key, value in schema.items() if key in stated[subject.parameter]}
        document = {"components": {"schemas": contract.schemas}}
        accepts = jsonschema_rs.validator_for({**own, **document}).is_valid(subject.value)
        if subject.expect == "reject":
            assert not accepts, subject
        else:
            assert accepts, subject
