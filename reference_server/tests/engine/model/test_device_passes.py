"""Passes of accelerators: graphs by shape, ways to attend, fused layers and the warm-up, on tensors of the CPU."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from reference_server.engine.device import torch
from reference_server.engine.model.accelerator import attention_choice
from reference_server.engine.model.accelerator.attention_choice import choose_attention
from reference_server.engine.model.accelerator.device_runner import LENGTHS, DeviceRunner
from reference_server.engine.model.accelerator.fused_norms import fuse_norms
from reference_server.engine.model.accelerator.graphs import GraphBackend, GraphedPasses
from reference_server.engine.model.accelerator.warm_up import Shape, run_warm_up
from reference_server.engine.model.runner import Runner

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

CPU = torch.device("cpu")
PROMPT = [5, 9, 2, 40, 7]


class FakeBackend(GraphBackend):
    """Graphs that call the captured function again. change: called after it in a replay."""

    def __init__(self, change: Callable[[], object] = lambda: None, error: Exception | None = None) -> None:
        self.change = change
        self.error = error
        self.captures = 0

    def renew(self) -> GraphBackend:
        return self

    def capture(self, function: Callable[[], object]) -> Any:
        self.captures += 1
        if self.error is not None:
            raise self.error

        def replay() -> None:
            function()
            self.change()

        return SimpleNamespace(replay=replay)


def _passes(backend: GraphBackend | None) -> GraphedPasses:
    return GraphedPasses(backend, CPU, rows=4, vocabulary_size=3, numbers=8)


def _double_each(numbers: torch.Tensor) -> torch.Tensor:
    return (numbers * 2).float()[:, None].expand(-1, 3)


def _doubled(*numbers: int) -> list[list[float]]:
    return [[2.0 * number] * 3 for number in numbers]


@pytest.fixture(autouse=True)
def inference() -> Iterator[None]:
    with torch.inference_mode():
        yield


@pytest.fixture
def model(random_checkpoint: Path) -> Any:
    from transformers import AutoModelForCausalLM

    return AutoModelForCausalLM.from_pretrained(random_checkpoint, dtype="float32").eval()


class TestGraphs:
    def test_a_shape_is_captured_once_and_computes_what_its_operators_do(self) -> None:
        backend = FakeBackend()
        passes = _passes(backend)
        actual = [passes.run("shape", [at, at + 1], 2, _double_each).tolist() for at in range(3)]
        assert [_doubled(at, at + 1) for at in range(3)] == actual
        assert (1, 1, True) == (backend.captures, passes.captured, passes.has_graph("shape"))

    def test_a_shape_whose_graph_gives_other_logits_is_left_out(self) -> None:
        passes = _passes(backend := FakeBackend())
        backend.change = lambda: passes._logits.add_(1)
        assert _doubled(1, 2) == passes.run("wrong", [1, 2], 2, _double_each).tolist()
        backend.change = lambda: None
        assert _doubled(3, 4) == passes.run("right", [3, 4], 2, _double_each).tolist()
        assert (False, True) == (passes.has_graph("wrong"), passes.has_graph("right"))
        assert _doubled(5, 6) == passes.run("wrong", [5, 6], 2, _double_each).tolist()

    def test_graphs_that_are_disabled_are_kept_while_operators_run(self) -> None:
        passes = _passes(backend := FakeBackend())
        passes.run("shape", [1, 2], 2, _double_each)
        backend.change = lambda: passes._logits.add_(1)  # shows that a graph runs
        actual = []
        for passes.enabled in (False, True):
            actual.append(passes.run("shape", [1, 2], 2, _double_each).tolist())
        assert [_doubled(1, 2), [[3.0] * 3, [5.0] * 3]] == actual

    def test_the_graph_of_a_shape_runs_again_with_the_numbers_of_the_last_pass(self) -> None:
        passes = _passes(FakeBackend())
        logits = passes.run("shape", [1, 2], 2, _double_each)
        logits.zero_()
        passes.replay("shape")
        assert _doubled(1, 2) == logits.tolist()

    def test_the_log_says_by_how_much_a_graph_is_off(self, caplog: pytest.LogCaptureFixture) -> None:
        passes = _passes(backend := FakeBackend())
        backend.change = lambda: passes._logits.add_(2)
        with caplog.at_level(logging.INFO):
            passes.run("wrong", [1, 2], 2, _double_each)
        assert [record.message for record in caplog.records] == [
            "the graph of wrong gives other logits, so its operators run one by one: off by 2, two runs by 0"
        ]

    def test_nothing_is_captured_after_an_error(self, caplog: pytest.LogCaptureFixture) -> None:
        passes = _passes(backend := FakeBackend(error=RuntimeError("operation not permitted\nmore")))
        for shape in ("one", "other"):
            assert _doubled(1, 2) == passes.run(shape, [1, 2], 2, _double_each).tolist()
        assert (1, 0) == (backend.captures, passes.captured)
        assert [record.message for record in caplog.records] == [
            "passes are not captured as graphs: operation not permitted"
        ]

    def test_what_depends_on_values_is_not_captured(self) -> None:
        passes = _passes(backend := FakeBackend())
        logits = passes.run("shape", [1, 2], 2, lambda numbers: _double_each(numbers) * int(numbers.max() > 0))
        assert (_doubled(1, 2), 0) == (logits.tolist(), backend.captures)

    def test_the_cpu_has_none(self) -> None:
        assert GraphBackend.find(CPU) is None


class TestRunner:
    @pytest.fixture
    def runner(self, model: Any) -> DeviceRunner:
        return DeviceRunner(model, slots=8, max_model_len=512)

    @pytest.mark.parametrize("attention", ["plain", "grouped"])
    def test_its_logits_are_those_of_the_cpu(self, model: Any, runner: DeviceRunner, attention: str) -> None:
        runner.use_attention(attention)
        expected_runner = Runner(model, slots=8, max_model_len=512)
        for step in range(2):
            prompts, slots = [PROMPT, PROMPT[step:]], [3, 1]
            expected, actual = (one.prefill(prompts, slots) for one in (expected_runner, runner))
            assert torch.allclose(expected, actual, atol=1e-4)
            places = [5, 5 - step], slots
            expected, actual = (one.decode([8, 9], *places) for one in (expected_runner, runner))
            assert torch.allclose(expected, actual, atol=1e-4)

    @pytest.mark.parametrize(
        ("graphs", "positions", "expected"),
        [
            ([], [40, 90], 128),
            ([LENGTHS], [40, 90], LENGTHS),
            ([LENGTHS, 128], [40, 90], 128),
            ([LENGTHS, 256], [40, 90], LENGTHS),
            ([256, 512], [40, 90], 256),
            ([64], [40, 90], 128),
        ],
    )
    def test_a_step_takes_the_cheapest_shape_that_has_a_graph(
        self, runner: DeviceRunner, graphs: list[int], positions: list[int], expected: int
    ) -> None:
        runner.use_attention("lengths")
        runner._passes._graphs = {("decode", 2, read): None for read in graphs}
        assert ("decode", 2, expected) == runner._choose_shape(2, positions)

    def test_one_long_row_among_short_ones_is_read_by_length(self, model: Any) -> None:
        runner = DeviceRunner(model, slots=64, max_model_len=512)
        runner.use_attention("lengths")
        assert ("decode", 64, LENGTHS) == runner._choose_shape(64, [500] + [3] * 63)
        assert ("decode", 64, 512) == runner._choose_shape(64, [500] * 64)

    def test_a_warm_up_prepares_every_shape_of_a_step_and_leaves_an_empty_cache(self, runner: DeviceRunner) -> None:
        runner.warm_up(60)
        steps = {shape for shape in runner._passes.seen if shape[0] == "decode"}  # type: ignore[index]
        assert {("decode", rows, read) for rows in (1, 2, 4, 8) for read in (64, 128, 256, 512)} == steps
        assert not any(stored.any() for stored in runner._stored)

    def test_a_warm_up_without_memory_ends_with_a_line(
        self, runner: DeviceRunner, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
    ) -> None:
        def fail(*_: object) -> None:
            raise torch.OutOfMemoryError("tried to allocate too much")

        monkeypatch.setattr(runner, "_run_shape", fail)
        runner.warm_up(60)
        assert ["no memory left" in record.message for record in caplog.records] == [True]
        assert not any(stored.any() for stored in runner._stored)


@pytest.mark.parametrize(
    ("times_s", "possible", "expected"),
    [
        ({"plain": 1.0, "grouped": 0.5}, {"plain", "grouped"}, "grouped"),
        ({"plain": 1.0, "grouped": 0.99}, {"plain", "grouped"}, "plain"),
        ({"plain": 1.0, "grouped": 0.5}, {"plain"}, "plain"),
        ({"plain": 1.0, "grouped": 0.5}, {"plain", "grouped", "lengths"}, "lengths"),
    ],
)
def test_attention_is_chosen_by_what_is_right_and_clearly_faster(
    monkeypatch: pytest.MonkeyPatch, times_s: dict[str, float], possible: set[str], expected: str
) -> None:
    runner: Any = SimpleNamespace(used=[], use_attention=lambda name, always=False: runner.used.append(name))
    monkeypatch.setattr(attention_choice, "_time", lambda runner: times_s[runner.used[-1]])
    choose_attention(runner, lambda: runner.used[-1] in possible)
    assert expected == runner.used[-1]


def test_a_warm_up_ends_with_its_time(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    shapes = [Shape(rows, 0, 63) for rows in (1, 2)]
    done: list[Shape] = []
    run_warm_up(shapes, done.append, lambda: 0, limit_s=0)
    assert done == []
    run_warm_up(shapes, done.append, lambda: 2, limit_s=60)
    assert shapes == done
    assert [record.message.partition(" in ")[0] for record in caplog.records] == [
        "warm-up stops after 0.0 s, with 0 of 2 shapes",
        "warm-up: 2 shapes",
    ]


class TestFusedNorms:
    def test_a_model_with_fused_norms_computes_the_same(self, model: Any) -> None:
        tokens = torch.tensor([PROMPT])
        for parameter in model.parameters():
            if parameter.ndim == 1:
                parameter.copy_(torch.linspace(0.5, 1.5, len(parameter)))
        expected = model(input_ids=tokens).logits
        assert 2 * 4 + 1 == fuse_norms(model)  # two in each layer, two for its queries and keys, and the last
        assert torch.allclose(expected, model(input_ids=tokens).logits, atol=1e-4)

    def test_a_layer_that_computes_something_else_is_left_alone(self) -> None:
        class OffsetRMSNorm(torch.nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.weight = torch.nn.Parameter(torch.zeros(8))
                self.eps = 1e-6

            def forward(self, hidden: torch.Tensor) -> torch.Tensor:
                return torch.nn.functional.rms_norm(hidden, (8,), 1 + self.weight, self.eps)

        assert fuse_norms(torch.nn.Sequential(OffsetRMSNorm())) == 0
