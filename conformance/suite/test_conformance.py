"""One item per (scenario, check)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.cli.pytest_plugin import settle, settle_waivers

if TYPE_CHECKING:
    import pytest

    from conformance.cli.pytest_plugin import Judging
    from conformance.plan.plan import Assertion


def test_requirement(assertion: Assertion, judging: Judging, request: pytest.FixtureRequest) -> None:
    """The exchange keeps the requirement."""
    settle(assertion, judging, request.node.user_properties)


def test_waivers(judging: Judging) -> None:
    """Every waiver is in force and needed."""
    settle_waivers(judging)
