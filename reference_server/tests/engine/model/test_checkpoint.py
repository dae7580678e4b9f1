"""Loading: a broken checkpoint or backend gives one clear error."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import orjson
import pytest

from reference_server.engine import CheckpointError
from reference_server.engine.device import select_device, torch
from reference_server.engine.loop.local_engine import LocalEngine

ROOT = Path(__file__).parents[4]


@pytest.fixture
def copy(random_checkpoint: Path, tmp_path: Path) -> Path:
    """Return a copy of the random checkpoint that a test can break."""
    return Path(shutil.copytree(random_checkpoint, tmp_path / "copy"))


def _edit(file: Path, **changes: Any) -> None:
    file.write_bytes(orjson.dumps(orjson.loads(file.read_bytes()) | changes))


def _load_error(checkpoint: Path, **options: Any) -> str:
    with pytest.raises(CheckpointError) as caught:
        LocalEngine.load(checkpoint, device="cpu", **options)
    message = str(caught.value)
    assert str(checkpoint) in message
    assert "\n" not in message
    return message


def test_a_directory_that_is_missing_or_empty(tmp_path: Path) -> None:
    assert "contains no config.json" in _load_error(tmp_path / "absent")
    assert "contains no config.json" in _load_error(tmp_path)


@pytest.mark.parametrize("name", ["config.json", "model.safetensors", "tokenizer.json"])
@pytest.mark.parametrize("content", [None, b"", b"{broken"])
def test_a_file_that_is_missing_or_broken(copy: Path, name: str, content: bytes | None) -> None:
    if content is None:
        (copy / name).unlink()
    else:
        (copy / name).write_bytes(content)
    assert _load_error(copy).endswith(("restore the directory", "expected a directory in transformers' format"))


def test_weights_that_are_missing(copy: Path) -> None:
    _edit(copy / "config.json", num_hidden_layers=3, layer_types=["full_attention"] * 3)
    assert "lacks weights (11, for example" in _load_error(copy)


def test_weights_of_another_shape(copy: Path) -> None:
    _edit(copy / "config.json", intermediate_size=96)
    assert "cannot be loaded" in _load_error(copy)


def test_positions_that_depend_on_the_batch(copy: Path) -> None:
    _edit(copy / "config.json", rope_parameters={"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0})
    assert "scales its positions (dynamic)" in _load_error(copy)


def test_a_checkpoint_without_a_chat_template(copy: Path) -> None:
    (copy / "chat_template.jinja").unlink()
    assert "has no chat template" in _load_error(copy)


@pytest.mark.parametrize("logit", [0.0, float("nan")])
def test_an_architecture_whose_logits_differ_over_both_caches(
    random_checkpoint: Path, monkeypatch: pytest.MonkeyPatch, logit: float
) -> None:
    from reference_server.engine.model.own_cache_runner import OwnCacheRunner
    from reference_server.engine.model.runner import Runner

    for kind in (Runner, OwnCacheRunner):
        monkeypatch.setattr(kind, "prefill", lambda self, prompts, slots: torch.full((1, self.vocabulary_size), logit))
    assert "over the slot cache" in _load_error(random_checkpoint)


def test_a_cache_that_does_not_fit(random_checkpoint: Path) -> None:
    assert "does not fit into memory with a cache of 1099511627776 slots of 512 positions" in _load_error(
        random_checkpoint, slots=2**40
    )


def test_end_tokens_come_from_all_configuration_files(copy: Path) -> None:
    _edit(copy / "generation_config.json", eos_token_id=[5, 6])
    _edit(copy / "config.json", eos_token_id=7)
    engine = LocalEngine.load(copy, device="cpu")
    engine.close()
    tokenizers_own = engine._checkpoint.tokenizer.token_to_id("<|im_end|>")
    assert {5, 6, 7, tokenizers_own} == engine._checkpoint.eos_token_ids


@pytest.mark.parametrize("dtype", ["auto", "float32", "bfloat16"])
def test_every_dtype_loads(random_checkpoint: Path, dtype: str) -> None:
    engine = LocalEngine.load(random_checkpoint, device="cpu", dtype=dtype)
    engine.close()
    expected = torch.bfloat16 if dtype == "bfloat16" else torch.float32
    assert expected == engine._checkpoint.model.dtype


def test_errors_name_unknown_dtypes_and_devices(random_checkpoint: Path) -> None:
    with pytest.raises(ValueError, match="unknown dtype 'int8'"):
        LocalEngine.load(random_checkpoint, device="cpu", dtype="int8")
    assert (torch.accelerator.current_accelerator() or torch.device("cpu")) == select_device("auto")
    for device, why in (("nothing", "no such device"), ("npu", "torch_npu"), ("cuda:99", "")):
        with pytest.raises(ValueError, match=f"device '{device}' cannot be used.*{why}"):
            select_device(device)


def _python(code: str, *path: Path) -> str:
    command = [sys.executable, "-W", "error", "-c", code]
    environment = {"PYTHONPATH": ":".join(map(str, (ROOT, *path))), "HF_HUB_OFFLINE": "1", "PATH": ""}
    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return result.stdout + result.stderr


def test_an_ascend_backend_without_its_drivers_leaves_the_cpu_usable(tmp_path: Path) -> None:
    """As with torch_npu if CANN is missing: it registers itself with torch, and its import fails."""
    (tmp_path / "torch_npu").mkdir()
    failing = "raise ImportError('libhccl.so: cannot open shared object file')\n"
    (tmp_path / "torch_npu" / "__init__.py").write_text(failing)
    info = tmp_path / "torch_npu-2.13.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch-npu\nVersion: 2.13.0\n")
    (info / "entry_points.txt").write_text("[torch.backends]\ntorch_npu = torch_npu:_autoload\n")
    code = (
        "from reference_server.engine.device import select_device\n"
        "print(select_device('cpu'), select_device('cpu'))\n"
        "from transformers.utils import is_torch_npu_available\n"
        "print(is_torch_npu_available())\n"
    )
    lines = _python(code, tmp_path).splitlines()
    assert lines[:2] == ["cpu cpu", "False"]
    assert [line for line in lines if "libhccl.so" in line] == lines[2:]
    assert len(lines) == 3


def test_the_interface_is_imported_without_a_tensor_library() -> None:
    code = "import sys, reference_server.engine as e; print(sorted({'torch', 'transformers'} & set(sys.modules)))"
    assert _python(code) == "[]\n"


def test_sampling_defaults_are_those_of_the_generation_configuration(copy: Path) -> None:
    (copy / "generation_config.json").write_bytes(b'{"top_p": 0.8, "top_k": 20, "do_sample": true, "max_length": 77}')
    engine = LocalEngine.load(copy, device="cpu", slots=1)
    engine.close()
    assert engine.sampling_defaults == {"top_p": 0.8, "top_k": 20}


def test_a_generation_configuration_with_unusable_numbers(copy: Path) -> None:
    (copy / "generation_config.json").write_bytes(b'{"repetition_penalty": -1.0}')
    assert "generation_config.json (invalid repetition_penalty" in _load_error(copy)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"model_type": "t5"}, "holds a model of the kind t5: expected a causal language model"),
        ({"model_type": "qwen2_5_vl"}, "holds a model of the kind qwen2_5_vl"),
        ({"quantization_config": {"quant_method": "awq"}}, "is quantized (method awq)"),
        ({"is_encoder_decoder": True}, "holds an encoder and a decoder"),
        ({"model_type": "own", "auto_map": {"AutoConfig": "own.Config"}}, "needs code of its own"),
    ],
)
def test_a_kind_that_cannot_be_served_is_named(copy: Path, changes: dict[str, Any], expected: str) -> None:
    _edit(copy / "config.json", **changes)
    assert expected in _load_error(copy)


def test_a_directory_without_a_tokenizer(copy: Path) -> None:
    (copy / "tokenizer.json").unlink()
    assert _load_error(copy).endswith("contains no tokenizer: restore the directory")
