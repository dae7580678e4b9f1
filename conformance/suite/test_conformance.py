"""One pytest item per (scenario, check)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from conformance.cli.pytest_plugin import check_assertion, check_waivers

if TYPE_CHECKING:
    import pytest

    from conformance.cli.pytest_plugin import JudgingSession
    from conformance.plan.assertion import Assertion


def test_requirement(assertion: Assertion, judging: JudgingSession, request: pytest.FixtureRequest) -> None:
    """The exchange satisfies the requirement."""
    check_assertion(assertion, judging, request.node.user_properties)


def test_waivers(judging: JudgingSession) -> None:
    """Every waiver is in force and needed."""
    check_waivers(judging)
