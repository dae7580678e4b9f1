"""The creation of a runner whose logits were compared with those of the model's own forward pass."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any, Final

from reference_server.engine.device import torch
from reference_server.engine.model.accelerator.attention_choice import choose_attention
from reference_server.engine.model.accelerator.device_runner import DeviceRunner
from reference_server.engine.model.accelerator.fused_norms import fuse_norms
from reference_server.engine.model.attention.masks import AttentionMasks
from reference_server.engine.model.matrices.packed_linear import PackedLinear
from reference_server.engine.model.own_cache_runner import OwnCacheRunner
from reference_server.engine.model.runner import Runner
from reference_server.engine.protocol import CheckpointError

if TYPE_CHECKING:
    from collections.abc import Sequence as Seq

    from reference_server.engine.model.model_runner import ModelRunner
    from reference_server.engine.multimodal.model_inputs import InputTable

UNSUPPORTED = "has an architecture that is not supported"
MAX_DISAGREEMENT = {torch.float32: 1e-3, torch.float16: 1e-2}  # relative; 0.05 for other dtypes
LONGER: Final = 12
"""Tokens of the sequence that shows whether a model continues its own."""
_log = logging.getLogger(__name__)


def create_verified_runner(
    model: Any,
    *,
    slots: int,
    max_model_len: int,
    exact: bool = False,
    traced: bool = True,
    inputs: InputTable | None = None,
) -> ModelRunner:
    """Return a runner whose logits agree with those of the model's own forward pass.

    It is one over the slot cache if that holds what the model stores, otherwise the slower one over the model's own.

    exact: see Runner; a model that is small enough for packed copies of its matrices is always exact. Any other gives
        up its own matrices for packed ones unless it has to be exact.
    traced: whether passes are replaced by graphs where possible, which takes the time of some passes.
    inputs: what a processor makes of media. Where such a model places and masks them is only known to its own methods,
        so its own cache is used.

    Raises CheckpointError if the cache does not fit the memory, or the model does not continue its own sequences; its
    message continues the name of the checkpoint.
    """
    with torch.inference_mode():
        if inputs is not None:
            if not _continues_sequences(model, max_model_len):
                raise CheckpointError(f"{UNSUPPORTED} (it does not continue its own sequences): use another")
            return OwnCacheRunner(model, slots=slots, max_model_len=max_model_len, inputs=inputs)
        try:
            return _create_slot_runner(model, slots, max_model_len, exact=exact, traced=traced)
        except CacheTooLarge:
            raise
        except CheckpointError as refusal:
            if model.config.is_encoder_decoder or not _continues_sequences(model, max_model_len):
                raise
            _log.info("the model's own cache is used: it %s", refusal)
            return OwnCacheRunner(model, slots=slots, max_model_len=max_model_len)


class CacheTooLarge(CheckpointError):
    """The slot cache does not fit into memory."""


def _create_slot_runner(model: Any, slots: int, max_model_len: int, *, exact: bool, traced: bool) -> Runner:
    """Return a runner over the slot cache; raise CheckpointError if its logits are not those of the model."""
    try:
        window = AttentionMasks.from_model(model, max_model_len).window
        tokens = _choose_test_tokens(model, min(6 + (window or 0), max_model_len))
        expected = _compute_own_logits(model, tokens)
        limit = _find_limit(model)
    except CheckpointError:
        raise
    except Exception as error:  # an unusual model can raise any exception
        raise _unsupported(error) from error
    try:
        linear = PackedLinear.from_model(model)
        exact = exact or linear is not None
        if not exact:
            linear = PackedLinear.replacing(model)
        sizes = {"slots": slots, "max_model_len": max_model_len}
        if model.device.type == "cpu":
            runner = Runner(model, **sizes, linear=linear, exact=exact)
        else:
            fuse_norms(model)
            runner = DeviceRunner(model, **sizes)
    except RuntimeError as error:
        reason = (str(error) or type(error).__name__).splitlines()[0]
        size = f"a cache of {slots} slots of {max_model_len} positions"
        raise CacheTooLarge(f"does not fit into memory with {size} ({reason}): lower one of them") from error
    except CheckpointError:
        raise
    except Exception as error:
        raise _unsupported(error) from error
    try:
        runner.ragged = runner.ragged and _is_ragged_exact(runner, tokens, expected, limit)
        if isinstance(runner, DeviceRunner):
            choose_attention(runner, lambda: _measure_disagreement(runner, tokens, expected) <= limit)
        elif traced:
            runner.trace()
        difference = _measure_disagreement(runner, tokens, expected)
    except Exception as error:
        raise _unsupported(error) from error
    if not difference <= limit:
        detail = f"logits off by {difference:.2g} over the slot cache"
        raise CheckpointError(f"{UNSUPPORTED} ({detail}): use another")
    return runner


def _continues_sequences(model: Any, max_model_len: int) -> bool:
    """Return whether the model continues a sequence over its own cache as if it computed the whole of it."""
    try:
        tokens = _choose_test_tokens(model, min(LONGER, max_model_len))
        difference = _measure_disagreement(
            OwnCacheRunner(model, slots=1, max_model_len=max_model_len), tokens, _compute_own_logits(model, tokens)
        )
    except Exception as error:  # an unusual model can raise any exception
        _log.info("the model's own cache cannot be used: %s", error)
        return False
    return difference <= _find_limit(model)


def _find_limit(model: Any) -> float:
    return MAX_DISAGREEMENT.get(model.dtype, 0.05)


def _unsupported(error: Exception) -> CheckpointError:
    if isinstance(error, torch.OutOfMemoryError):
        return CacheTooLarge("leaves the device no memory for its passes: give the cache less")
    reason = (str(error).strip() or type(error).__name__).splitlines()[0]
    return CheckpointError(f"{UNSUPPORTED} ({reason}): use another")


def _choose_test_tokens(model: Any, length: int) -> list[int]:
    """Return a prompt, which should be longer than the window of sliding layers."""
    return [token % model.get_output_embeddings().weight.shape[0] for token in range(1, 1 + length)]


def _compute_own_logits(model: Any, tokens: Seq[int]) -> torch.Tensor:
    """Return the logits of a model's own forward pass after the last two tokens, float32 on the CPU."""
    own: torch.Tensor = model(input_ids=torch.tensor([tokens], device=model.device), use_cache=False).logits[0, -2:]
    return own.to("cpu", torch.float32)


