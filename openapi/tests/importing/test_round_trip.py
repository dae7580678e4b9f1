"""A description that this package writes is imported as the same contract."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from openapi.contract.contract import load, names
from openapi.description.description import describe, describe_oas31
from openapi.perturbation.drawing import draw_variant
from openapi.tests.importing.importing import differences, imported

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import Any

    from openapi.contract.contract import Contract

DIALECTS = sorted(set(names().values()))
SEEDS = 3


@pytest.mark.takes_turns
@pytest.mark.parametrize("write", [describe, describe_oas31])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_dialect_keeps_every_parameter_and_field(
    dialect: str, write: Callable[[Contract], dict[str, Any]], tmp_path: Path
) -> None:
    contract = load(dialect)
    actual, _ = imported(write(contract), tmp_path)
    assert [] == list(differences(contract, actual))
    assert (contract.path, contract.models_path, contract.auth) == (actual.path, actual.models_path, actual.auth)


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_random_contract_keeps_every_parameter_and_field(dialect: str, tmp_path: Path) -> None:
    for seed in range(SEEDS):
        contract = draw_variant(dialect, seed).build()
        actual, _ = imported(describe_oas31(contract), tmp_path)
        assert [] == list(differences(contract, actual)), seed


def test_every_stated_parameter_has_a_sentence(tmp_path: Path) -> None:
    contract = load("vllm")
    actual, _ = imported(describe(contract), tmp_path)
    assert set(contract.parameters) == {sentence.source.partition("#request/")[2] for sentence in actual.sentences}
