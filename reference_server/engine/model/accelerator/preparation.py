"""What happens on an accelerator between loading and the first request."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from reference_server.engine.device import torch
from reference_server.engine.model.accelerator.device_runner import DeviceRunner
from reference_server.engine.params import SamplingParams
from reference_server.engine.sampling.sampler import Sampler, mark_unusable_rows
from reference_server.engine.sampling.scores import list_scores, narrow, score_tokens
from reference_server.engine.transfers import fetch

if TYPE_CHECKING:
    from reference_server.engine.model.model_runner import ModelRunner

PARAMS: Final = (
    SamplingParams(temperature=0),
    SamplingParams(temperature=0.7),
    SamplingParams(temperature=0.9, top_p=0.8),
    SamplingParams(temperature=1.2, top_k=20, min_p=0.01),
    SamplingParams(temperature=0.8, repetition_penalty=1.3, frequency_penalty=0.4),
)
UNIFORMS: Final = (0.0, 0.31, 0.52, 0.73, 0.94)
TOLERANCE: Final = 1e-4
"""Of a log-probability: devices add in another order."""
_log = logging.getLogger(__name__)


def prepare_device(runner: ModelRunner, limit_s: float) -> None:
    """Choose where to sample, and run the passes that requests will need, for about `limit_s` seconds."""
    with torch.inference_mode():
        if isinstance(runner, DeviceRunner):
            try:
                runner.samples = samples_alike(runner.device, runner.vocabulary_size)
                reason = "it chooses other tokens than the CPU"
            except Exception as error:  # an operator that the backend lacks
                runner.samples = False
                reason = (str(error).strip() or type(error).__name__).splitlines()[0]
            if not runner.samples:
                _log.warning("the CPU chooses tokens instead of the device: %s", reason)
        runner.warm_up(limit_s)


def samples_alike(device: torch.device, vocabulary_size: int) -> bool:
    """Return whether a device chooses the tokens, and computes the scores, that the CPU does for equal logits."""
    generator = torch.Generator().manual_seed(0)
    logits = torch.randn(len(PARAMS), vocabulary_size, generator=generator) * 4
    slots = range(len(PARAMS))
    tokens = []
    for place in (torch.device("cpu"), device):
        sampler = Sampler(len(slots), vocabulary_size)
        for slot, params in zip(slots, PARAMS, strict=True):
            sampler.reset_slot(slot, params, [0, 1, 2])
        placed = logits.to(place)
        tokens.append([sampler.sample(placed, slots, UNIFORMS) for _ in range(3)])
    chosen = torch.tensor(tokens[0][0])
    tops = [5] * len(slots)
    on_device = logits.to(device)
    _, *narrowed = fetch([mark_unusable_rows(on_device)], narrow(on_device, chosen.to(device), tops))
    expected, actual = score_tokens(logits, chosen.tolist(), tops), list_scores(narrowed, tops, ())
    return tokens[0] == tokens[1] and all(
        abs(one.logprob - other.logprob) <= TOLERANCE and dict(one.top).keys() == dict(other.top).keys()
        for one, other in zip(expected, actual, strict=True)
    )
