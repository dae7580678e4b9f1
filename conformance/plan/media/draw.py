"""Draws the media files of the scenarios again: `python -m conformance.plan.media.draw`. Needs the extra `media`."""

from __future__ import annotations

import io
import math
import struct
import wave
import zlib
from pathlib import Path
from typing import Final

COLOURS: Final = {"red": (220, 30, 30), "blue": (30, 50, 220), "green": (30, 180, 60)}
ANIMATED: Final = ("red", "blue")
SIDE: Final = 64
CORNER: Final = 4
STRIP: Final = 2
EDGES: Final = {
    "": (0, 0, 0, 0),
    "-left": (0, 0, STRIP, SIDE),
    "-right": (SIDE - STRIP, 0, SIDE, SIDE),
    "-top": (0, 0, SIDE, STRIP),
    "-bottom": (0, SIDE - STRIP, SIDE, SIDE),
}
"""The ends of a strip along each edge: left, upper, right and lower one, in pixels."""
TALL: Final = (48, 144)
"""Width and height of a picture that is not square, in pixels."""
MARK: Final = (8, 24, 24, 40)
"""The ends of a mark next to its middle, which a square cut from the middle of the picture contains."""
HALF: Final = 9
"""Half a side of a square in a picture, in pixels."""
HUGE: Final = 60_000
"""A side in pixels: such a picture takes 10 GB as RGB."""
RATE_HZ: Final = 8000
PITCHES_HZ: Final = {"low": 250, "high": 2200}


def draw_image(colour: str, kind: str) -> bytes:
    """Return a picture of one colour."""
    from PIL import Image

    written = io.BytesIO()
    Image.new("RGB", (SIDE, SIDE), COLOURS[colour]).save(written, kind)
    return written.getvalue()


def draw_corner(colour: str) -> bytes:
    """Return a picture of one colour with a small grey square in each of two opposite corners."""
    from PIL import Image

    picture, written = Image.new("RGB", (SIDE, SIDE), COLOURS[colour]), io.BytesIO()
    for start in (0, SIDE - CORNER):
        picture.paste((128, 128, 128), (start, start, start + CORNER, start + CORNER))
    picture.save(written, "JPEG")
    return written.getvalue()


def draw_place(column: int, row: int) -> bytes:
    """Return a picture of a red square on white, whose middle is at this place."""
    from PIL import Image

    picture, written = Image.new("RGB", (SIDE, SIDE), (250, 250, 250)), io.BytesIO()
    picture.paste(COLOURS["red"], (column - HALF, row - HALF, column + HALF, row + HALF))
    picture.save(written, "JPEG", quality=95)
    return written.getvalue()


def draw_edge(edge: tuple[int, int, int, int]) -> bytes:
    """Return a green PNG with a grey strip, which leaves the rest exactly as it is."""
    from PIL import Image

    picture, written = Image.new("RGB", (SIDE, SIDE), COLOURS["green"]), io.BytesIO()
    picture.paste((128, 128, 128), edge)
    picture.save(written, "PNG")
    return written.getvalue()


def draw_tall(degrees: int) -> bytes:
    """Return a green PNG, three times as tall as wide, with a grey mark near an end, after a turn to the left."""
    from PIL import Image

    picture, written = Image.new("RGB", TALL, COLOURS["green"]), io.BytesIO()
    picture.paste((128, 128, 128), MARK)
    picture.rotate(degrees, expand=True).save(written, "PNG")
    return written.getvalue()


def draw_palette(colour: str) -> bytes:
    """Return a PNG whose pixels are numbers in a palette, the same ones for each colour."""
    from PIL import Image

    picture, written = Image.new("P", (SIDE, SIDE), 1), io.BytesIO()
    picture.putpalette((0, 0, 0, *COLOURS[colour]))
    picture.save(written, "PNG")
    return written.getvalue()


def draw_grey() -> bytes:
    """Return a JPG with one channel."""
    from PIL import Image

    written = io.BytesIO()
    Image.new("L", (SIDE, SIDE), 128).save(written, "JPEG")
    return written.getvalue()


def draw_tiny() -> bytes:
    """Return a PNG of one pixel."""
    from PIL import Image

    written = io.BytesIO()
    Image.new("RGB", (1, 1), COLOURS["red"]).save(written, "PNG")
    return written.getvalue()


def draw_hidden(colour: str) -> bytes:
    """Return a PNG without a visible pixel, whose transparent pixels store a colour."""
    from PIL import Image

    written = io.BytesIO()
    Image.new("RGBA", (SIDE, SIDE), (*COLOURS[colour], 0)).save(written, "PNG")
    return written.getvalue()


def draw_animation() -> bytes:
    """Return a GIF of a red and a blue picture."""
    from PIL import Image

    written = io.BytesIO()
    first, *others = (Image.new("RGB", (SIDE, SIDE), colour) for colour in map(COLOURS.get, ANIMATED))
    first.save(written, "GIF", save_all=True, append_images=others)
    return written.getvalue()


def draw_huge() -> bytes:
    """Return a PNG whose header states a side of HUGE pixels, with the data of one row."""
    header = struct.pack(">IIBBBBB", HUGE, HUGE, 1, 0, 0, 0, 0)
    row = zlib.compress(bytes(1 + HUGE // 8))
    chunks = ((b"IHDR", header), (b"IDAT", row), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)) for name, data in chunks
    )


