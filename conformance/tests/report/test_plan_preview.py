"""The preview shows what a run would judge and send, without sending anything."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from conformance.judge.check_registry import gather_checks
from openapi.contract.contract import names

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.tests.conftest import CommandResult

UNREACHABLE = "http://127.0.0.1:9"
DIALECTS = sorted(set(names().values()))


def test_a_dry_run_shows_the_plan_and_sends_nothing(chatproof: Callable[..., CommandResult]) -> None:
    result = chatproof("check", UNREACHABLE, "--dialect", "mindie", "--dry-run")
    assert (result.code, result.stderr) == (0, "")
    assert "nothing was sent" in result.stdout
    assert not list(result.folder.iterdir())


def test_list_shows_the_requirements_of_the_plan(chatproof: Callable[..., CommandResult]) -> None:
    result = chatproof("check", UNREACHABLE, "--dialect", "mindie", "--list", "--topic", "usage")
    rows = [line.split()[:2] for line in result.stdout.splitlines()[1:-1]]
    assert result.code == 0
    assert ["usage.total-is-sum", "MUST"] in rows
    presupposed = {key for key, check in gather_checks().items() if "response" in check.invalidates}
    assert {"usage"} == {row[0].partition(".")[0] for row in rows if row[0] not in presupposed}


def test_a_dry_run_shows_how_the_key_is_changed(chatproof: Callable[..., CommandResult]) -> None:
    result = chatproof("check", UNREACHABLE, "--dialect", "siliconstorm", "--dry-run", "--only", "auth.*")
    kinds = ("(no key)", "(a wrong key)", "in lower case)", "a different end)", "without its end)", "extra characters)")
    assert (0, []) == (result.code, [kind for kind in kinds if kind not in " ".join(result.stdout.split())])


def test_a_dry_run_shows_the_request_bodies(chatproof: Callable[..., CommandResult]) -> None:
    options = ("--dry-run", "--only", "conversation", "--model", "mine")
    result = chatproof("check", UNREACHABLE, "--dialect", "mindie", *options)
    assert 'POST /v1/chat/completions {"model": "mine", "messages": [' in result.stdout


@pytest.mark.takes_turns
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_dry_run_can_be_narrowed(chatproof: Callable[..., CommandResult], dialect: str) -> None:
    result = chatproof("check", UNREACHABLE, "--dialect", dialect, "--dry-run", "--only", "stop-text")
    assert result.code == 0
    costs = re.search(r"at most (\d+) requests and (\d+) completion tokens", " ".join(result.stdout.split()))
    assert costs is not None
    assert 4 <= int(costs[1]) <= 13
    assert int(costs[2]) == 48 * int(costs[1])
