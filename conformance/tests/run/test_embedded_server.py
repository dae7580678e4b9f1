"""The embedded server runs as a child process, is used through its URL, and is stopped in any case."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from conformance.errors import HarnessError, UsageError
from conformance.plan.scenarios.written.reading import read_scenarios
from conformance.run import embedded_server as embedded
from openapi.contract.contract import load

if TYPE_CHECKING:
    from collections.abc import Callable

ANNOUNCES = "import time; print('listening at http://127.0.0.1:4711', flush=True); time.sleep(600)"
LISTENS = "http://127.0.0.1:4711"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[Any]]:
    """Return a function that replaces the server by another program and returns the list of started processes."""
    processes: list[Any] = []
    popen = subprocess.Popen

    def install(program: str) -> list[Any]:
        def start(command: list[str], **settings: Any) -> Any:
            process = popen([sys.executable, "-c", program, *command[1:]], **settings)
            process.chatproof = (command, settings["env"])  # type: ignore[attr-defined]
            processes.append(process)
            return process

        monkeypatch.setattr(subprocess, "Popen", start)
        return processes

    return install


def test_the_address_is_the_one_that_the_server_prints(started: Callable[[str], list[Any]]) -> None:
    processes = started("print('loading'); print('warning: x', flush=True);" + ANNOUNCES)
    with embedded.serve(load("mindie-2.3")) as server:
        assert (server.url, server.key) == (LISTENS, "")
        assert processes[0].poll() is None
    assert processes[0].poll() is not None


def test_the_server_allows_the_origin_that_the_suite_sends() -> None:
    cors = next(scenario for scenario in read_scenarios(load("mindie-2.3")) if scenario.id == "cors")
    assert {embedded.ORIGIN} == {
        value for step in cors.steps for name, value in step.headers.items() if name == "Origin"
    }


def test_a_server_with_auth_gets_a_new_key_each_time(started: Callable[[str], list[Any]]) -> None:
    processes = started(ANNOUNCES)
    keys = []
    for _ in range(2):
        with embedded.serve(load("siliconstorm")) as server:
            keys.append(server.key)
    assert len(set(keys)) == 2
    for key, process in zip(keys, processes, strict=True):
        command, environment = process.chatproof
        assert key not in " ".join(command)  # other users can read the arguments of a process
        assert environment[embedded.KEY_VARIABLE] == key
        assert "--api-key-env" in command


def test_the_server_is_stopped_after_an_exception(started: Callable[[str], list[Any]]) -> None:
    processes = started(ANNOUNCES)
    with pytest.raises(ValueError, match="a test"), embedded.serve(load("mindie-2.3")):
        raise ValueError("a test")
    assert processes[0].poll() is not None


def test_a_server_that_ignores_sigterm_is_killed(
    started: Callable[[str], list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "STOP_S", 0.1)
    processes = started("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + ANNOUNCES)
    with embedded.serve(load("mindie-2.3")):
        pass
    assert processes[0].poll() is not None


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("raise SystemExit('no checkpoint there')", "no checkpoint there"),
        ("import sys; sys.exit(7)", "it ended with exit code 7"),
        ("print('nothing of use')", "it ended with exit code 0"),
        ("1/0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_server_that_does_not_start_is_reported_in_one_line(
    started: Callable[[str], list[Any]], program: str, reason: str
) -> None:
    processes = started(program)
    with (
        pytest.raises(HarnessError, match="the embedded server did not start") as caught,
        embedded.serve(load("mindie-2.3")),
    ):
        pass
    assert str(caught.value) == f"the embedded server did not start: {reason}"
    assert processes[0].poll() is not None


def test_a_server_that_hangs_at_startup_is_killed(
    started: Callable[[str], list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "START_S", 0.2)
    processes = started("import time; time.sleep(600)")
    with pytest.raises(HarnessError, match="did not start"), embedded.serve(load("mindie-2.3")):
        pass
    assert processes[0].poll() is not None


def test_missing_packages_are_reported_with_the_command_to_install_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "NEEDED", ("torch", "no_such_module", "nor_this"))
    with (
        pytest.raises(UsageError, match=r"needs no_such_module, nor_this: install chatproof with its extra \[server\]"),
        embedded.serve(load("mindie-2.3")),
    ):
        pass


def test_the_real_server_listens_on_the_loopback_interface(honest: str) -> None:
    assert honest.startswith("http://127.0.0.1:")
    with httpx.Client(trust_env=False) as client:
        assert client.get(f"{honest}/health").status_code == 200
        models = client.get(f"{honest}/v1/models").json()
    assert [model["id"] for model in models["data"]] == ["mindie"]


PARENT = """
import time
from conformance.run import embedded_server as embedded
from openapi.contract.contract import load
with embedded.serve(load("mindie-2.3")) as server:
    print(server.url, flush=True)
    time.sleep(600)
"""


def ended(client: httpx.Client, url: str) -> bool:
    """Return whether the server stops answering within half a minute."""
    for _ in range(300):
        try:
            client.get(url, headers={"Connection": "close"})
        except httpx.TransportError:
            return True
        time.sleep(0.1)
    return False


def test_the_server_ends_with_its_parent_even_if_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, text=True) as parent:
        assert parent.stdout is not None
        url = parent.stdout.readline().strip()
        with httpx.Client(trust_env=False) as client:
            assert client.get(f"{url}/health").status_code == 200
            parent.kill()
            parent.wait()
            assert ended(client, f"{url}/health")


def test_our_own_environment_is_not_changed(started: Callable[[str], list[Any]]) -> None:
    before = dict(os.environ)
    started(ANNOUNCES)
    with embedded.serve(load("siliconstorm")):
        assert before == dict(os.environ)
