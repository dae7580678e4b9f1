"""Tests of `chatproof serve`: its messages, its shutdown and its checks of the options."""

from __future__ import annotations

import gc
import os
import signal
import socket
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import httpx
import pytest
from click.testing import CliRunner

from openapi.contract.contract import load
from reference_server.engine import LocalEngine
from reference_server.faults import fault_host as hosting
from reference_server.http.server import SWITCH_INTERVAL_S, EngineStoppedError, Server, ServingError
from reference_server.serve_command import command
from reference_server.serving import serve
from reference_server.settings import Settings
from reference_server.tests.scripted_engine import ScriptedEngine, running

if TYPE_CHECKING:
    from click import Command

REQUEST = {"model": "tiny", "messages": [{"role": "user", "content": "Hello"}], "stream": True}
START_S = 120


@pytest.mark.parametrize(
    ("arguments", "phrases"),
    [
        (["--dialect", "nonsense"], ["nonsense", "ovms", "siliconstorm"]),
        (["--dialect", "siliconstorm"], ["siliconstorm", "--api-key-env"]),
        (["--dialect", "siliconstorm", "--api-key-env", "CHATPROOF_NO_SUCH_KEY"], ["CHATPROOF_NO_SUCH_KEY"]),
        (["--dialect", "ovms", "--full-text"], ["ovms", "--full-text"]),
        (["--dialect", "mindie", "--without", "logprob"], ["mindie-2.3", "beam_search", "Did you mean 'logprobs'?"]),
        (
            ["--dialect", "mindie", "--allow-origin", "https://pages.example/"],
            ["'https://pages.example/'", "HOST:PORT"],
        ),
        (["--dialect", "mindie", "--host", "host.invalid"], ["host.invalid", "--host"]),
        (["--dialect", "mindie", "--device", "nonsense"], ["nonsense", "cpu"]),
        (["--dialect", "mindie", "--port", "0", "--checkpoint", "no-such-folder"], ["no-such-folder", "config.json"]),
        (["--dialect", "mindie", "--port", "0", "--dtype", "float4"], ["float4", "bfloat16"]),
        (["--dialect", "mindie", "--port", "0", "--max-model-len", "999999999"], ["999999999"]),
        (["--dialect", "mindie", "--upstream-kind", "vllm"], ["--upstream-kind requires --upstream"]),
        (["--dialect", "mindie", "--upstream-timeout", "first=1"], ["--upstream-timeout requires --upstream"]),
        (["--dialect", "mindie", "--upstream-context", "512"], ["--upstream-context requires --upstream"]),
        (
            ["--dialect", "mindie", "--upstream", "http://127.0.0.1:1", "--checkpoint", "x"],
            ["--checkpoint", "loads no model"],
        ),
        (
            ["--dialect", "mindie", "--upstream", "http://127.0.0.1:1", "--no-prefix-reuse"],
            ["--prefix-reuse", "loads no model"],
        ),
    ],
)
def test_a_server_that_cannot_start_reports_it_in_one_line(arguments: list[str], phrases: list[str]) -> None:
    result = CliRunner().invoke(command, arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    for phrase in phrases:
        assert phrase in result.stderr


def test_an_occupied_port_is_reported_in_one_line() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        result = CliRunner().invoke(command, ["--dialect", "mindie", "--port", port])
    assert result.exit_code == 2
    assert port in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("key", ["ключ", "two\nlines", ""])
def test_a_key_that_cannot_be_sent_in_a_header_is_refused(key: str) -> None:
    with pytest.raises(ServingError):
        serve(load("mindie"), ScriptedEngine(), Settings(model="tiny", api_key=key))


def test_the_server_answers_at_its_announced_address() -> None:
    with running(load("mindie"), ScriptedEngine(), Settings(model="tiny")) as server:
        assert httpx.get(f"{server.address}/health").json() == {"status": "ok"}


def test_the_server_stops_when_its_engine_stops() -> None:
    engine = ScriptedEngine()
    with pytest.raises(EngineStoppedError):
        serve(load("mindie"), engine, Settings(model="tiny"), announce=lambda _: engine.close())


def test_the_command_serves_the_embedded_model_and_exits_with_0_after_sigterm() -> None:
    environment = {**os.environ, "CHATPROOF_TEST_KEY": "key-1", "HF_HUB_OFFLINE": "1", "OMP_NUM_THREADS": "1"}
    arguments = ["--dialect", "siliconstorm", "--port", "0", "--model", "tiny", "--device", "cpu"]
    with subprocess.Popen(
        [sys.executable, "-m", "reference_server", *arguments, "--api-key-env", "CHATPROOF_TEST_KEY"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        watchdog = threading.Timer(START_S, process.kill)
        watchdog.start()
        try:
            assert process.stdout is not None
            line = process.stdout.readline().strip()
            assert line.startswith("chatproof serving siliconstorm (model tiny, cpu) at http://127.0.0.1:")
            address = line.rpartition(" ")[2]
            headers = {"Authorization": "Bearer key-1"}
            answer = httpx.post(
                f"{address}/v1/chat/completions", json={**REQUEST, "stream": False}, headers=headers, timeout=START_S
            )
            process.send_signal(signal.SIGTERM)
            output, errors = process.communicate(timeout=START_S)
        finally:
            watchdog.cancel()
    assert answer.status_code == 200
    assert (process.returncode, output, errors) == (0, "", "")


@pytest.mark.parametrize("served", [command, hosting.command], ids=["serve", "faults serve"])
def test_both_serving_commands_shorten_the_switch_interval_of_python(
    served: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    intervals: list[float] = []
    monkeypatch.setattr(LocalEngine, "load", lambda *_, **__: ScriptedEngine())
    monkeypatch.setattr(Server, "run_on", lambda *_: intervals.append(sys.getswitchinterval()))
    before = sys.getswitchinterval()
    try:
        options = ["--dialect", "mindie"] if served is command else []
        result = CliRunner().invoke(served, [*options, "--port", "0"], catch_exceptions=False)
    finally:
        sys.setswitchinterval(before)
        gc.unfreeze()
    assert result.exit_code == 0
    assert intervals == pytest.approx([SWITCH_INTERVAL_S])


def test_the_help_lists_every_option() -> None:
    result = CliRunner().invoke(command, ["--help"])
    assert result.exit_code == 0
    for option in command.params:
        assert option.opts[0] in result.stdout
