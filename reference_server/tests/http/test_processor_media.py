"""Media of a vision-language checkpoint with its own processor, over HTTP."""

from __future__ import annotations

import io
import json
from base64 import b64encode
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

import httpx
import numpy as np
import pytest

from openapi.contract.contract import load
from reference_server.engine.loop.local_engine import LocalEngine
from reference_server.settings import Settings
from reference_server.tests.engine.multimodal.tiny_checkpoints import open_reference, save_checkpoint
from reference_server.tests.scripted_engine import PATIENCE_S, running

Image = pytest.importorskip("PIL.Image", reason="decoding needs the extra `media`")
pytest.importorskip("av", reason="decoding needs the extra `media`")

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FAMILIES: Final = ("qwen2-vl", "llava")
QUESTION: Final = "What is this?"


@pytest.fixture(scope="module", params=FAMILIES)
def checkpoint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_checkpoint(tmp_path_factory.mktemp(request.param), request.param)


@pytest.fixture(scope="module")
def address(checkpoint: Path) -> Iterator[str]:
    with serving(checkpoint) as at:
        yield at


@contextmanager
def serving(checkpoint: Path) -> Iterator[str]:
    engine = LocalEngine.load(checkpoint, device="cpu", slots=4)
    try:
        with running(load("openai"), engine, Settings(model="tiny")) as server:
            yield server.address
    finally:
        engine.close()


def png(seed: int, size: tuple[int, int] = (90, 70)) -> bytes:
    squares = np.random.default_rng(seed).integers(0, 256, (3, 3, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(squares).resize(size, Image.Resampling.NEAREST).save(file, "PNG")
    return file.getvalue()


def body(*images: bytes, **more: Any) -> dict[str, Any]:
    parts: list[dict[str, Any]] = [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64," + b64encode(data).decode()}}
        for data in images
    ]
    messages = [{"role": "user", "content": [*parts, {"type": "text", "text": QUESTION}]}]
    return {"model": "tiny", "messages": messages, "temperature": 0, "max_completion_tokens": 10} | more


def ask(address: str, request: dict[str, Any]) -> dict[str, Any]:
    response = httpx.post(address + "/v1/chat/completions", json=request, timeout=PATIENCE_S)
    assert (response.status_code, response.text) == (200, response.text)
    answered: dict[str, Any] = response.json()
    return answered


def text_of(answered: dict[str, Any]) -> str:
    return str(answered["choices"][0]["message"]["content"])


def test_tokens_of_media_count_in_the_usage_as_the_processor_counts_them(address: str, checkpoint: Path) -> None:
    _, processor = open_reference(checkpoint)
    files = [png(1), png(2, (200, 150))]
    parts = [{"type": "image", "image": Image.open(io.BytesIO(data))} for data in files]
    inputs = processor.apply_chat_template(
        [{"role": "user", "content": [*parts, {"type": "text", "text": QUESTION}]}],
        add_generation_prompt=True,
        tokenize=True,
        return_dict=True,
        return_tensors="pt",
    )
    assert inputs["input_ids"].shape[1] == ask(address, body(*files))["usage"]["prompt_tokens"]


def test_a_stream_has_the_text_and_the_usage_of_the_plain_answer(address: str) -> None:
    plain = ask(address, body(png(3)))
    request = body(png(3), stream=True, stream_options={"include_usage": True})
    with httpx.stream("POST", address + "/v1/chat/completions", json=request, timeout=PATIENCE_S) as response:
        events = [line.removeprefix("data: ") for line in response.iter_lines() if line.startswith("data: {")]
    chunks = [json.loads(event) for event in events]
    streamed = "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])
    assert (text_of(plain), plain["usage"]) == (streamed, chunks[-1]["usage"])


def test_clients_at_once_get_the_answers_of_their_own_images(address: str) -> None:
    requests = [body(png(seed)) for seed in (4, 5, 6, 7)]
    alone = [text_of(ask(address, request)) for request in requests]
    with ThreadPoolExecutor(len(requests)) as clients:
        together = list(clients.map(lambda request: text_of(ask(address, request)), requests))
    assert alone == together
    assert len(set(alone)) > 1


def test_a_kind_that_the_processor_does_not_take_is_refused_by_name(address: str) -> None:
    part = {"type": "input_audio", "input_audio": {"data": b64encode(b"RIFF").decode(), "format": "wav"}}
    request = body() | {"messages": [{"role": "user", "content": [part]}]}
    response = httpx.post(address + "/v1/chat/completions", json=request, timeout=PATIENCE_S)
    assert response.status_code == 400
    assert "the model does not take audio content" in response.text


@pytest.mark.takes_turns
def test_the_description_of_a_server_without_a_processor_has_no_media(checkpoint: Path) -> None:
    described_processor = (checkpoint / "processor_config.json").read_bytes()
    (checkpoint / "processor_config.json").unlink()
    try:
        with serving(checkpoint) as address:
            described = httpx.get(address + "/openapi.json", timeout=PATIENCE_S).json()
            refused = httpx.post(address + "/v1/chat/completions", json=body(png(1)), timeout=PATIENCE_S)
            answered = ask(address, body() | {"messages": [{"role": "user", "content": "Hello."}]})
    finally:
        (checkpoint / "processor_config.json").write_bytes(described_processor)
    assert "media" not in described["info"]["x-capabilities"]
    assert refused.status_code == 400
    assert answered["usage"]["completion_tokens"] > 0
