"""trace_pass: a graph replaces a pass only if it does the same for all inputs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine.device import torch
from reference_server.engine.model.forward_pass import trace_pass
from reference_server.engine.model.matrices.packed_linear import PackedLinear
from reference_server.engine.model.runner import Runner

if TYPE_CHECKING:
    from pathlib import Path


def _example(rows: int) -> tuple[torch.Tensor, ...]:
    return (torch.arange(rows * 3.0).view(rows, 3) - 4,)


EXAMPLES = partial(_example, 4), partial(_example, 2)


class _Scaled(torch.nn.Module):
    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return values.flatten()[: values.shape[0]] * 2


class _Decided(torch.nn.Module):
    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return values * 2 if values.sum() > 0 else values


class _Chosen(torch.nn.Module):
    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return values[values > 0]


class _Measured(torch.nn.Module):
    def forward(self, values: torch.Tensor) -> torch.Tensor:
        return values * len(values)


class _Closed(torch.nn.Module):
    def forward(self, values: torch.Tensor) -> torch.Tensor:
        if torch._C._get_tracing_state():
            raise TypeError("no graph can hold this")
        return values


def test_a_pass_without_data_dependent_control_flow_is_traced_for_any_shape() -> None:
    plain = _Scaled()
    run = trace_pass(plain, *EXAMPLES)
    assert run is not plain
    assert plain(*_example(7)).tolist() == run(*_example(7)).tolist()


@pytest.mark.parametrize(
    "plain", [_Decided(), _Chosen(), _Measured(), _Closed()], ids=lambda plain: type(plain).__name__
)
def test_a_pass_that_cannot_be_traced_correctly_is_not_replaced(plain: Any) -> None:
    assert trace_pass(plain, *EXAMPLES) is plain


@pytest.mark.parametrize("packs", [False, True])
def test_graphs_are_bit_identical_to_the_model_at_every_shape(random_checkpoint: Path, packs: bool) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(random_checkpoint, dtype="float32").eval()
    linear = PackedLinear.from_model(model) if packs else None
    with torch.inference_mode():
        plain, graphs = (Runner(model, slots=8, max_model_len=256, linear=linear) for _ in range(2))
        graphs.trace()
        assert [partial] * 3 == [
            type(graph) for graph in (graphs._prefill_pass, graphs._decode_pass, graphs._scattered_decode_pass)
        ]
        prompts = [[(7 * at + row) % 200 for at in range(5 + 29 * row)] for row in range(5)]
        for first, last in ((0, 5), (2, 3)):
            pieces, slots = prompts[first:last], list(range(first, last))
            assert torch.equal(plain.prefill(pieces, slots), graphs.prefill(pieces, slots))
        for slots in ([0, 1, 2, 3, 4], [2], [1, 4]):
            positions = [len(prompts[slot]) for slot in slots]
            assert torch.equal(plain.decode(slots, positions, slots), graphs.decode(slots, positions, slots))
