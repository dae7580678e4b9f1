"""Let the cases of expensive tests take turns.

Of a test marked `takes_turns`, one case in EVERY is run: the same ones every time, but different ones for each test, so
that together they are of all dialects. All are run if a test is named on the command line, or if EVERY is 1, as in
`tox -e unit`.
"""

from __future__ import annotations

import os
from collections import defaultdict
from typing import TYPE_CHECKING, Final
from zlib import crc32

if TYPE_CHECKING:
    import pytest

EVERY: Final = int(os.environ.get("CHATPROOF_TEST_EVERY", "4"))
MARKER: Final = "takes_turns"


def pytest_configure(config: pytest.Config) -> None:
    """Register the marker."""
    config.addinivalue_line("markers", f"{MARKER}: only some of its cases are run, unless CHATPROOF_TEST_EVERY=1")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the cases whose turn it is not."""
    if EVERY == 1 or config.option.keyword or any("::" in argument for argument in config.args):
        return
    cases: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker(MARKER):
            cases[item.nodeid.partition("[")[0]].append(item)
    left_out = {item.nodeid for group in cases.values() for item in group}
    left_out -= {item.nodeid for test, group in cases.items() for item in select_turn(test, group)}
    if left_out:
        config.hook.pytest_deselected(items=[item for item in items if item.nodeid in left_out])
        items[:] = [item for item in items if item.nodeid not in left_out]


def select_turn(test: str, group: list[pytest.Item]) -> list[pytest.Item]:
    """Return the cases of a test whose turn it is, at least one."""
    return group[crc32(test.encode()) % min(EVERY, len(group)) :: EVERY]
