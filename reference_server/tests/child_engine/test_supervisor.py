"""The supervisor of child engines: it starts, watches, restarts and stops real processes."""

from __future__ import annotations

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from reference_server.child_engine.child import is_healthy
from reference_server.child_engine.failure import EngineProgramError
from reference_server.child_engine.program import load_program
from reference_server.child_engine.replica import MOST_FAILURES, WatchTimes
from reference_server.child_engine.supervisor import Supervisor
from reference_server.tests.child_engine import small_engine

if TYPE_CHECKING:
    from collections.abc import Callable

TIMES = WatchTimes(start=60, every=0.1, hang=2, grace=5, settled=600, pause=0.05)
WAIT_S = 60.0


@pytest.fixture
def script(tmp_path: Path) -> str:
    path = tmp_path / "engine"
    path.write_text(f'#!/bin/sh\nexec {sys.executable} {small_engine.__file__} "$@"\n')
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


class Started:
    """A supervisor of the small engine, with its log."""

    def __init__(self, script: str, folder: Path, mode: str = "", replicas: int = 1, **variables: str) -> None:
        self.lines: list[str] = []
        self.starts = folder / "starts"
        self.supervisor = Supervisor(
            load_program("vllm"),
            script,
            checkpoint="/models/tiny",
            model="tiny",
            own_arguments=["--rank", "{replica}"],
            own_variables={"MODE": mode, "STARTS": str(self.starts), **variables},
            replicas=replicas,
            times=TIMES,
            log=self.lines.append,
        )

    @property
    def processes(self) -> list[int]:
        return [int(line) for line in self.starts.read_text().split()] if self.starts.exists() else []

    def answers(self, number: int = 0) -> bool:
        port = int(self.supervisor.urls[number].rpartition(":")[2])
        return is_healthy(port, "/health", self.supervisor.key, 5)


def wait_for(condition: Callable[[], bool]) -> bool:
    until_s = time.monotonic() + WAIT_S
    while time.monotonic() < until_s:
        if condition():
            return True
        time.sleep(0.05)
    return False


def is_running(process: int) -> bool:
    """Whether a process exists and has not ended; one whose parent has not waited for it has ended."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    return not status.exists() or status.read_text().rpartition(")")[2].split()[0] != "Z"


def test_all_replicas_are_ready_before_the_server_starts_and_gone_after_it(script: str, tmp_path: Path) -> None:
    started = Started(script, tmp_path, replicas=2)
    with started.supervisor.running():
        assert [True, True] == [started.answers(number) for number in (0, 1)]
    assert [False, False] == [started.answers(number) for number in (0, 1)]
    ranks = [line.partition("--rank ")[2] for line in started.lines if line.startswith("chatproof starting")]
    assert ["0", "1"] == ranks


def test_the_key_is_in_no_argument_and_in_no_line_of_the_log(script: str, tmp_path: Path) -> None:
    started = Started(script, tmp_path)
    with started.supervisor.running():
        assert wait_for(lambda: "vllm: key ***" in started.lines)
    assert not [line for line in started.lines if started.supervisor.key in line]


def test_requests_for_the_health_are_not_logged(script: str, tmp_path: Path) -> None:
    started = Started(script, tmp_path)
    with started.supervisor.running():
        time.sleep(0.5)
    assert not [line for line in started.lines if "/health" in line]


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("fails", "vllm ended with exit code 1, its last error is: ValueError: no such layer"),
        ("silent", "vllm ended with exit code 3, its last line is: key ***"),
    ],
)
def test_an_engine_that_ends_before_it_is_ready_is_one_line(
    mode: str, message: str, script: str, tmp_path: Path
) -> None:
    started = Started(script, tmp_path, mode, replicas=1)
    with pytest.raises(EngineProgramError) as caught, started.supervisor.running():
        pytest.fail("it is not ready")
    assert message == str(caught.value)
    assert 1 == len(started.processes)


def test_an_engine_that_is_killed_starts_again(script: str, tmp_path: Path) -> None:
    started = Started(script, tmp_path)
    with started.supervisor.running():
        os.kill(started.processes[0], signal.SIGKILL)
        assert wait_for(lambda: len(started.processes) == 2 and started.answers())
    assert [line for line in started.lines if line.startswith("vllm ended by SIGKILL")]


def test_an_engine_that_hangs_starts_again(script: str, tmp_path: Path) -> None:
    started = Started(script, tmp_path, "hangs-once")
    with started.supervisor.running():
        assert wait_for(lambda: len(started.processes) == 2 and started.answers())
    assert [line for line in started.lines if line.startswith("vllm did not answer /health for 2 s; it starts again")]


def test_an_engine_that_ends_again_and_again_is_given_up(script: str, tmp_path: Path) -> None:
    started, ended = Started(script, tmp_path, "ends"), threading.Event()
    with started.supervisor.running():
        started.supervisor.on_failure(ended.set)
        assert ended.wait(WAIT_S)
    assert MOST_FAILURES == len(started.processes)
    assert f"chatproof gave up: vllm {MOST_FAILURES} times in a row" in started.lines[-1]


def test_garbage_in_the_output_is_printable_and_long_lines_are_divided(script: str, tmp_path: Path) -> None:
    started = Started(script, tmp_path, "garbage")
    with started.supervisor.running():
        assert wait_for(lambda: sum(line.count("a") for line in started.lines) >= 5000)
    assert "vllm: \ufffd\ufffdred" in started.lines
    assert all(len(line) <= 2010 and line.isprintable() for line in started.lines)


@pytest.mark.parametrize(("mode", "count"), [("parent", 2), ("stubborn", 1)])
def test_nothing_is_left_of_an_engine_that_is_stopped(mode: str, count: int, script: str, tmp_path: Path) -> None:
    started = Started(script, tmp_path, mode)
    with started.supervisor.running():
        assert [True] * count == [is_running(process) for process in started.processes]
    assert wait_for(lambda: not any(map(is_running, started.processes)))


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent has ended")
def test_an_engine_ends_when_the_server_is_killed(script: str, tmp_path: Path) -> None:
    starts = tmp_path / "starts"
    code = (
        "import sys, time\n"
        "from reference_server.child_engine.program import load_program\n"
        "from reference_server.child_engine.supervisor import Supervisor\n"
        f"supervisor = Supervisor(load_program('vllm'), {script!r}, checkpoint='c', model='m')\n"
        "with supervisor.running():\n"
        "    print('ready', flush=True)\n"
        "    time.sleep(600)\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3]), "STARTS": str(starts)}
    with subprocess.Popen([sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        assert b"ready\n" == server.stdout.readline()
        process = int(starts.read_text())
        assert is_running(process)
        server.send_signal(signal.SIGKILL)
    assert wait_for(lambda: not is_running(process))
