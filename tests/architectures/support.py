"""How a kind of model is served."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from reference_server.engine import CheckpointError
from reference_server.engine.model.verification import create_verified_runner
from tests.architectures.small_models import NotBuiltError, build_model

SLOTS = 2
POSITIONS = 64


@dataclass(frozen=True, slots=True)
class Support:
    """fast: over the slot cache. slow: over the model's own. refused: with a reason. not built: by transformers."""

    kind: str
    outcome: Literal["fast", "slow", "refused", "not built"]
    reason: str = ""


def find_support(kind: str) -> Support:
    """Build a small model of a kind, and look whether the engine serves it; any other exception is a defect."""
    try:
        model = build_model(kind)
    except NotBuiltError as error:
        return Support(kind, "not built", str(error))
    try:
        runner = create_verified_runner(model, slots=SLOTS, max_model_len=POSITIONS, traced=False)
    except CheckpointError as error:
        return Support(kind, "refused", str(error).removesuffix(": use another").removesuffix(" checkpoint"))
    return Support(kind, "fast" if runner.keeps_prefixes else "slow")
