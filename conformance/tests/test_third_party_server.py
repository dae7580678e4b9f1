"""The suite reports the known deviations of `transformers serve` with the embedded checkpoint, and nothing else."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from fnmatch import fnmatchcase
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

import reference_server.tiny
from chatproof import main
from conformance.plan.capabilities import default_capabilities
from conformance.run.drafting import draft
from conformance.run.session import load_contract

if TYPE_CHECKING:
    from collections.abc import Iterator


START_S = 120.0
MODEL = "./checkpoint"
SCENARIOS = (  # enough for all tests below; docs/third-party-servers.md has the results of the whole plan
    "conversation", "greedy*", "stop-text", "usage-on-request", "models", "malformed-*", "refused-stream",
    "goes-on-after-errors", "n-*", "messages-*", "temperature-*", "top_p-*", "seed-*", "parallel*",
)  # fmt: skip
ADDRESS = re.compile(r"running on (http://[\w.:]+)")

DEVIATIONS = {  # requirement: how transformers 5.23 deviates from it, by its source or its answers
    "answer.as-many-choices-as-asked": "n is ignored",
    "answer.logprobs-when-asked": "logprobs is ignored",
    "answer.text-well-encoded": "a token that ends within a character leaves U+FFFD at the cut",
    "choices.*": "n is ignored",
    "logprobs.*": "logprobs is ignored",
    "errors.*": "FastAPI's {detail} envelope, and a 500 in text/plain for a wrong type",
    "http.models-listed": "500 if the hub's cache has no index",
    "parallel.bad-ones-refused": "a value that generate() refuses is a 500, also among concurrent requests",
    "parameters.*": "values are not validated: those that generate() refuses are a 500, all others are accepted",
    "stop.*": "generation ends after the stop text, which stays in the answer",
    "stream.created-constant": "each chunk has its own time",
    "stream.done-last": "no [DONE]",
    "stream.text-as-plain": "a streamed answer keeps the blank lines at its start, a plain one loses them",
    "stream.usage-*": "usage is in the last chunk with choices, whether requested or not",
}


@pytest.fixture(scope="module")
def server_url() -> Iterator[str]:
    """The URL of `transformers serve`, run as a child process on a free port of the loopback interface."""
    if find_spec("accelerate") is None:
        pytest.skip("transformers serve needs accelerate: pip install 'chatproof[dev]'")
    folder = Path(reference_server.tiny.__file__).parent
    command = [sys.executable, "-m", "transformers.cli.transformers", "serve", MODEL]
    command += ["--device", "cpu", "--host", "127.0.0.1", "--port", "0", "--log-level", "info"]
    process = subprocess.Popen(
        command, cwd=folder, env={**os.environ, "HF_HUB_OFFLINE": "1"}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, start_new_session=True,
    )  # fmt: skip
    watchdog = threading.Timer(START_S, process.kill)
    watchdog.start()
    lines: list[str] = []
    try:
        for line in process.stdout or ():
            lines.append(line)
            if match := ADDRESS.search(line):
                watchdog.cancel()
                reader = threading.Thread(target=lambda: list(process.stdout or ()))
                reader.start()
                yield match[1]
                process.terminate()
                reader.join()
                return
        pytest.fail(f"transformers serve did not start: {''.join(lines[-3:])}")
    finally:
        watchdog.cancel()
        process.terminate()
        process.communicate()


@pytest.fixture(scope="module")
def results(server_url: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The results of the suite."""
    path = tmp_path_factory.mktemp("third-party") / "results.json"
    arguments = ["check", server_url, "--dialect", "openai", "--model", MODEL, "--report", f"json={path}"]
    arguments += [word for pattern in SCENARIOS for word in ("--only", pattern)]
    assert CliRunner(catch_exceptions=False).invoke(main, arguments).exit_code == 1
    content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return content


@pytest.fixture(scope="module")
def rows(results: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The requirements by their id."""
    return {row["id"]: row for row in results["requirements"]}


def got(row: dict[str, Any]) -> str:
    """All findings for one requirement."""
    return "\n".join(finding["got"] for finding in row["findings"])


def test_its_known_deviations_are_reported(results: dict[str, Any], rows: dict[str, dict[str, Any]]) -> None:
    assert rows["stream.done-last"]["outcome"] == "FAIL"
    assert rows["stop.not-in-output"]["outcome"] == "FAIL"
    assert (rows["answer.as-many-choices-as-asked"]["outcome"], "1 choices") == (
        "FAIL",
        got(rows["answer.as-many-choices-as-asked"])[:9],
    )
    assert "500" in got(rows["parameters.messages.type"])
    assert "500" in got(rows["errors.client-fault-is-4xx"])
    assert rows["errors.envelope-fits"]["outcome"] == "FAIL"
    shown = {exchange["id"]: exchange["response"] for exchange in results["exchanges"]}
    bodies = [str(shown[finding["exchange"]]["segments"]) for finding in rows["errors.envelope-fits"]["findings"]]
    assert any('{"detail":' in body for body in bodies)


def test_only_its_known_deviations_are_reported(rows: dict[str, dict[str, Any]]) -> None:
    reported = {name: got(row) for name, row in rows.items() if row["outcome"] in ("FAIL", "WARN", "ERROR")}
    assert {} == {
        name: text for name, text in reported.items() if not any(fnmatchcase(name, known) for known in DEVIATIONS)
    }


def test_every_reported_bound_was_violated_by_an_answer(rows: dict[str, dict[str, Any]]) -> None:
    """A value to refuse was answered with 2xx or 5xx, and one to accept with another status than 2xx."""
    for name, row in rows.items():
        if name.startswith("parameters.") and row["outcome"] in ("FAIL", "WARN"):
            for finding in row["findings"]:
                refused = re.match(r"4\d\d", finding["got"]) is not None
                assert refused != ("refused" in finding["expected"]), (name, finding)


def test_no_scenario_sends_a_parameter_that_the_contract_does_not_name() -> None:
    contract = load_contract("openai")
    bodies = [
        step.body or {}
        for scenario in draft(contract, default_capabilities(contract)).scenarios
        for step in scenario.steps
    ]
    unnamed = {name for body in bodies for name in body} - {*contract.parameters, "model", "chatproof_unknown"}
    assert unnamed == set()