def _is_ragged_exact(runner: Runner, tokens: Seq[int], expected: torch.Tensor, limit: float) -> bool:
    """Return whether ragged passes give the expected logits.

    The passes are a prompt in two pieces, the second together with another prompt, and a step of both. The logits
    differ if a layer modifies attention by anything but a scale, or computes it in another way.
    """
    last = len(tokens) - 1
    both = [0, 1]
    try:
        runner.prefill([tokens[:2]], [0])
        first = runner.prefill([tokens[2:last], tokens[:last]], both, [2, 0])
        second = runner.decode([tokens[last]] * 2, [last] * 2, both)
    except Exception as error:  # an unusual model can raise any exception
        _log.info("passes are padded: %s", error)
        return False
    differences = [float((row - expected[at]).abs().max()) for at, rows in enumerate((first, second)) for row in rows]
    return max(differences) <= limit * float(expected.abs().max())


def _measure_disagreement(runner: ModelRunner, tokens: Seq[int], expected: torch.Tensor) -> float:
    """Return the largest difference of a logit from those expected after the last two tokens, relative to the largest.

    The tokens are processed in slot 0.
    """
    last = len(tokens) - 1
    first = runner.prefill([tokens[:last]], [0]).to("cpu", copy=True)  # the next pass may overwrite it
    actual = torch.cat([first, runner.decode(tokens[last:], [last], [0]).to("cpu")])
    return float((actual - expected).abs().max() / expected.abs().max())
