"""Draws beeps as samples, and shows samples as a spectrogram picture for the image encoder."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from reference_server.tiny.vision.pictures import SIDE

if TYPE_CHECKING:
    from random import Random

    from numpy.typing import NDArray

RATE_HZ: Final = 8000
SECONDS: Final = 2.0
WINDOW: Final = 256
PITCHES: Final = {"low": (180.0, 350.0), "medium": (600.0, 1000.0), "high": (1700.0, 3000.0)}
MAX_BEEPS: Final = 4
DYNAMIC_RANGE_DB: Final = 50.0


@dataclass(frozen=True, slots=True)
class Sound:
    """Beeps of one pitch. samples: float32 at RATE_HZ."""

    samples: NDArray[np.float32]
    pitch: str
    beeps: int


def beeps(rng: Random) -> Sound:
    """Draw one to four beeps within two seconds."""
    pitch, count = rng.choice(list(PITCHES)), rng.randint(1, MAX_BEEPS)
    frequency = rng.uniform(*PITCHES[pitch])
    total = int(RATE_HZ * SECONDS)
    samples = np.zeros(total, np.float32)
    slot = total // count
    length = int(slot * rng.uniform(0.35, 0.6))
    wave = np.sin(2 * np.pi * frequency * np.arange(length) / RATE_HZ)
    fade = min(80, length // 4)
    wave[:fade] *= np.linspace(0, 1, fade)
    wave[-fade:] *= np.linspace(1, 0, fade)
    for at in range(count):
        begin = at * slot + rng.randint(0, slot - length)
        begin = max(begin, at * slot + slot // 10)
        end = min(begin + length, (at + 1) * slot - slot // 10)
        samples[begin:end] = wave[: end - begin]
    noise = np.random.default_rng(rng.getrandbits(32)).normal(0, rng.choice((0, 0.001, 0.004)), total)
    return Sound((samples * rng.uniform(0.2, 0.9) + noise).astype(np.float32), pitch, count)


def spectrogram(samples: NDArray[np.float32], rate_hz: int) -> NDArray[np.uint8]:
    """Return uint8 [SIDE, SIDE, 3]: time from left to right, 0 to 4 kHz from bottom to top, decibels as brightness.

    Samples at other rates are interpolated to RATE_HZ. Sounds shorter than two seconds are padded with silence; longer
    ones fill the same width.
    """
    if rate_hz != RATE_HZ and len(samples):
        at = np.arange(0, len(samples), rate_hz / RATE_HZ)
        samples = np.interp(at, np.arange(len(samples)), samples).astype(np.float32)
    shortest = int(RATE_HZ * SECONDS)
    if len(samples) < shortest:
        samples = np.pad(samples, (0, shortest - len(samples)))
    starts = np.linspace(0, len(samples) - WINDOW, 4 * SIDE).astype(int)
    frames = samples[starts[:, None] + np.arange(WINDOW)] * np.hanning(WINDOW).astype(np.float32)
    power = np.abs(np.fft.rfft(frames, axis=1))[:, : 2 * SIDE] ** 2
    power = power.reshape(SIDE, 4, SIDE, 2).mean((1, 3)).T[::-1]
    decibels = 10 * np.log10(power + 1e-9)
    scaled = 1 + (decibels - max(float(decibels.max()), 0.0)) / DYNAMIC_RANGE_DB
    return np.repeat((255 * scaled.clip(0, 1)).astype(np.uint8)[:, :, None], 3, 2)
