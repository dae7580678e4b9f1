"""The preview of a run: what would be judged and sent, shown without sending anything."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from openapi.contract.contract import names

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.tests.conftest import Said

NOBODY = "http://127.0.0.1:9"
DIALECTS = sorted(set(names().values()))


def test_a_dry_run_shows_the_plan_and_sends_nothing(chatproof: Callable[..., Said]) -> None:
    said = chatproof("check", NOBODY, "--dialect", "mindie", "--dry-run")
    assert (said.code, said.stderr) == (0, "")
    assert "nothing was sent" in said.stdout
    assert not list(said.folder.iterdir())


def test_what_would_be_judged_can_be_listed(chatproof: Callable[..., Said]) -> None:
    said = chatproof("check", NOBODY, "--dialect", "mindie", "--list", "--topic", "usage")
    rows = [line.split()[:2] for line in said.stdout.splitlines()[1:-1]]
    assert said.code == 0
    assert ["usage.total-is-sum", "MUST"] in rows
    assert {"usage"} == {row[0].partition(".")[0] for row in rows}


def test_a_dry_run_says_what_becomes_of_the_key(chatproof: Callable[..., Said]) -> None:
    said = chatproof("check", NOBODY, "--dialect", "siliconstorm", "--dry-run", "--only", "auth.*")
    kinds = ("(no key)", "(a wrong key)", "in small letters)", "with another end)", "without its end)", "behind it)")
    assert (0, []) == (said.code, [kind for kind in kinds if kind not in " ".join(said.stdout.split())])


def test_a_dry_run_shows_the_very_bodies(chatproof: Callable[..., Said]) -> None:
    said = chatproof("check", NOBODY, "--dialect", "mindie", "--dry-run", "--only", "conversation", "--model", "mine")
    assert 'POST /v1/chat/completions {"model": "mine", "messages": [' in said.stdout


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_dry_run_can_be_narrowed(chatproof: Callable[..., Said], dialect: str) -> None:
    said = chatproof("check", NOBODY, "--dialect", dialect, "--dry-run", "--only", "stop-text")
    assert said.code == 0
    told = re.search(r"at most (\d+) requests and (\d+) completion tokens", " ".join(said.stdout.split()))
    assert told is not None
    assert 4 <= int(told[1]) <= 12
    assert int(told[2]) == 48 * int(told[1])
