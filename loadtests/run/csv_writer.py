"""Locust's writer of CSV files, which ends before its files are closed."""

from __future__ import annotations

from typing import cast

import gevent
import locust.stats
from gevent import Greenlet
from locust.stats import StatsCSVFileWriter


class EndingCSVFileWriter(StatsCSVFileWriter):
    """A writer whose greenlet does not outlive its files.

    Locust closes the files at the end of a test and leaves the greenlet that writes every second. If the process takes
    longer to exit, the greenlet writes to a closed file and prints a traceback.
    """

    _writer: Greenlet[[], None] | None = None

    def stats_writer(self) -> None:
        """Write the files until they are closed."""
        if not self.requests_csv_filehandle.closed:
            self._writer = cast("Greenlet[[], None]", gevent.getcurrent())  # Locust spawns it
            super().stats_writer()

    def close_files(self) -> None:
        """End the greenlet, wait until it has ended, then close the files."""
        if self._writer is not None:
            self._writer.kill()
        super().close_files()


def use_ending_writer() -> None:
    """Make Locust use this writer; call it before Locust creates one."""
    locust.stats.StatsCSVFileWriter = EndingCSVFileWriter  # type: ignore[misc]
