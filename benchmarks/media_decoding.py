"""Measures whether receiving and decoding one large image delays the tokens of another client.

    python -m benchmarks.media_decoding [--rounds 4] [--kind PNG|JPEG]

One client streams some answers from the embedded server, one after another. Meanwhile another client posts an image of
nearly 40 MB, and gets its answer before the streams end. Each round measures the streams with the image and without it,
in a random order, so that other load on the machine affects both alike. Each round has another image, because nothing
may be reused.
"""

from __future__ import annotations

import asyncio
import io
import json
import os
import random
import time
from base64 import b64encode
from dataclasses import dataclass
from statistics import median
from typing import Final

import click
import numpy as np
from PIL import Image
from rich.console import Console
from rich.table import Table

from benchmarks.contenders import chatproof
from benchmarks.streams import BenchmarkError, BenchmarkTarget, ask, prompt
from reference_server.tiny.vision import VISION_CHECKPOINT

SIDES: Final = {"PNG": 3700, "JPEG": 5900}
"""Side of a square of noise that takes just under 40 MiB, the limit of the dialect for a file."""
MOST_BYTES: Final = 40 * 2**20
TOKENS: Final = 1500
LIMIT_MS: Final = 100.0
PAUSE_S: Final = 0.3
PART_BYTES: Final = 1 << 18


@dataclass(frozen=True, slots=True)
class Round:
    """What one series of streams measured, in ms. largest, median: gaps between tokens. other: the image's request."""

    largest_ms: float
    median_ms: float
    other_ms: float


@click.command()
@click.option("--rounds", default=4, show_default=True, type=click.IntRange(1))
@click.option("--answers", default=2, show_default=True, type=click.IntRange(1), help="Streamed answers of a series.")
@click.option("--kind", default="PNG", show_default=True, type=click.Choice(sorted(SIDES)), help="Format of the image.")
def main(rounds: int, answers: int, kind: str) -> None:
    """Run the benchmark and print the table."""
    generator = random.Random(5)
    with_image: list[Round] = []
    without: list[Round] = []
    with chatproof(VISION_CHECKPOINT, 4) as target:
        asyncio.run(_measure(target, answers, 0, _create_request(target, kind, 0)))  # starts the decoding process
        for number in range(1, rounds + 1):
            request = _create_request(target, kind, number)
            for given in generator.sample([request, None], 2):
                measured = asyncio.run(_measure(target, answers, number, given))
                (without if given is None else with_image).append(measured)
    _print(kind, len(request), with_image, without)


def _create_request(target: BenchmarkTarget, kind: str, seed: int) -> bytes:
    """Return a whole request with an image of noise, which no format compresses."""
    side = SIDES[kind]
    file = io.BytesIO()
    noise = np.random.default_rng(seed).integers(0, 256, (side, side, 3), np.uint8)
    Image.fromarray(noise).save(file, kind, **({"compress_level": 1} if kind == "PNG" else {"quality": 95}))
    data = file.getvalue()
    if not 0.9 * MOST_BYTES < len(data) <= MOST_BYTES:
        raise BenchmarkError(f"the image has {len(data)} bytes: expected nearly {MOST_BYTES}")
    location = f"data:image/{kind.lower()};base64,{b64encode(data).decode()}"
    parts = [{"type": "image_url", "image_url": location}, {"type": "text", "text": "What is this?"}]
    body = {**target.fixed, "messages": [{"role": "user", "content": parts}], "max_tokens": 2}
    sent = json.dumps(body).encode()
    head = f"POST {target.path} HTTP/1.1\r\nHost: {target.host}\r\nContent-Type: application/json\r\n"
    return f"{head}Connection: close\r\nContent-Length: {len(sent)}\r\n\r\n".encode() + sent


async def _measure(target: BenchmarkTarget, answers: int, seed: int, request: bytes | None) -> Round:
    """Return what a series of streams measured, while another client sent a request or none."""
    generator = random.Random(seed)
    questions = [prompt(generator) for _ in range(answers)]

    async def stream() -> list[float]:
        options = {"temperature": 0.8, "seed": seed}
        return [gap for question in questions for gap in (await ask(target, question, TOKENS, options)).gaps_s]

    streaming = asyncio.create_task(stream())
    await asyncio.sleep(PAUSE_S)
    began = time.perf_counter()
    if request is not None:
        await _post(target, request)
        if streaming.done():
            raise BenchmarkError("the streams ended before the image was answered: raise --answers")
    ended = time.perf_counter()
    gaps = await streaming
    return Round(max(gaps) * 1e3, median(gaps) * 1e3, (ended - began) * 1e3)


async def _post(target: BenchmarkTarget, request: bytes) -> None:
    reader, writer = await asyncio.open_connection(target.host, target.port)
    for at in range(0, len(request), PART_BYTES):
        writer.write(request[at : at + PART_BYTES])
        await writer.drain()
    answered = await reader.read()
    writer.close()
    if not answered.startswith(b"HTTP/1.1 200 "):
        raise BenchmarkError(f"the server refused the image: {answered[:300].decode(errors='replace')}")


def _print(kind: str, size: int, with_image: list[Round], without: list[Round]) -> None:
    table = Table(title=f"{kind} of nearly 40 MiB, a request of {size:,} bytes; load average {os.getloadavg()[0]:.1f}")
    for column in ("streams", "largest gap ms: worst", "median of rounds", "median gap ms", "image answered after ms"):
        table.add_column(column, justify="left" if column == "streams" else "right")
    for name, rounds in (("with the image", with_image), ("without", without)):
        largest = [measured.largest_ms for measured in rounds]
        others = f"{median(measured.other_ms for measured in rounds):.0f}" if rounds is with_image else ""
        gaps = f"{median(measured.median_ms for measured in rounds):.2f}"
        table.add_row(name, f"{max(largest):.1f}", f"{median(largest):.1f}", gaps, others)
    console = Console()
    console.print(table)
    added = [given.largest_ms - bare.largest_ms for given, bare in zip(with_image, without, strict=True)]
    reached = "met" if max(measured.largest_ms for measured in with_image) <= LIMIT_MS else "MISSED"
    console.print(f"added to the largest gap: median {median(added):.1f} ms, worst {max(added):.1f} ms")
    console.print(f"target: no gap of more than {LIMIT_MS:g} ms with the image: {reached}")


if __name__ == "__main__":
    main()
