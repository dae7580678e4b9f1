"""Decoding in a child process: files of every format, and files that are broken or exhaust it."""

from __future__ import annotations

import io
import struct
import zlib
from contextlib import suppress
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest

from conformance.plan.media import read_media
from reference_server.engine.media import MediaNeeds
from reference_server.media.decoding import MediaDecoder
from reference_server.media.limits import FORMATS, MediaError, MediaLimits

if TYPE_CHECKING:
    from collections.abc import Iterator

Image = pytest.importorskip("PIL.Image", reason="decoding needs the extra `media`")
pytest.importorskip("av", reason="decoding needs the extra `media`")

NEEDS = MediaNeeds(frozenset({"image", "video", "audio"}), side=32, frames=4, rate_hz=8000)
LIMITS = MediaLimits(side=4000, pixels=4_000_000, duration_s=5.0, memory_bytes=768 * 2**20, cpu_s=3, decode_s=6.0)
RED = np.array([220, 30, 30])


@pytest.fixture(scope="module")
def decoder() -> Iterator[MediaDecoder]:
    opened = MediaDecoder(NEEDS, LIMITS)
    yield opened
    opened.close()


def picture(kind: str, size: tuple[int, int] = (64, 48), mode: str = "RGB") -> bytes:
    written = io.BytesIO()
    Image.new("RGB", size, tuple(RED)).convert(mode).save(written, kind)
    return written.getvalue()


