"""Every network fault, in both directions in front of the server, costs the server nothing; the suite reports it."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import pytest

from openapi.contract.contract import load
from tests.robustness.network_faults import FaultyNetwork, NetworkFault
from tests.robustness.reference_process import KEY, MAIN, ReferenceProcess
from tests.robustness.suite_run import DIALECT, check
from tests.robustness.wire import chat, connect, head

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FAULTS: Final = {
    "latency": NetworkFault(latency_s=0.02),
    "down": NetworkFault(down=True),
    "bandwidth": NetworkFault(bytes_per_s=20_000),
    "slow close": NetworkFault(slow_close_s=0.2),
    "timeout": NetworkFault(silent_after=100),
    "reset": NetworkFault(reset_after=100),
    "slicing": NetworkFault(slice_bytes=3),
    "limit": NetworkFault(end_after=100),
}
HARMLESS: Final = {"latency", "bandwidth", "slow close", "slicing"}
CLIENT_PATIENCE_S: Final = 1.0


def ask(network: FaultyNetwork, *, patient: bool) -> bytes:
    """Stream one answer through a network; return what arrives until the client gives up."""
    body = chat(stream=True, max_tokens=5)
    raw = head("POST", load(MAIN).path, {"Authorization": f"Bearer {KEY}", "Content-Length": str(len(body))})
    received = b""
    try:
        with connect(network.url) as connection:
            connection.sendall(raw + body)
            if not patient:
                connection.settimeout(CLIENT_PATIENCE_S)
            while part := connection.recv(65536):
                received += part
    except OSError:
        pass
    return received


@pytest.fixture(scope="module")
def released(server: ReferenceProcess) -> Iterator[None]:
    """Assert after all faults that the server holds nothing more than before."""
    before = server.resources()
    yield
    assert server.wait_until_released(before, seconds=10).leaked(before) == {}


@pytest.mark.takes_turns
@pytest.mark.usefixtures("released")
@pytest.mark.parametrize("direction", ["to_server", "to_client"])
@pytest.mark.parametrize("name", FAULTS)
def test_a_network_fault_ends_at_most_its_own_request(server: ReferenceProcess, name: str, direction: str) -> None:
    host, port = server.addresses[MAIN].removeprefix("http://").split(":")
    fault = FAULTS[name]
    if fault.down:
        direction = "to_server"
    with FaultyNetwork(host, int(port), **{direction: fault}) as network:
        started = time.monotonic()
        received = ask(network, patient=name in HARMLESS)
        delayed_s = time.monotonic() - started
    assert received.endswith(b"0\r\n\r\n") == (name in HARMLESS)
    assert delayed_s >= (max(fault.latency_s, fault.slow_close_s) if direction == "to_client" else fault.latency_s)
    assert server.post().status == 200


@pytest.mark.takes_turns
@pytest.mark.parametrize(
    ("fault", "conforms"),
    [(NetworkFault(slice_bytes=7), True), (NetworkFault(end_after=300), False)],
    ids=["slicing", "limit"],
)
def test_the_suite_reports_a_network_only_if_it_loses_bytes(
    server: ReferenceProcess, tmp_path: Path, fault: NetworkFault, conforms: bool
) -> None:
    host, port = server.addresses[DIALECT].removeprefix("http://").split(":")
    with FaultyNetwork(host, int(port), to_client=fault) as network:
        only = ("--only", "stream.accepted", "--only", "stream.done-last")
        done = check(tmp_path, network.url, *only, timeout_s=60.0)  # such a network is slow
    assert conforms == (done.code == 0), done.output
    assert conforms == (done.results["verdict"] == "conformant")
