"""The data type of a checkpoint: the fastest that it has and the processor multiplies."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from reference_server.engine.device import torch
from reference_server.engine.model import dtype as dtypes
from reference_server.engine.model.checkpoint_facts import CheckpointFacts, inspect_checkpoint
from reference_server.engine.model.dtype import choose_dtype
from reference_server.tiny import CHECKPOINT

if TYPE_CHECKING:
    from pathlib import Path

CPU = torch.device("cpu")
SMALL, LARGE = 10**6, 10**9
BF16, F16, F32 = torch.bfloat16, torch.float16, torch.float32


def _facts(dtype: torch.dtype | None, parameters: int) -> CheckpointFacts:
    return CheckpointFacts(dtype, parameters, None, 512)


@pytest.mark.parametrize(
    ("native", "stored", "parameters", "expected"),
    [
        ({BF16}, BF16, LARGE, "bfloat16"),
        ({F16}, BF16, LARGE, "float32"),
        ({BF16}, BF16, SMALL, "float32"),
        ({BF16}, F16, LARGE, "float32"),
        ({F16}, F16, LARGE, "float16"),
        ({BF16, F16}, F32, LARGE, "float32"),
        ({BF16, F16}, None, LARGE, "float32"),
    ],
)
def test_auto_is_the_stored_type_if_it_is_large_and_multiplied_natively(
    monkeypatch: pytest.MonkeyPatch,
    native: set[torch.dtype],
    stored: torch.dtype | None,
    parameters: int,
    expected: str,
) -> None:
    monkeypatch.setattr(dtypes, "multiplies_natively", native.__contains__)
    facts = _facts(stored, parameters)
    assert expected == choose_dtype("auto", facts, CPU, exact=False).name
    assert choose_dtype("auto", facts, CPU, exact=True).name == "float32"
    assert choose_dtype("auto", facts, torch.device("meta"), exact=False).name == "auto"


def test_native_types_follow_the_instructions_of_the_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: {"avx512_bf16": False, "amx_bf16": False})
    assert not dtypes.multiplies_natively(BF16)


@pytest.mark.parametrize(("wanted", "device"), [("bfloat16", "cpu"), ("auto", "meta"), ("float32", "meta")])
def test_exact_answers_are_refused_where_they_are_not_possible(wanted: str, device: str) -> None:
    with pytest.raises(ValueError, match="exact is not possible in"):
        choose_dtype(wanted, None, torch.device(device), exact=True)


def test_the_facts_are_those_of_the_loaded_model(random_checkpoint: Path) -> None:
    facts = inspect_checkpoint(random_checkpoint)
    assert facts is not None
    assert (F32, 512, 2, 2 * 2 * (16 + 16)) == (
        facts.dtype,
        facts.position_limit,
        len(facts.layers or ()),
        facts.position_elements,
    )
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(random_checkpoint, dtype="float32").eval()
    assert CheckpointFacts.of_model(model) == facts


def test_the_embedded_checkpoint_is_computed_in_float32() -> None:
    facts = inspect_checkpoint(CHECKPOINT)
    assert facts is not None
    assert (BF16, "float32") == (facts.dtype, choose_dtype("auto", facts, CPU, exact=False).name)


def test_nothing_is_known_about_a_directory_without_a_model(tmp_path: Path) -> None:
    assert inspect_checkpoint(tmp_path) is None
