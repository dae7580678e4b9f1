"""trace_pass: a graph replaces a pass only if it does the same for all inputs."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine.device import torch
from reference_server.engine.model import runner as runner_module
from reference_server.engine.model.forward_pass import trace_pass
from reference_server.engine.model.matrices.packed_linear import PackedLinear
from reference_server.engine.model.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from reference_server.engine.model.ragged_pass import Piece


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


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("positions", "slots", "is_graph"),
    [
        ([40, 43, 38], [0, 1, 2], True),
        ([40, 38], [2, 0], True),
        ([30], [5], True),
        ([40, 7, 250], [0, 1, 2], False),
        ([40], [7], False),
    ],
    ids=["even", "out of order", "a high slot", "uneven", "too high a slot"],
)
def test_steps_of_a_large_model_are_the_same_as_a_graph_and_piece_by_piece(
    random_checkpoint: Path,
    monkeypatch: pytest.MonkeyPatch,
    dtype: str,
    positions: list[int],
    slots: list[int],
    is_graph: bool,
) -> None:
    from transformers import AutoModelForCausalLM

    model = AutoModelForCausalLM.from_pretrained(random_checkpoint, dtype=dtype).eval()
    monkeypatch.setattr(runner_module, "MOST_READ_IN_VAIN", 200)
    with torch.inference_mode():
        plain, graphs = (Runner(model, slots=8, max_model_len=256, exact=False) for _ in range(2))
        graphs.trace()
        seen: list[int] = []
        run_ragged = graphs._run_ragged

        def record(pieces: Sequence[Piece]) -> torch.Tensor:
            seen.append(len(pieces))
            return run_ragged(pieces)

        monkeypatch.setattr(graphs, "_run_ragged", record)
        for runner in (plain, graphs):
            for slot, position in zip(slots, positions, strict=True):
                runner.prefill([[(3 * at + slot) % 200 for at in range(position)]], [slot])
        seen.clear()
        expected, actual = (runner.decode([5, 6, 7][: len(slots)], positions, slots) for runner in (plain, graphs))
    assert ([] if is_graph else [len(slots)]) == seen
    tolerance = 1e-4 if dtype == "float32" else 0.03
    assert float((actual - expected).abs().max()) <= tolerance * float(expected.abs().max())
    assert expected.argmax(1).tolist() == actual.argmax(1).tolist()
