"""The embedded server: started as a process of its own, met at its address, ended in any case."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from conformance.errors import HarnessError, UsageError
from conformance.plan.scenarios.written import read
from conformance.run import embedded_server as embedded
from openapi.contract.contract import load

if TYPE_CHECKING:
    from collections.abc import Callable

ANNOUNCES = "import time; print('listening at http://127.0.0.1:4711', flush=True); time.sleep(600)"
LISTENS = "http://127.0.0.1:4711"


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[Any]]:
    """Puts another program in place of the server, and gives the processes that were started."""
    found: list[Any] = []
    popen = subprocess.Popen

    def install(program: str) -> list[Any]:
        def start(command: list[str], **settings: Any) -> Any:
            process = popen([sys.executable, "-c", program, *command[1:]], **settings)
            process.chatproof = (command, settings["env"])  # type: ignore[attr-defined]
            found.append(process)
            return process

        monkeypatch.setattr(subprocess, "Popen", start)
        return found

    return install


def test_the_address_is_the_one_that_the_server_prints(started: Callable[[str], list[Any]]) -> None:
    processes = started("print('loading'); print('warning: x', flush=True);" + ANNOUNCES)
    with embedded.serve(load("mindie-2.3")) as server:
        assert (server.url, server.key) == (LISTENS, "")
        assert processes[0].poll() is None
    assert processes[0].poll() is not None


def test_the_server_lets_in_the_origin_that_the_suite_asks_from() -> None:
    asked = next(each for each in read(load("mindie-2.3")) if each.id == "cors")
    assert {embedded.ORIGIN} == {
        value for step in asked.steps for name, value in step.headers.items() if name == "Origin"
    }


def test_a_server_that_wants_a_key_is_given_one_of_its_own_each_time(started: Callable[[str], list[Any]]) -> None:
    processes = started(ANNOUNCES)
    keys = []
    for _ in range(2):
        with embedded.serve(load("siliconstorm")) as server:
            keys.append(server.key)
    assert len(set(keys)) == 2
    for key, process in zip(keys, processes, strict=True):
        command, environment = process.chatproof
        assert key not in " ".join(command)  # others can read the arguments of a process
        assert environment[embedded.KEY_VARIABLE] == key
        assert "--api-key-env" in command


def test_the_server_is_ended_when_its_user_fails(started: Callable[[str], list[Any]]) -> None:
    processes = started(ANNOUNCES)
    with pytest.raises(ValueError, match="a slip"), embedded.serve(load("mindie-2.3")):
        raise ValueError("a slip")
    assert processes[0].poll() is not None


def test_a_server_that_does_not_heed_is_ended_all_the_same(
    started: Callable[[str], list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "STOP_S", 0.1)
    processes = started("import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + ANNOUNCES)
    with embedded.serve(load("mindie-2.3")):
        pass
    assert processes[0].poll() is not None


@pytest.mark.parametrize(
    ("program", "said"),
    [
        ("raise SystemExit('no checkpoint there')", "no checkpoint there"),
        ("import sys; sys.exit(7)", "it ended with 7"),
        ("print('nothing of use')", "it ended with 0"),
        ("1/0", "ZeroDivisionError: division by zero"),
    ],
)
def test_a_server_that_does_not_start_is_told_in_one_line(
    started: Callable[[str], list[Any]], program: str, said: str
) -> None:
    processes = started(program)
    with (
        pytest.raises(HarnessError, match="the embedded server did not start") as caught,
        embedded.serve(load("mindie-2.3")),
    ):
        pass
    assert str(caught.value) == f"the embedded server did not start: {said}"
    assert processes[0].poll() is not None


def test_a_server_that_hangs_while_it_starts_is_given_up(
    started: Callable[[str], list[Any]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(embedded, "START_S", 0.2)
    processes = started("import time; time.sleep(600)")
    with pytest.raises(HarnessError, match="did not start"), embedded.serve(load("mindie-2.3")):
        pass
    assert processes[0].poll() is not None


def test_what_the_server_needs_is_named_with_the_way_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embedded, "NEEDED", ("torch", "no_such_module", "nor_this"))
    with (
        pytest.raises(UsageError, match=r"needs no_such_module, nor_this: pip install 'chatproof\[server\]'"),
        embedded.serve(load("mindie-2.3")),
    ):
        pass


def test_the_real_server_answers_at_its_address_on_the_loopback_only(honest: str) -> None:
    assert honest.startswith("http://127.0.0.1:")
    with httpx.Client(trust_env=False) as client:
        assert client.get(f"{honest}/health").status_code == 200
        models = client.get(f"{honest}/v1/models").json()
    assert [model["id"] for model in models["data"]] == ["mindie"]


OWNER = """
import time
from conformance import embedded
from openapi.contract import load
with embedded.serve(load("mindie-2.3")) as server:
    print(server.url, flush=True)
    time.sleep(600)
"""


def ended(client: httpx.Client, url: str) -> bool:
    """Whether nobody answers any more, at the latest after half a minute."""
    for _ in range(300):
        try:
            client.get(url, headers={"Connection": "close"})
        except httpx.TransportError:
            return True
        time.sleep(0.1)
    return False


def test_the_server_ends_with_its_owner_even_where_that_is_killed() -> None:
    with subprocess.Popen([sys.executable, "-c", OWNER], stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout is not None
        url = owner.stdout.readline().strip()
        with httpx.Client(trust_env=False) as client:
            assert client.get(f"{url}/health").status_code == 200
            owner.kill()
            owner.wait()
            assert ended(client, f"{url}/health")


def test_no_environment_of_ours_is_changed(started: Callable[[str], list[Any]]) -> None:
    before = dict(os.environ)
    started(ANNOUNCES)
    with embedded.serve(load("siliconstorm")):
        assert before == dict(os.environ)
