"""PackedLinear: products with oneDNN give the same answers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine.device import torch
from reference_server.engine.model.matrices import packed_linear
from reference_server.engine.model.matrices.packed_linear import PackedLinear

if TYPE_CHECKING:
    from pathlib import Path

    from torch import Tensor

linear = torch.nn.functional.linear
pytestmark = pytest.mark.skipif(not torch._C._has_mkldnn, reason="this torch has no oneDNN")


def _numbers(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(len(shape) + sum(shape)))


@pytest.mark.parametrize(("wide", "long"), [(192, 96), (512, 192), (192, 4096), (48, 37)])
def test_the_bits_of_a_row_do_not_depend_on_the_number_of_rows(wide: int, long: int) -> None:
    inputs, matrix, bias = _numbers(352, wide), _numbers(long, wide), _numbers(long)
    with torch.inference_mode(), PackedLinear([[(matrix, bias)]]):
        expected = linear(inputs, matrix, bias)
        for rows in (4, 5, 8, 12, 32, 33, 176):
            assert torch.equal(expected[:rows], linear(inputs[:rows].clone(), matrix, bias))
            assert torch.equal(expected[-rows:], linear(inputs[-rows:].clone(), matrix, bias))


def test_products_are_correct_for_every_matrix_of_a_group_and_every_input() -> None:
    one, other = _numbers(4, 16), _numbers(5, 16)
    first, second, third = _numbers(8, 16), _numbers(24, 16), _numbers(16, 16)
    calls = [(one, first), (one, second), (other, second), (one, third), (other, first), (one, first)]
    with torch.inference_mode(), PackedLinear([[(first, None), (second, None)]]):
        products = [linear(*call) for call in calls]
    for call, product in zip(calls, products, strict=True):
        torch.testing.assert_close(product, linear(*call))


class _Model(torch.nn.Module):
    """Two layers with the same input, whose outputs are added as they are or, if flat, as contiguous vectors."""

    device, dtype = torch.device("cpu"), torch.float32

    def __init__(self, *, flat: bool) -> None:
        super().__init__()
        self._flat = flat
        self._embedding = torch.nn.Embedding(64, 16)
        self._layers = torch.nn.ModuleList(torch.nn.Linear(16, 16) for _ in range(2))

    def get_output_embeddings(self) -> Any:
        return self._embedding

    def forward(self, input_ids: Tensor, use_cache: bool) -> Any:
        assert not use_cache
        hidden = self._embedding(input_ids)
        one, other = (layer(hidden) for layer in self._layers)
        return SimpleNamespace(logits=one.view(-1) + other.view(-1) if self._flat else one + other)


def test_a_model_that_needs_contiguous_outputs_is_not_packed() -> None:
    assert PackedLinear.from_model(_Model(flat=True)) is None
    packed = PackedLinear.from_model(_Model(flat=False))
    assert packed is not None
    assert len(packed.packed) == 1


def test_only_float32_is_packed(random_checkpoint: Path) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(random_checkpoint, dtype="float32").eval()
    assert PackedLinear.from_model(model) is not None
    assert PackedLinear.from_model(model.bfloat16()) is None


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_model_that_gave_up_its_matrices_computes_the_same_with_the_packed_ones(
    random_checkpoint: Path, dtype: str
) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(random_checkpoint, dtype=dtype).eval()
    embeddings = model.get_input_embeddings().weight.clone()
    ids = torch.arange(12).view(2, 6)
    with torch.inference_mode():
        expected = model(input_ids=ids, use_cache=False).logits
        packed = PackedLinear.replacing(model)
        if packed is None and dtype == "bfloat16":
            pytest.skip("this processor does not pack 16-bit matrices")
        assert packed is not None
        assert packed.replaces
        with packed:
            actual = model(input_ids=ids, use_cache=False).logits
    assert float((actual - expected).abs().max() / expected.abs().max()) < (1e-4 if dtype == "float32" else 0.05)
    assert torch.equal(embeddings, model.get_input_embeddings().weight)
    stored = {weight.untyped_storage().data_ptr(): weight.untyped_storage().nbytes() for weight in model.parameters()}
    assert sum(stored.values()) < 0.5 * sum(weight.nbytes for weight in model.parameters())


@pytest.mark.parametrize(("limit", "copies"), [(1 << 20, 1), (16, 0)])
def test_embeddings_that_are_also_the_output_matrix_are_packed_as_a_copy_if_they_are_small(
    random_checkpoint: Path, monkeypatch: pytest.MonkeyPatch, limit: int, copies: int
) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(random_checkpoint, dtype="float32").eval()
    monkeypatch.setattr(packed_linear, "MAX_COPIED_BYTES", limit)
    packed = PackedLinear.replacing(model)
    assert packed is not None
    rows = [end - begin for _, begin, end in packed._slices.values()]
    assert copies == rows.count(model.get_input_embeddings().weight.shape[0])
    assert model.get_input_embeddings().weight.is_contiguous()
