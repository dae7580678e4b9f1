"""A stranger: `transformers serve` with the embedded checkpoint. What it does otherwise is named, and nothing else."""

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
ASKED = (  # scenarios enough for every claim below; the whole plan is run by hand for docs/third-party-servers.md
    "conversation", "greedy*", "stop-text", "usage-on-request", "models", "malformed-*", "refused-stream",
    "goes-on-after-errors", "n-*", "messages-*", "temperature-*", "top_p-*", "seed-*", "parallel*",
)  # fmt: skip
ADDRESS = re.compile(r"running on (http://[\w.:]+)")

TRUE = {  # requirement -> why it is true of transformers 5.23, in its own source or answers
    "answer.as-many-choices-as-asked": "n is read and left aside",
    "answer.logprobs-when-asked": "logprobs are read and left aside",
    "answer.text-well-encoded": "a token that ends within a character leaves U+FFFD at the cut",
    "choices.*": "n is read and left aside",
    "logprobs.*": "logprobs are read and left aside",
    "errors.*": "FastAPI's {detail} envelope, and a bare 500 in text/plain where a type is wrong",
    "http.models-listed": "500 where the hub's cache has no index",
    "parallel.bad-ones-refused": "a value that generate() refuses is a 500, alone or among others",
    "parameters.*": "values are not validated: what generate() takes is taken, what it refuses is a 500",
    "stop.*": "generation ends after the stop text, which stays in the answer",
    "stream.created-constant": "each chunk takes the clock anew",
    "stream.done-last": "no [DONE]",
    "stream.text-as-plain": "a streamed answer keeps the blank lines at its start, a plain one loses them",
    "stream.usage-*": "usage is in the last chunk with choices, asked for or not",
}


@pytest.fixture(scope="module")
def stranger() -> Iterator[str]:
    """The address of `transformers serve`, a process of its own on a free port of the loopback."""
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
    said: list[str] = []
    try:
        for line in process.stdout or ():
            said.append(line)
            if found := ADDRESS.search(line):
                watchdog.cancel()
                reader = threading.Thread(target=lambda: list(process.stdout or ()))
                reader.start()
                yield found[1]
                process.terminate()
                reader.join()
                return
        pytest.fail(f"transformers serve did not start: {''.join(said[-3:])}")
    finally:
        watchdog.cancel()
        process.terminate()
        process.communicate()


@pytest.fixture(scope="module")
def results(stranger: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What the suite says of it."""
    path = tmp_path_factory.mktemp("stranger") / "results.json"
    arguments = ["check", stranger, "--dialect", "openai", "--model", MODEL, "--report", f"json={path}"]
    arguments += [word for pattern in ASKED for word in ("--only", pattern)]
    assert CliRunner(catch_exceptions=False).invoke(main, arguments).exit_code == 1
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def rows(results: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The requirements by their id."""
    return {row["id"]: row for row in results["requirements"]}


def got(row: dict[str, Any]) -> str:
    """Everything that was found against one requirement."""
    return "\n".join(found["got"] for found in row["findings"])


def test_what_it_is_known_for_is_found(results: dict[str, Any], rows: dict[str, dict[str, Any]]) -> None:
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
    bodies = [str(shown[found["exchange"]]["segments"]) for found in rows["errors.envelope-fits"]["findings"]]
    assert any('{"detail":' in body for body in bodies)


def test_nothing_is_found_that_is_not_true_of_it(rows: dict[str, dict[str, Any]]) -> None:
    accused = {name: got(row) for name, row in rows.items() if row["outcome"] in ("FAIL", "WARN", "ERROR")}
    assert {} == {name: found for name, found in accused.items() if not any(fnmatchcase(name, known) for known in TRUE)}


def test_every_bound_that_it_is_blamed_for_was_broken_by_its_answer(rows: dict[str, dict[str, Any]]) -> None:
    """A value that must be refused was answered with 2xx or 5xx; one that must be taken was not answered with 2xx."""
    for name, row in rows.items():
        if name.startswith("parameters.") and row["outcome"] in ("FAIL", "WARN"):
            for found in row["findings"]:
                refused = re.match(r"4\d\d", found["got"]) is not None
                assert refused != ("refused" in found["expected"]), (name, found)


def test_what_it_refuses_because_no_document_names_it_is_not_asked_for() -> None:
    contract = load_contract("openai")
    bodies = [
        step.body or {}
        for scenario in draft(contract, default_capabilities(contract)).scenarios
        for step in scenario.steps
    ]
    strange = {name for body in bodies for name in body} - {*contract.parameters, "model", "chatproof_unknown"}
    assert strange == set()
