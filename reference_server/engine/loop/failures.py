"""Errors that end a single request."""

from __future__ import annotations

import logging

from reference_server.engine.device import torch
from reference_server.engine.protocol import EngineError, Unavailable, Unsatisfiable

_log = logging.getLogger(__name__)


def to_engine_error(error: Exception) -> EngineError:
    """Return the EngineError for an error of a single answer, such as one raised by a grammar; log it."""
    if isinstance(error, EngineError):
        return error
    _log.error("an answer cannot continue", exc_info=error)
    failure = EngineError(f"the answer cannot continue: {type(error).__name__}: {error}")
    failure.__cause__ = error
    return failure


def unusable_logits_error() -> EngineError:
    """Return the error of an answer whose logits are not finite."""
    return EngineError("the model computed no usable logits for this answer")


def exhausted_error() -> EngineError:
    """Return the error of an answer whose own grammar, biases and banned words leave no token."""
    return Unsatisfiable("the output format, allowed tokens, biases and banned words leave no token to choose")


def out_of_memory_error(error: Exception) -> Unavailable:
    """Return the error of a prompt for which the device has no memory left; log it."""
    _log.error("out of memory for a prompt", exc_info=error)
    failure = Unavailable("the device has no memory left for this prompt")
    failure.__cause__ = error
    return failure


def is_out_of_memory(error: Exception) -> bool:
    """Return whether an error means out of memory: accelerators have an exception class for it, the CPU a message."""
    return isinstance(error, (torch.OutOfMemoryError, MemoryError)) or "can't allocate memory" in str(error)


def release_memory() -> None:
    """Release the memory that the accelerator's allocator has cached."""
    if torch.accelerator.is_available():
        torch.accelerator.memory.empty_cache()
