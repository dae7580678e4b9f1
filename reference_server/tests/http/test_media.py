"""Media in requests over HTTP: the documents' examples, the dialects' envelopes, limits, and text-only servers."""

from __future__ import annotations

import json
from base64 import b64encode
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from conformance.plan.media import read_media
from openapi.contract.contract import load
from openapi.contract.page.printed_examples import load_printed_examples
from reference_server.engine.loop.local_engine import LocalEngine
from reference_server.settings import MediaSources, Settings
from reference_server.tests.app_client import body, client
from reference_server.tests.scripted_engine import PATIENCE_S, running
from reference_server.tiny.vision import VISION_CHECKPOINT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytest.importorskip("PIL", reason="decoding needs the extra `media`")
pytest.importorskip("av", reason="decoding needs the extra `media`")

KEY = "key-1"
EXAMPLES = {"mindie-2.3": "mindie-llm-2.3", "mindie-vllm-1.0": "mindie-vllm-1.0", "siliconstorm": "siliconstorm-api"}
DATA = "data:image/jpeg;base64," + b64encode(read_media("red.jpg")).decode()


@pytest.fixture(scope="module")
def vision_engine() -> Iterator[LocalEngine]:
    engine = LocalEngine.load(VISION_CHECKPOINT, device="cpu", slots=4)
    yield engine
    engine.close()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the examples of the documents find their image."""
    root = tmp_path_factory.mktemp("media")
    (root / "xxxx").mkdir()
    (root / "xxxx" / "test.png").write_bytes(read_media("red.png"))
    return root


def post(engine: LocalEngine, dialect: str, request: dict[str, Any], root: Path | None = None) -> httpx.Response:
    contract = load(dialect)
    key = KEY if contract.auth == "bearer" else None
    settings = Settings(model=request["model"], api_key=key, media=MediaSources(root))
    with running(contract, engine, settings) as server:
        headers = {"Authorization": f"Bearer {KEY}"}
        return httpx.post(server.address + contract.path, json=request, headers=headers, timeout=PATIENCE_S)


def image_request(location: str, text: str = "What is this?") -> dict[str, Any]:
    content = [{"type": "text", "text": text}, {"type": "image_url", "image_url": location}]
    return body() | {"messages": [{"role": "user", "content": content}], "max_tokens": 8}


@pytest.mark.parametrize("dialect", EXAMPLES)
def test_the_multimodal_example_of_the_document_is_answered(
    vision_engine: LocalEngine, root: Path, dialect: str
) -> None:
    examples = [
        example.body
        for example in load_printed_examples(EXAMPLES[dialect])
        if example.kind == "request" and "image_url" in json.dumps(example.body)
    ]
    assert examples
    for example in examples:
        response = post(vision_engine, dialect, example, root)
        assert (response.status_code, len(response.json()["choices"])) == (200, 1)


def test_a_refusal_names_the_part_the_reason_and_the_limit_in_the_envelope_of_the_dialect(
    vision_engine: LocalEngine,
) -> None:
    response = post(vision_engine, "mindie", image_request("/a.png"))
    assert response.status_code == 422
    assert response.json() == {
        "error": "messages[0].content[1].image_url: local paths are not allowed: the operator names a folder with"
        " --media-root",
        "error_type": "Input Validation Error",
    }


def test_data_of_media_does_not_count_as_characters_of_the_messages(vision_engine: LocalEngine) -> None:
    padded = "data:image/jpeg;base64," + b64encode(read_media("red.jpg") + bytes(4 * 2**20)).decode()
    assert post(vision_engine, "mindie", image_request(padded)).status_code == 200
    refused = post(vision_engine, "mindie", image_request(DATA, "a " * 2**21 + "."))
    assert refused.status_code == 422
    assert "characters in total, more than the 4194304 allowed" in refused.json()["error"]


def test_a_text_only_server_refuses_media_and_does_not_describe_them() -> None:
    with client("mindie") as (http, path):
        refused = http.post(path, json=image_request(DATA))
        described = http.get("/openapi.json").json()
    assert refused.status_code == 422
    assert "media" not in described["info"]["x-capabilities"]
    assert "ImagePart" not in described["components"]["schemas"]


def test_a_server_with_a_vision_model_describes_media(vision_engine: LocalEngine) -> None:
    with running(load("mindie"), vision_engine, Settings(model="tiny")) as server:
        described = httpx.get(server.address + "/openapi.json", timeout=PATIENCE_S).json()
    assert "media" in described["info"]["x-capabilities"]
    assert "media_urls" not in described["info"]["x-capabilities"]
    assert "ImagePart" in described["components"]["schemas"]


@pytest.mark.parametrize("dialect", ["openai", "vllm"])
def test_files_and_options_of_processors_are_refused_by_name(vision_engine: LocalEngine, dialect: str) -> None:
    part = {"openai": {"type": "file", "file": {"file_id": "f"}}, "vllm": None}[dialect]
    request = body() | ({"mm_processor_kwargs": {"a": 1}} if part is None else {})
    if part is not None:
        request["messages"] = [{"role": "user", "content": [part]}]
    response = post(vision_engine, dialect, request)
    assert response.status_code == 400
    assert ("type file" if part else "mm_processor_kwargs") in response.text
