"""The recorded run that most tests of single checks change."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from conformance.tests.conftest import Good


@pytest.fixture
def mindie(read_good: Callable[[str], Good]) -> Good:
    """The recorded run of MindIE 2.3."""
    return read_good("mindie-2.3")
