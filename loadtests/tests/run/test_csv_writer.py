"""The greenlet that writes Locust's CSV files ends with them."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pathlib import Path

PROGRAM = """
import sys
from gevent import monkey
monkey.patch_all()
import gevent
import locust.stats
from locust.env import Environment
{patch}
locust.stats.CSV_STATS_INTERVAL_SEC = 0.01
ended = []
for _ in range(10):
    writer = locust.stats.StatsCSVFileWriter(Environment(), [0.5], sys.argv[1])
    greenlet = gevent.spawn(writer.stats_writer)
    {run}
    writer.close_files()
    gevent.sleep(0.02)
    ended.append(greenlet.dead and greenlet.exception is None)
print(all(ended))
"""
PATCH = "from loadtests.run.csv_writer import use_ending_writer\nuse_ending_writer()"


@pytest.mark.parametrize("run", ["gevent.sleep(0.05)", ""], ids=["running", "not started"])
def test_nothing_is_written_after_the_files_are_closed(tmp_path: Path, run: str) -> None:
    assert "True\n" == _run(tmp_path, PROGRAM.format(patch=PATCH, run=run))


def test_locusts_own_writer_fails_after_its_files_are_closed(tmp_path: Path) -> None:
    """Once this fails, Locust ends its writer itself, and ours is not needed any more."""
    assert "False\n" == _run(tmp_path, PROGRAM.format(patch="", run="gevent.sleep(0.05)"))


def _run(folder: Path, program: str) -> str:
    run = subprocess.run(
        [sys.executable, "-c", program, str(folder / "test")], capture_output=True, text=True, check=True
    )
    return run.stdout