def draw_video(colour: str, form: str = "mp4", codec: str = "mpeg4", *, later: str | None = None) -> bytes:
    """Return a video of eight pictures of one colour; MPEG-4 Part 2 is a codec that every decoder has.

    later: the colour of the second half, if it is another one.
    """
    import av

    written = io.BytesIO()
    with av.open(written, "w", format=form) as container:
        stream = container.add_stream(codec, rate=4)
        stream.width = stream.height = SIDE
        stream.pix_fmt = "yuv420p"
        for at in range(8):
            frame = av.VideoFrame(SIDE, SIDE, "rgb24")
            shown = COLOURS[later if later is not None and at >= 4 else colour]
            frame.planes[0].update(bytes(shown) * (frame.planes[0].buffer_size // 3))
            for packet in stream.encode(frame):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return written.getvalue()


def draw_sound(pitch: str, *, again: bool = False) -> bytes:
    """Return one second of silence with a tone of half a second in it, as WAV with 8 bits.

    again: whether the tone begins a second time shortly before the end.
    """
    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setparams((1, 1, RATE_HZ, 0, "NONE", ""))
        for at in range(RATE_HZ):
            loud = RATE_HZ // 4 <= at < 3 * RATE_HZ // 4 or (again and at >= 7 * RATE_HZ // 8)
            tone = math.sin(2 * math.pi * PITCHES_HZ[pitch] * at / RATE_HZ) if loud else 0.0
            file.writeframesraw(struct.pack("B", round(128 + 90 * tone)))
    return written.getvalue()


def raise_rate(data: bytes) -> bytes:
    """Return a WAV file with the same samples at three times the rate: a shorter and higher sound."""
    written = io.BytesIO()
    with wave.open(io.BytesIO(data)) as source, wave.open(written, "wb") as file:
        file.setparams(source.getparams()._replace(framerate=3 * source.getframerate()))
        file.writeframesraw(source.readframes(source.getnframes()))
    return written.getvalue()


def draw_stereo(pitch: str | None) -> bytes:
    """Return a second of sound with two channels of 16 bits, a tone in the right one, or none."""
    written = io.BytesIO()
    with wave.open(written, "wb") as file:
        file.setparams((2, 2, RATE_HZ, 0, "NONE", ""))
        for at in range(RATE_HZ):
            tone = math.sin(2 * math.pi * PITCHES_HZ[pitch] * at / RATE_HZ) if pitch is not None else 0.0
            file.writeframesraw(struct.pack("<hh", 0, round(20_000 * tone)))
    return written.getvalue()


def convert_sound(data: bytes, form: str, codec: str) -> bytes:
    """Return a WAV file in another format."""
    import av

    written = io.BytesIO()
    with av.open(io.BytesIO(data)) as source, av.open(written, "w", format=form) as container:
        stream = container.add_stream(codec, rate=RATE_HZ)
        for frame in source.decode(audio=0):
            frame.pts = None
            for packet in stream.encode(frame):
                container.mux(packet)
        for packet in stream.encode():
            container.mux(packet)
    return written.getvalue()


def main() -> None:
    """Write all files next to this module."""
    folder = Path(__file__).parent
    red, low = draw_image("red", "JPEG"), draw_sound("low")
    drawn = {
        "red.jpg": red,
        "blue.jpg": draw_image("blue", "JPEG"),
        "green.jpg": draw_image("green", "JPEG"),
        "green-corner.jpg": draw_corner("green"),
        "blue-corner.jpg": draw_corner("blue"),
        **{f"green{name}.png": draw_edge(edge) for name, edge in EDGES.items()},
        "tall.png": draw_tall(0),
        "wide-left.png": draw_tall(90),
        "wide-right.png": draw_tall(-90),
        "palette-red.png": draw_palette("red"),
        "palette-blue.png": draw_palette("blue"),
        "top-left.jpg": draw_place(11, 11),
        "bottom-right.jpg": draw_place(53, 53),
        "grey.jpg": draw_grey(),
        "hidden-red.png": draw_hidden("red"),
        "hidden-blue.png": draw_hidden("blue"),
        "red.png": draw_image("red", "PNG"),
        "red.gif": draw_image("red", "GIF"),
        "red.webp": draw_image("red", "WEBP"),
        "renamed.jpg": draw_image("red", "PNG"),
        "tiny.png": draw_tiny(),
        "animated.gif": draw_animation(),
        "huge.png": draw_huge(),
        "cut.jpg": red[: len(red) // 3],
        "prose.jpg": b"These words are not an image.",
        "empty.jpg": b"",
        "red.mp4": draw_video("red"),
        "blue.mp4": draw_video("blue"),
        "turned.mp4": draw_video("red", later="blue"),
        "red.avi": draw_video("red", "avi"),
        "red.wmv": draw_video("red", "asf", "wmv2"),
        "low.wav": low,
        "silent.wav": draw_stereo(None),
        "right.wav": draw_stereo("low"),
        "low-again.wav": draw_sound("low", again=True),
        "low-fast.wav": raise_rate(low),
        "low.mp3": convert_sound(low, "mp3", "libmp3lame"),
        "low.flac": convert_sound(low, "flac", "flac"),
        "high.wav": draw_sound("high"),
    }
    for name, data in drawn.items():
        (folder / name).write_bytes(data)


if __name__ == "__main__":
    main()