def png_that_states(width: int, height: int, rows: bytes) -> bytes:
    """A PNG whose header states a size, with rows that were compressed already."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("kind", "mode"), [("JPEG", "RGB"), ("JPEG", "CMYK"), ("PNG", "RGB"), ("PNG", "P"), ("PNG", "RGBA")]
)
def test_an_image_becomes_one_picture_of_the_side_that_the_model_takes(
    decoder: MediaDecoder, kind: str, mode: str
) -> None:
    media = decoder.decode("image", picture(kind, mode=mode), FORMATS["image"])
    assert media.frames.shape == (1, 32, 32, 3)
    assert np.abs(media.frames.mean((0, 1, 2)) - RED).max() < 12


def test_a_video_becomes_evenly_spaced_pictures(decoder: MediaDecoder) -> None:
    media = decoder.decode("video", read_media("red.mp4"), ("MP4",))
    assert media.frames.shape == (4, 32, 32, 3)
    assert np.abs(media.frames.mean((0, 1, 2)) - RED).max() < 30


@pytest.fixture(scope="module")
def own_size_decoder() -> Iterator[MediaDecoder]:
    opened = MediaDecoder(replace(NEEDS, side=None), LIMITS)
    yield opened
    opened.close()


@pytest.mark.parametrize("mode", ["RGB", "RGBA", "P", "L"])
def test_an_image_for_a_processor_keeps_its_size_and_its_pixels(own_size_decoder: MediaDecoder, mode: str) -> None:
    drawn = np.random.default_rng(1).integers(0, 256, (30, 41, 3), np.uint8)
    file = io.BytesIO()
    original = Image.fromarray(drawn).convert(mode)
    original.save(file, "PNG")
    media = own_size_decoder.decode("image", file.getvalue(), ("PNG",))
    assert media.frames.shape == (1, 30, 41, 3)
    assert np.array_equal(np.asarray(original.convert("RGB")), media.frames[0])


@pytest.mark.parametrize(("rate", "seconds", "expected"), [(10, 1, 4), (10, 4, 4), (4, 5, 4), (2, 1, 2)])
def test_a_video_for_a_processor_keeps_its_size_and_has_at_most_the_wanted_pictures_two_a_second(
    own_size_decoder: MediaDecoder, rate: int, seconds: int, expected: int
) -> None:
    media = own_size_decoder.decode("video", video(rate, rate * seconds), ("MP4",))
    assert media.frames.shape == (expected, 48, 64, 3)
    assert media.frames_per_s == pytest.approx(expected / seconds, rel=0.05)
    brightness = media.frames.mean((1, 2, 3))
    assert list(brightness) == sorted(brightness)  # the pictures are in order, and spread over the whole
    assert brightness[-1] - brightness[0] > 100 * (expected - 1) / expected


def video(rate: int, pictures: int) -> bytes:
    """Return a video that becomes brighter from the first picture to the last."""
    av = pytest.importorskip("av")
    written = io.BytesIO()
    with av.open(written, "w", format="mp4") as container:
        stream = container.add_stream("mpeg4", rate=rate)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuv420p"
        for at in range(pictures):
            level = 30 + 200 * at // max(1, pictures - 1)
            frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), level, np.uint8), format="rgb24")
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
    return written.getvalue()


def test_audio_becomes_samples_at_the_rate_that_the_model_takes(decoder: MediaDecoder) -> None:
    media = decoder.decode("audio", read_media("low.wav"), ("WAV",))
    assert media.rate_hz == 8000
    assert abs(len(media.samples) - 8000) < 100
    assert 0.5 < np.abs(media.samples).max() <= 1.0


def test_equal_files_have_equal_digests_and_different_files_different_ones(decoder: MediaDecoder) -> None:
    first, again, other = (
        decoder.decode("image", read_media(name), ("JPG",)) for name in ("red.jpg", "red.jpg", "blue.jpg")
    )
    assert first.digest == again.digest != other.digest


@pytest.mark.parametrize("name", ["cut.jpg", "prose.jpg", "red.gif", "red.mp4", "low.wav"])
def test_other_content_than_the_listed_formats_is_refused_whatever_the_name(decoder: MediaDecoder, name: str) -> None:
    with pytest.raises(MediaError, match="not a readable file of the formats JPG, PNG"):
        decoder.decode("image", read_media(name), ("JPG", "PNG"))


@pytest.mark.parametrize(("width", "height"), [(4001, 1), (2001, 2000), (65535, 65535), (2**31 - 1, 2**31 - 1)])
def test_a_picture_with_too_many_pixels_is_refused_by_its_header(
    decoder: MediaDecoder, width: int, height: int
) -> None:
    bomb = png_that_states(width, height, zlib.compress(b"\0" * 100))
    with pytest.raises(MediaError, match=r"pixels: at most 4000 a side and 4000000 in all|not a readable file"):
        decoder.decode("image", bomb, FORMATS["image"])


def test_rows_that_decompress_to_more_than_the_picture_are_bounded(decoder: MediaDecoder) -> None:
    bomb = png_that_states(100, 100, zlib.compress(b"\0" * 300_000_000, 9))
    with suppress(MediaError):
        assert decoder.decode("image", bomb, FORMATS["image"]).frames.shape == (1, 32, 32, 3)
    assert decoder.decode("image", picture("PNG"), FORMATS["image"]).kind == "image"


def test_a_decompression_bomb_in_the_text_of_a_png_is_bounded(decoder: MediaDecoder) -> None:
    text = b"note\0\0" + zlib.compress(b"x" * 200_000_000, 9)
    chunk = struct.pack(">I", len(text)) + b"zTXt" + text + struct.pack(">I", zlib.crc32(b"zTXt" + text))
    whole = picture("PNG")
    with pytest.raises(MediaError):
        decoder.decode("image", whole[:33] + chunk + whole[33:], FORMATS["image"])


def test_a_killed_process_is_replaced(decoder: MediaDecoder) -> None:
    impatient = MediaDecoder(NEEDS, MediaLimits(decode_s=0.0))
    with pytest.raises(MediaError, match="takes more than"):
        impatient.decode("image", picture("JPEG", (3000, 1000)), FORMATS["image"])
    impatient.close()


def test_mutated_files_never_break_the_decoder(decoder: MediaDecoder) -> None:
    rng = Random(7)
    sources = [("image", read_media("red.jpg")), ("image", read_media("red.png")), ("video", read_media("red.mp4"))]
    outcomes = {"answered": 0, "refused": 0}
    for _ in range(150):
        kind, data = rng.choice(sources)
        mutated = bytearray(data)
        for _change in range(rng.randint(1, 8)):
            mutated[rng.randrange(len(mutated))] = rng.randrange(256)
        if rng.random() < 0.3:
            del mutated[rng.randrange(len(mutated)) :]
        try:
            decoder.decode(kind, bytes(mutated), FORMATS[kind])  # type: ignore[arg-type]
            outcomes["answered"] += 1
        except MediaError:
            outcomes["refused"] += 1
    assert outcomes["answered"] + outcomes["refused"] == 150
    assert min(outcomes.values()) > 0
    assert decoder.decode("image", picture("JPEG"), FORMATS["image"]).kind == "image"
