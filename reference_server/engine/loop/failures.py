"""What a request is told when something goes wrong for it alone."""

from __future__ import annotations

import logging

from reference_server.engine.device import torch
from reference_server.engine.protocol import EngineError, Unavailable

_log = logging.getLogger(__name__)


def to_engine_error(error: Exception) -> EngineError:
    """What a request is told: whatever a tokenizer or a grammar raises for one must not be everybody's end."""
    if isinstance(error, EngineError):
        return error
    _log.error("an answer cannot go on", exc_info=error)
    failure = EngineError(f"the answer cannot go on: {type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure


def unusable_logits_error() -> EngineError:
    """The failure of an answer whose logits are no numbers."""
    return EngineError("the model computed no usable logits for this answer")


def out_of_memory_error(error: Exception) -> Unavailable:
    """The failure of a prompt for which the device has no memory left."""
    _log.error("no memory for a prompt", exc_info=error)
    failure = Unavailable("the device has no memory left for this prompt")
    failure.__cause__ = error
    return failure


def is_out_of_memory(error: Exception) -> bool:
    """Whether a device, or the machine, had no memory left: accelerators have a class for it, the CPU words."""
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or "can't allocate memory" in str(error)


def release_memory() -> None:
    """Give back what the accelerator's allocator keeps for later."""
    if torch.accelerator.is_available():
        torch.accelerator.memory.empty_cache()
