"""The rows of the fault table that a server must survive while it serves others."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import pytest

from reference_server.http.byte_counts import ConnectionLimits
from tests.robustness import connection_attacks, engine_attacks, media_attacks, request_attacks
from tests.robustness.reference_process import MAIN, ReferenceProcess, Sidecar
from tests.robustness.resources import MOST_GROWTH_BYTES
from tests.robustness.rows import ROWS, Row
from tests.robustness.wire import get

if TYPE_CHECKING:
    from collections.abc import Callable

MODULES: Final = (connection_attacks, request_attacks, engine_attacks, media_attacks)
ATTACKS: Final = {number: attack for module in MODULES for number, attack in module.ATTACKS.items()}
SHARED: Final = [row for row in ROWS if row.part in ("server", "media")]
MOST_GAP_S: Final = 1.0
HEALTH_S: Final = 1.0
RELEASE_S: Final = 5.0


@pytest.mark.takes_turns
@pytest.mark.parametrize("row", SHARED, ids=str)
def test_the_server_survives_and_others_notice_nothing(
    row: Row, server: ReferenceProcess, record_property: Callable[[str, Any], None]
) -> None:
    measured: dict[str, Any] = {"row": row.number}
    record_property("robustness", measured)
    before = server.resources()
    started = time.monotonic()
    with Sidecar(server) as sidecar:
        try:
            ATTACKS[row.number](server, row)
        finally:
            measured["seconds"] = time.monotonic() - started
            health = get(f"{server.addresses[MAIN]}/health")
    after = server.wait_until_released(before, RELEASE_S)
    report = sidecar.report
    gap_s = max(0.0, report["worst_gap_s"] - report["stall_s"])
    measured |= {"gap_s": gap_s, "memory_bytes": after.rss - before.rss}
    assert after.leaked(before) == {}
    assert report["problem"] == ""
    assert report["tokens"] > 0
    assert gap_s <= MOST_GAP_S
    assert (health.status, health.seconds <= HEALTH_S + report["stall_s"]) == (200, True)
    assert after.rss - before.rss <= MOST_GROWTH_BYTES


@pytest.mark.parametrize("row", [row for row in SHARED if row.configured], ids=str)
def test_the_default_limits_of_a_connection_are_those_of_the_table(row: Row) -> None:
    defaults = ConnectionLimits()
    assert row.configured == {name: getattr(defaults, name) for name in row.configured}


def test_every_row_has_one_attack() -> None:
    assert sorted(ATTACKS) == [row.number for row in SHARED]
