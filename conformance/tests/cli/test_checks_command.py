"""`chatproof checks` lists all checks, and shows one check."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.judge.check_registry import gather_checks
from openapi.contract.contract import names

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.tests.conftest import CommandResult


def test_the_checks_can_be_listed(chatproof: Callable[..., CommandResult]) -> None:
    result = chatproof("checks", "list")
    assert result.code == 0
    assert not [name for name in gather_checks() if name not in result.stdout]


def test_the_list_of_a_dialect_contains_only_its_checks(chatproof: Callable[..., CommandResult]) -> None:
    result = chatproof("checks", "list", "--dialect", "ovms-2024")
    assert "stream.usage-on-request" in result.stdout
    assert "auth.key-demanded" not in result.stdout


@pytest.mark.takes_turns
@pytest.mark.parametrize("identity", ["stream.done-last", "answer.created-now", "parameters.invalid-refused"])
def test_a_check_can_be_shown(chatproof: Callable[..., CommandResult], identity: str) -> None:
    result = chatproof("checks", "show", identity)
    check = gather_checks()[identity]
    assert result.code == 0
    assert " ".join(check.claim.split()) in " ".join(result.stdout.split())
    assert all(name in result.stdout for name in set(names().values()))
