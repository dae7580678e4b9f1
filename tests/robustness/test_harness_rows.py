"""The rows of the fault table that the suite and the load test must survive."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import pytest

from tests.robustness import harness_attacks, origin_attacks

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.robustness.rows import Row


ROWS: Final = harness_attacks.ATTACKS.rows
ATTACKS: Final = {**harness_attacks.ATTACKS, **origin_attacks.ATTACKS}


@pytest.mark.takes_turns
@pytest.mark.parametrize("row", ROWS, ids=str)
def test_the_suite_and_the_load_test_survive(
    row: Row, tmp_path: Path, record_property: Callable[[str, Any], None]
) -> None:
    measured: dict[str, Any] = {"row": row.number}
    record_property("robustness", measured)
    started = time.monotonic()
    runs = list(ATTACKS[row.number](tmp_path, row))
    assert runs
    measured |= {"seconds": time.monotonic() - started, "memory_bytes": max(done.peak_bytes for done in runs)}


def test_every_row_has_one_attack() -> None:
    assert sorted(ATTACKS) == [row.number for row in ROWS]
