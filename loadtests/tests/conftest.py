"""Fixtures of the load tests' tests."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from loadtests.tests.load_runs import run_schedule_server

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="package")
def url() -> Iterator[str]:
    with run_schedule_server() as server_url:
        yield server_url
