"""The engine on an accelerator: selection, tensor placement, transfers, operators, shapes and graphs.

The simulated device counts what a step does, and a real one is used if the machine has one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from reference_server.engine.device import torch

ROOT = Path(__file__).parents[3]
SAMPLED = ("greedy", "temperature", "top_p", "penalties", "biases", "grammar")
needs_accelerator = pytest.mark.skipif(not torch.accelerator.is_available(), reason="this machine has no accelerator")


def _report(checkpoint: Path, kind: str) -> dict[str, Any]:
    """Return the report of a separate process, because the simulation changes a process permanently."""
    places = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    result = subprocess.run(
        [sys.executable, "-m", "reference_server.tests.engine.device_report", str(checkpoint), kind],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(places), "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    parsed: dict[str, Any] = json.loads(result.stdout)
    return parsed


@pytest.fixture(scope="module")
def report(random_checkpoint: Path) -> dict[str, Any]:
    return _report(random_checkpoint, "simulated")


@pytest.fixture(scope="module")
def real_report(random_checkpoint: Path) -> dict[str, Any]:
    return _report(random_checkpoint, "real")


def test_the_accelerator_is_selected_and_generates_the_tokens_of_the_cpu(report: dict[str, Any]) -> None:
    """Answers of all kinds, with chunked prompts and reused prefixes."""
    assert ([], "npu:0") == (report["different"], report["device"])
    assert report["reused"] > 0


def test_answers_about_images_are_those_of_the_cpu(report: dict[str, Any]) -> None:
    assert report["images"]["cpu"] == report["images"]["device"]


def test_the_device_chooses_the_tokens(report: dict[str, Any]) -> None:
    assert report["samples"]


@pytest.mark.parametrize("kind", SAMPLED)
def test_a_step_gets_one_small_tensor_from_the_device_and_asks_nothing_else(report: dict[str, Any], kind: str) -> None:
    step = report["warm"]["steps"][kind]
    assert (1, 0) == (step["from the device"], step["awaited"])


@pytest.mark.parametrize(("kind", "transfers"), [("greedy", 1), ("temperature", 2), ("top_p", 2), ("grammar", 3)])
def test_a_step_sends_few_tensors_to_the_device(report: dict[str, Any], kind: str, transfers: int) -> None:
    """The integers of the pass, the settings of a draw, and the bits of grammars."""
    assert transfers == report["warm"]["steps"][kind]["to the device"]


def test_scores_leave_the_device_as_a_few_numbers_for_each_row(report: dict[str, Any]) -> None:
    """Of the tokens, of the alternatives with their ids, and of additional tokens; next to the tokens themselves."""
    step = report["warm"]["steps"]["top_k and logprobs"]
    assert (5, 0) == (step["from the device"], step["awaited"])


@pytest.mark.parametrize(("kind", "operators"), [("greedy", 16), ("temperature", 30), ("top_p", 60)])
def test_a_step_is_one_graph_and_few_operators(report: dict[str, Any], kind: str, operators: int) -> None:
    step = report["warm"]["steps"][kind]
    assert step["replayed"] == 1
    assert step["launched"] <= operators


def test_a_search_gets_the_logits_of_its_beams(report: dict[str, Any]) -> None:
    assert report["warm"]["steps"]["beams"]["from the device"] == 2


def test_the_model_sees_few_shapes(report: dict[str, Any]) -> None:
    """Each shape is captured once: rows, tokens and positions double, up to all slots and the whole cache."""
    doubling = [2**power for power in range(10)]
    for rows, tokens, read in report["shapes"]:
        assert rows in (*doubling, 20)
        assert tokens == 1 or tokens // 16 in doubling
        assert read // 64 in doubling
    assert len(report["shapes"]) <= report["shapes on the CPU"]
    assert len([shape for shape in report["shapes"] if shape[1] == 1]) <= 6 * 4


def test_requests_after_the_warm_up_need_no_other_shape(report: dict[str, Any]) -> None:
    assert report["warm"]["later"] == []
    assert report["warm"]["graphs"] > 0


@needs_accelerator
def test_a_real_accelerator_generates_the_tokens_of_the_cpu_in_float32(real_report: dict[str, Any]) -> None:
    assert [] == real_report["different"]
    assert (True, True) == (real_report["samples"], real_report["reused"] > 0)


@needs_accelerator
def test_a_real_accelerator_answers_about_images_as_the_cpu_does(real_report: dict[str, Any]) -> None:
    assert real_report["images"]["cpu"] == real_report["images"]["device"]


@needs_accelerator
def test_a_real_accelerator_with_graphs_needs_no_other_shape_after_the_warm_up(real_report: dict[str, Any]) -> None:
    if not real_report["graphs"]:
        pytest.skip("the backend has no graphs")
    assert real_report["warm"]["later"] == []
