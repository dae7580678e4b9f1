"""Short versions of `tox -e soak` and `tox -e fuzz`."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner

from chatproof import main
from conformance.run.embedded_server import serve
from openapi.contract.contract import load
from tests.fuzz import client_runs, media_files, recorded_answers, server_cases
from tests.fuzz.mutated_server import Mutator, serve_mutated
from tests.soak.__main__ import Load, Resources, find_server_process

if TYPE_CHECKING:
    from pathlib import Path

DIALECT = "mindie-2.3"


def test_a_server_answers_random_cases_without_a_5xx_and_leaks_nothing_of_a_mixed_load(tmp_path: Path) -> None:
    contract = load(DIALECT)
    with serve(contract) as server:
        pid, users = find_server_process(), Load(server, contract, seed=1)
        asyncio.run(_send(users, ["plain", "stream", "tools", "error"]))
        before = Resources.measure(pid, tmp_path)
        asyncio.run(_send(users, [None] * 20))
        bodies = next(server_cases.draw_bodies(DIALECT, 6, seed=1))
        answered = asyncio.run(server_cases.send_bodies(server.url, contract.path, bodies, server.key))
        asyncio.run(asyncio.sleep(2))
        after = Resources.measure(pid, tmp_path)
    assert [] == users.problems
    assert [] == [item for item in answered if server_cases.is_failure(item[0])]
    assert answered
    assert before.sockets >= after.sockets, "a socket has leaked"
    assert before.temporary_files >= after.temporary_files


def test_mutated_media_are_answered_or_refused() -> None:
    """The complete run, `tox -e fuzz -- media`, also judges memory, which is flat only after some hundred files."""
    statuses, failures, _ = media_files.send_files(50, seed=0)
    assert [] == failures
    assert {200, 400} == set(statuses)


async def _send(users: Load, kinds: list[str | None]) -> None:
    for kind in kinds:
        await users.send_one(kind)


def test_mutated_answers_never_cause_an_internal_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mutator = Mutator(DIALECT, seed=0)
    with serve_mutated(mutator) as url:
        command, _ = client_runs.command_of("check", url, mutator.model, DIALECT, seed=0)
        result = CliRunner().invoke(main, [*command[3:], "--max-requests", "80"])
    assert result.exit_code in client_runs.ALLOWED["check"], result.output
    assert 80 <= mutator.made
    assert {"results.json", "junit.xml", "report.html", "report.sarif", "report.md"} <= {
        path.name for path in tmp_path.iterdir()
    }


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", ["openai", "ovms-2024", "siliconstorm", "vllm"])  # nearly all checks, together
def test_no_check_fails_on_recorded_answers_that_are_changed(dialect: str) -> None:
    count, errors = recorded_answers.find_errors(dialect, seed=0)
    assert {} == errors
    assert 100 < count


def test_the_bodies_of_drawn_cases_ask_for_few_tokens_of_a_served_model() -> None:
    drawn = {"max_tokens": None, "min_tokens": 1e30, "model": "another", "n": -1}
    assert {"max_tokens": 2, "min_tokens": 2, "model": "m", "n": -1} == json.loads(server_cases.as_payload(drawn, "m"))
    assert {"max_tokens": "9", "model": 3} == json.loads(server_cases.as_payload({"max_tokens": "9", "model": 3}, "m"))
    assert b"{" == server_cases.as_payload(b"{", "m")


def test_the_same_seed_makes_the_same_answers() -> None:
    first, second = (Mutator(DIALECT, seed=3) for _ in range(2))
    assert [first.answer(b"{}") for _ in range(30)] == [second.answer(b"{}") for _ in range(30)]
    assert 20 < len({first.answer(b"{}")[0] for _ in range(30)})


def test_every_leak_is_named() -> None:
    before, after = Resources(3, 9, 5, 0, 700.0), Resources(4, 10, 6, 1, 765.0)
    assert [] == after.leaks(before)
    assert ["sockets", "files", "threads", "temporary_files", "memory"] == [
        leak.partition(":")[0] for leak in before.leaks(after)
    ]
