"""Tests of the gateway with `transformers serve` and the embedded model."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from openapi.contract.contract import load
from openapi.stream import sse
from openapi.stream.event_order import walk
from reference_server.tests.gateway import gateway
from reference_server.tests.scripted_engine import PATIENCE_S
from reference_server.tiny import CHECKPOINT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

START_S = 180
REQUEST = {
    "model": "tiny",
    "messages": [{"role": "user", "content": "What is the capital of France?"}],
    "temperature": 0,
    "max_tokens": 40,
}
SUPPORTED = ("stop.not-in-output", "stop.cut-where-it-starts", "usage.total-is-sum", "stream.done-last")
"""Checks of the suite whose requests use only what this upstream supports; `tests/third_parties` sends all."""


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of `transformers serve`."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    script = "from transformers.cli.transformers import main; main()"
    command = [sys.executable, "-c", script, "serve", str(CHECKPOINT), "--host", "127.0.0.1", "--port", str(port)]
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    log = tmp_path_factory.mktemp("upstream") / "log"
    with (
        log.open("w") as output,
        subprocess.Popen([*command, "--device", "cpu"], env=environment, stdout=output, stderr=output) as process,
    ):
        try:
            address = f"http://127.0.0.1:{port}"
            _wait_until_healthy(f"{address}/health", process, log)
            yield address
        finally:
            process.kill()


def _wait_until_healthy(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_S
    while time.monotonic() < end and process.poll() is None:
        try:
            if httpx.get(url).status_code == 200:
                return
        except httpx.TransportError:
            time.sleep(0.1)
    raise AssertionError(f"transformers serve did not start: {log.read_text()[-2000:]}")


@pytest.fixture(scope="module")
def address(upstream: str) -> Iterator[str]:
    """The address of a gateway that serves MindIE's dialect."""
    with gateway(load("mindie"), upstream, model=str(CHECKPOINT)) as front:
        yield front.address


def post(address: str, **fields: Any) -> httpx.Response:
    return httpx.post(f"{address}/v1/chat/completions", json={**REQUEST, **fields}, timeout=PATIENCE_S)


def answered(address: str, **fields: Any) -> tuple[str, Any, Any]:
    """Return text, finish reason and number of tokens, and assert that they are equal streamed and plain."""
    plain, streamed = post(address, **fields), post(address, stream=True, **fields)
    assert (plain.status_code, streamed.status_code) == (200, 200)
    choice, usage = plain.json()["choices"][0], plain.json()["usage"]
    walked = walk([event.data for event in sse.decode([(0.0, streamed.content)]).events])
    assert walked.breaches == ()
    answer = (choice["message"]["content"], choice["finish_reason"], usage["completion_tokens"])
    stream = walked.choices[0]
    assert (stream.content, stream.finish_reason, walked.usages[0][1]["completion_tokens"]) == answer
    return answer


def test_the_answer_is_the_models(address: str) -> None:
    text, reason, tokens = answered(address)
    assert (text.strip(), reason, tokens) == ("The capital of France is Paris.", "stop", 8)


def test_a_capped_answer_has_as_many_tokens_as_allowed(address: str) -> None:
    assert answered(address, max_tokens=3)[1:] == ("length", 3)


@pytest.mark.parametrize("shown", [True, False])
def test_the_gateway_cuts_a_stop_string_that_the_upstream_includes(address: str, shown: bool) -> None:
    text, reason, tokens = answered(address, stop=["France"], include_stop_str_in_output=shown)
    assert (text.strip(), reason, tokens) == (f"The capital of {'France' if shown else ''}".strip(), "stop", 4)


def test_several_choices_are_made_by_several_requests(address: str) -> None:
    def texts(**fields: Any) -> list[str]:
        answer = post(address, temperature=1.0, seed=2**64 - 1, top_k=0, **fields).json()
        assert [choice["index"] for choice in answer["choices"]] == list(range(len(answer["choices"])))
        return [choice["message"]["content"] for choice in answer["choices"]]

    assert len(texts(n=2)) == 2


REFUSED: list[dict[str, Any]] = [
    {"presence_penalty": 1.0},
    {"frequency_penalty": 0.5},
    {"ignore_eos": True},
    {"stop_token_ids": [3]},
    {"skip_special_tokens": False},
    {"logprobs": True},
]


@pytest.mark.parametrize("sent", REFUSED, ids=[next(iter(sent)) for sent in REFUSED])
def test_parameters_that_the_upstream_ignores_are_refused_by_name_and_declared_lacking(
    address: str, sent: dict[str, Any]
) -> None:
    (name,) = sent
    refused = post(address, **sent)
    assert refused.status_code == 422
    assert name in refused.json()["error"]
    described = httpx.get(f"{address}/openapi.json").json()["components"]["schemas"]
    properties = next(schema["properties"] for schema in described.values() if name in schema.get("properties", {}))
    assert "x-lacking" in str(properties[name])


def test_supported_checks_of_the_suite_pass(address: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "chatproof", "check", address, "--dialect", "mindie"]
    selected = [word for check in SUPPORTED for word in ("--only", check)]
    done = subprocess.run([*command, *selected], cwd=tmp_path, capture_output=True, text=True, timeout=START_S)
    assert (done.returncode, done.stdout[-3000:] if done.returncode else "") == (0, "")
