"""A padded file has the size that was asked for, and is read at once to the same content."""

from __future__ import annotations

import io
import wave

import pytest

from conformance.plan.media import read_media
from conformance.run.media.media_host import begin_padding


def pad(data: bytes, size: int) -> bytes:
    begun = begin_padding(data, size)
    return begun + bytes(size - len(begun))


@pytest.mark.parametrize("name", ["red.jpg", "red.mp4", "low.wav", "low.flac"])
@pytest.mark.parametrize("more", [0, 1, 7, 8, 9, 1000])
def test_a_padded_file_has_its_size_and_begins_with_its_content(name: str, more: int) -> None:
    data = read_media(name)
    padded = pad(data, len(data) + more)
    assert len(data) + more == len(padded)
    assert data[8:] == padded[8 : len(data)]


def test_the_zeros_behind_a_sound_are_one_chunk_of_it() -> None:
    data = read_media("low.wav")
    padded = pad(data, len(data) + 1000)
    assert len(padded) - 8 == int.from_bytes(padded[4:8], "little")
    assert b"JUNK" + (1000 - 8).to_bytes(4, "little") == padded[len(data) : len(data) + 8]
    frames = []
    for content in (data, padded):
        with wave.open(io.BytesIO(content)) as sound:
            frames.append(sound.readframes(sound.getnframes()))
    assert frames[0] == frames[1]
