"""What tests of load tests share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from loadtests.tests.runs import scheduled

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="package")
def url() -> Iterator[str]:
    with scheduled() as found:
        yield found
