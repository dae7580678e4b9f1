"""One reference server for all rows, and the page of the results."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.robustness.page import write_page
from tests.robustness.reference_process import ReferenceProcess

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

PROPERTY = "robustness"
OUTCOMES: dict[int, dict[str, object]] = {}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that writes the page."""
    parser.addoption("--robustness-page", metavar="FILE", help="write the results of the fault table to this page")


@pytest.fixture(scope="session")
def server() -> Iterator[ReferenceProcess]:
    """A running reference server with the embedded checkpoint."""
    with ReferenceProcess() as process:
        process.warm_up()
        yield process


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Keep the measurements of a row; with several processes this runs in the first one."""
    measured = dict(report.user_properties).get(PROPERTY)
    if report.when == "call" and isinstance(measured, dict):
        OUTCOMES[int(measured["row"])] = {**measured, "passed": report.passed}


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Write the page if it was requested."""
    path: Path | None = session.config.getoption("robustness_page", default=None)
    if path is not None and not hasattr(session.config, "workerinput"):
        write_page(session.config.rootpath / path, OUTCOMES)
