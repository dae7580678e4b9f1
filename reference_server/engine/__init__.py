"""Inference engine: token ids and text in, deltas out, without HTTP or JSON.

Importing this package imports no tensor library: `LocalEngine` is imported on first access.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from reference_server.engine.params import MAX_LOGPROBS, SamplingParams
from reference_server.engine.protocol import (
    ChatTemplateError,
    CheckpointError,
    Delta,
    Engine,
    EngineError,
    EngineLoad,
    FinishReason,
    Generation,
    Prompt,
    PromptTooLong,
    RankedLogprob,
    TokenLogprob,
    Unavailable,
    Unsatisfiable,
    UnusableGrammar,
)
from reference_server.engine.repetition import Repetition
from reference_server.engine.tool_use import CallPiece, Tool, ToolParameter, ToolUse

if TYPE_CHECKING:
    from reference_server.engine.loop.local_engine import LocalEngine

__all__ = [
    "MAX_LOGPROBS",
    "CallPiece",
    "ChatTemplateError",
    "CheckpointError",
    "Delta",
    "Engine",
    "EngineError",
    "EngineLoad",
    "FinishReason",
    "Generation",
    "LocalEngine",
    "Prompt",
    "PromptTooLong",
    "RankedLogprob",
    "Repetition",
    "SamplingParams",
    "TokenLogprob",
    "Tool",
    "ToolParameter",
    "ToolUse",
    "Unavailable",
    "Unsatisfiable",
    "UnusableGrammar",
]


def __getattr__(name: str) -> object:
    if name == "LocalEngine":
        from reference_server.engine.loop.local_engine import LocalEngine

        return LocalEngine
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
