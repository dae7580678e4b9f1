"""`chatproof serve --engine`: one program from the options to the exit code."""

from __future__ import annotations

import json
import os
import signal
import stat
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx
import pytest
from click.testing import CliRunner

from reference_server.child_engine.program import load_program, program_names
from reference_server.serve_command import command
from reference_server.tests.child_engine import small_engine
from reference_server.tiny import CHECKPOINT

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
START_S = 240.0
REFERENCE = """\
import os, sys
note = open(os.environ["STARTS"], "a")
print(os.getpid(), file=note, flush=True)
value = lambda name: sys.argv[sys.argv.index(name) + 1]
options = ["--model", value("--served-model-name"), "--port", value("--port"), "--api-key-env", "VLLM_API_KEY"]
os.execv(sys.executable, [sys.executable, "-m", "reference_server", "--dialect", "vllm", *options])
"""
"""A program that is started like vLLM: our own server in its dialect."""
QUESTION = {"model": "mindie", "messages": [{"role": "user", "content": "Count from one to fifty."}], "max_tokens": 200}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--engine", "vlm"], "unknown --engine 'vlm': expected one of vllm, sglang"),
        (["--engine", "vllm"], "--engine requires --checkpoint: name the folder of the model"),
        (["--engine", "vllm", "--checkpoint", "gone"], "--checkpoint gone is not a folder: expected a model in"),
        (
            ["--engine", "vllm", "--checkpoint", ".", "--engine-program", "no-such-program"],
            "cannot find the program 'no-such-program'",
        ),
        (
            ["--engine", "vllm", "--checkpoint", ".", "--engine-program", "sh", "--engine-args", "--port=3"],
            "invalid --engine-args: --port is set by chatproof: remove it",
        ),
        (
            ["--engine", "sglang", "--checkpoint", ".", "--engine-program", "sh", "--engine-args", "--a 'b"],
            "invalid --engine-args: no closing quotation",
        ),
        (
            ["--engine", "vllm", "--checkpoint", ".", "--engine-program", "sh", "--engine-env", "A B=1"],
            "invalid --engine-env 'A B=1': expected NAME=VALUE",
        ),
        (["--engine", "vllm", "--dtype", "float32"], "--dtype is an option of our own engine: use --engine-args"),
        (["--engine-replicas", "2"], "--engine-replicas requires --engine"),
        (["--engine", "vllm", "--upstream", "http://127.0.0.1:1"], "--engine cannot be used with --upstream"),
    ],
)
def test_an_invalid_option_is_one_line(arguments: list[str], message: str) -> None:
    result = CliRunner().invoke(command, ["--dialect", "mindie", "--port", "0", *arguments])
    assert 2 == result.exit_code
    assert message in result.stderr
    assert 1 == result.stderr.count("\n")


@pytest.mark.parametrize("name", program_names())
def test_every_option_that_is_set_may_not_be_set_again(name: str) -> None:
    program = load_program(name)
    assert {argument for argument in program.arguments if argument.startswith("--")} <= program.own


@contextmanager
def serving(tmp_path: Path, script: str, *options: str, mode: str = "") -> Iterator[subprocess.Popen[str]]:
    program = tmp_path / "program"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -P {script} "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "STARTS": str(tmp_path / "starts"), "MODE": mode}
    arguments = ["--dialect", "mindie", "--port", "0", "--checkpoint", str(CHECKPOINT), "--engine", "vllm"]
    command_line = [sys.executable, "-m", "reference_server", *arguments, "--engine-program", str(program), *options]
    with (
        (tmp_path / "log").open("w") as log,
        subprocess.Popen(command_line, env=environment, stdout=subprocess.PIPE, stderr=log, text=True) as server,
    ):
        try:
            yield server
        finally:
            server.kill()


def test_an_engine_that_cannot_start_is_exit_code_2(tmp_path: Path) -> None:
    with serving(tmp_path, small_engine.__file__, mode="fails") as server:
        assert 2 == server.wait(START_S)
    last = (tmp_path / "log").read_text().splitlines()[-1]
    assert last.endswith("vllm ended with exit code 1, its last error is: ValueError: no such layer")


def test_a_replica_may_be_killed_during_a_stream_and_the_server_ends_with_0(tmp_path: Path) -> None:
    script = tmp_path / "reference.py"
    script.write_text(REFERENCE)
    with serving(tmp_path, str(script), "--engine-replicas", "2") as server:
        assert server.stdout is not None
        url = f"{server.stdout.readline().split()[-1]}/v1/chat/completions"
        processes = [int(line) for line in (tmp_path / "starts").read_text().split()]
        endless = {**QUESTION, "stream": True, "max_tokens": 3000, "ignore_eos": True}
        with httpx.stream("POST", url, json=endless, timeout=60) as stream:
            lines = stream.iter_lines()
            first = next(line for line in lines if line)
            for process in processes:  # whichever of them answers
                os.kill(process, signal.SIGKILL)
            *_, last = [line for line in lines if line]
        assert "choices" in json.loads(first.removeprefix("data:"))
        assert "error" in json.loads(last.removeprefix("data:"))
        assert 503 == httpx.post(url, json=QUESTION, timeout=60).status_code
        until_s = time.monotonic() + START_S
        while (status := httpx.post(url, json=QUESTION, timeout=60).status_code) != 200 and time.monotonic() < until_s:
            time.sleep(0.2)
        assert 200 == status
        server.terminate()
        assert 0 == server.wait(START_S)
    assert 4 == len((tmp_path / "starts").read_text().split())
