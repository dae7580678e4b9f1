"""Send mutated images, videos and audio to the reference server: no 5xx other than 503, no restart, flat memory.

`tox -e fuzz -- media --files 1000 --seed 0`
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from collections import Counter
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import httpx

from conformance.plan.media import TYPES, read_media
from conformance.run.embedded_server import serve
from openapi.contract.contract import load
from openapi.description.media_forms import media_forms
from tests.fuzz.server_cases import ANSWER_S, is_failure, send_bodies
from tests.soak.__main__ import find_server_process

if TYPE_CHECKING:
    from collections.abc import Iterator

    from openapi.description.media_forms import MediaForm

DIALECT: Final = "vllm"
"""A dialect in which all three kinds of media may be inside a request, in any format."""
SOURCES: Final = ("red.jpg", "red.png", "red.gif", "animated.gif", "huge.png", "red.mp4", "low.wav")
BATCH: Final = 50
MOST_GROWTH_BYTES: Final = 64 * 2**20


def mutate(rng: random.Random, data: bytes, others: list[bytes]) -> bytes:
    """Return a file with changed, repeated, missing or foreign bytes."""
    mutated = bytearray(data)
    for _ in range(rng.randint(1, 8)):
        at = rng.randrange(len(mutated))
        match rng.randrange(6):
            case 0 | 1:
                mutated[at] = rng.randrange(256)
            case 2:  # a length or a size in a header
                mutated[at : at + 4] = rng.choice((b"\xff" * 4, b"\0" * 4, rng.randbytes(4)))
            case 3:
                mutated[at:at] = mutated[max(0, at - 200) : at]
            case 4:
                del mutated[at : at + rng.randint(1, 40)]
            case _:
                other = rng.choice(others)
                mutated[at : at + 50] = other[rng.randrange(len(other)) :][:50]
        mutated = mutated or bytearray(b"\0")
    if rng.random() < 0.2:
        del mutated[rng.randrange(len(mutated)) :]
    return bytes(mutated)


def draw_bodies(number: int, seed: int) -> Iterator[bytes]:
    """Yield requests, each with one mutated file."""
    rng = random.Random(seed)
    contract = load(DIALECT)
    forms: dict[str, MediaForm] = {form.kind: form for form in media_forms(contract).values() if form.embeds}
    files = {name: read_media(name) for name in SOURCES}
    for _ in range(number):
        name = rng.choice(SOURCES)
        kind, media_type = TYPES[name.rpartition(".")[2]]
        part = forms[kind].embed(mutate(rng, files[name], [*files.values()]), name.rpartition(".")[2], media_type)
        content = [part, {"type": "text", "text": "What is it?"}]
        body = {"model": contract.default_model, "messages": [{"role": "user", "content": content}], "max_tokens": 4}
        yield json.dumps(body).encode()


def memory_bytes(pid: int) -> int:
    """Return the resident memory of a process and of its children."""
    total, pids = 0, [pid]
    while pids:
        folder = Path("/proc") / str(pids.pop())
        try:
            status = (folder / "status").read_text()
            children = [path.read_text() for path in folder.glob("task/*/children")]
        except OSError:  # it has ended
            continue
        total += 1024 * int(status.partition("VmRSS:")[2].split()[0])
        pids += [int(child) for line in children for child in line.split()]
    return total


def send_files(number: int, seed: int) -> tuple[Counter[int], list[str], list[int]]:
    """Send mutated files; return how often each status came, what failed, and the memory after each batch in bytes."""
    statuses: Counter[int] = Counter()
    failures: list[str] = []
    memory: list[int] = []
    contract = load(DIALECT)
    with serve(contract) as server:
        pid, drawn = find_server_process(), draw_bodies(number, seed)
        while bodies := list(islice(drawn, BATCH)):
            answered = asyncio.run(send_bodies(server.url, contract.path, bodies, server.key))
            statuses.update(status for status, _ in answered)
            failures += [f"{status or 'no answer'} to {body!r}" for status, body in answered if is_failure(status)]
            memory.append(memory_bytes(pid))
            line = f"{statuses.total()} of {number} files, {len(failures)} failures, {memory[-1] / 2**20:.0f} MiB"
            print(line, file=sys.stderr, flush=True)
        health: Any = httpx.get(f"{server.url}/health", timeout=ANSWER_S, trust_env=False).status_code
        failures += [f"GET /health: {health}"] if health != 200 else []
    return statuses, failures, memory


def main(number: int, seed: int) -> int:
    """Print how often each status came, the failures, and the memory."""
    statuses, failures, memory = send_files(number, seed)
    for failure in failures:
        print(failure)
    grown = memory[-1] - memory[len(memory) // 4]
    counts = ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items()))
    megabytes = " to ".join(f"{size / 2**20:.0f}" for size in (memory[0], memory[len(memory) // 4], memory[-1]))
    print(f"{number} files  {counts}  {len(failures)} failures, memory {megabytes} MiB (first batch, quarter, end)")
    return 1 if failures or grown > MOST_GROWTH_BYTES else 0
