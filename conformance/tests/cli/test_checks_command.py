"""The catalogue: checks are listed and shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from conformance.judge.check_registry import gather_checks
from openapi.contract.contract import names

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.tests.conftest import Said


def test_the_checks_can_be_listed(chatproof: Callable[..., Said]) -> None:
    said = chatproof("checks", "list")
    assert said.code == 0
    assert not [name for name in gather_checks() if name not in said.stdout]


def test_the_list_of_a_dialect_has_its_checks_alone(chatproof: Callable[..., Said]) -> None:
    said = chatproof("checks", "list", "--dialect", "ovms-2024")
    assert "stream.usage-on-request" in said.stdout
    assert "auth.key-demanded" not in said.stdout


@pytest.mark.parametrize("identity", ["stream.done-last", "answer.created-now", "parameters.invalid-refused"])
def test_a_check_can_be_shown(chatproof: Callable[..., Said], identity: str) -> None:
    said = chatproof("checks", "show", identity)
    found = gather_checks()[identity]
    assert said.code == 0
    assert " ".join(found.claim.split()) in " ".join(said.stdout.split())
    assert all(name in said.stdout for name in set(names().values()))
