"""The kinds of media that a model and its processor really take, found out by one small prompt for each."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from reference_server.engine.device import torch
from reference_server.engine.media import MEDIA_KINDS, Media

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference_server.engine.media import MediaKind, MediaNeeds

    Encode = Callable[[list[dict[str, Any]]], list[int]]
    FirstPass = Callable[[list[int]], torch.Tensor]

SIDE: Final = 64
FRAMES: Final = 4


class ProbedKinds(NamedTuple):
    """kinds: those that were taken. refused: why the others were not, if the processor has a part for them."""

    kinds: frozenset[MediaKind]
    refused: dict[MediaKind, str]


def probe_kinds(needs: MediaNeeds, encode: Encode, first_pass: FirstPass) -> ProbedKinds:
    """Return the kinds of media with which a first pass succeeds.

    encode: returns the prompt for messages.
    first_pass: returns the logits after a prompt.
    """
    refused: dict[MediaKind, str] = {}
    for kind in MEDIA_KINDS:
        if kind in needs.kinds:
            part = {"type": kind, "media": _create_example(kind, needs)}
            try:
                prompt = encode([{"role": "user", "content": [part, {"type": "text", "text": "a"}]}])
                if not bool(torch.isfinite(first_pass(prompt)).all()):
                    refused[kind] = "the logits are not finite"
            except Exception as error:  # a template, a processor and a model can raise any exception
                refused[kind] = (str(error).strip() or type(error).__name__).splitlines()[0]
    return ProbedKinds(needs.kinds - refused.keys(), refused)


def _create_example(kind: MediaKind, needs: MediaNeeds) -> Media:
    """Return a small medium: grey pictures, or a second of silence."""
    pictures = {"image": 1, "video": FRAMES, "audio": 0}[kind]
    frames = np.full((pictures, SIDE, SIDE, 3), 127, np.uint8)
    samples = np.zeros(needs.rate_hz if kind == "audio" else 0, np.float32)
    return Media(kind, frames, samples, needs.rate_hz, hashlib.sha256(kind.encode()).digest())
